"""Real vLLM under supervision: what only it can show. The contract it shares with the embedded server is in tests/contract.

Needs .venv-serve (`webgym env make serve`); each start takes half a minute on a free machine.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import aiohttp
import psutil
import pytest

from webgym.errors import EndpointDown
from webgym.train.serving.settings import VllmSettings
from webgym.train.serving.vllm import Vllm
from webgym.train.tiny import TinySize, make_tiny

PYTHON = Path(__file__).parents[2] / ".venv-serve" / "bin" / "python"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not PYTHON.exists(), reason="no .venv-serve: run `webgym env make serve`"),
]


async def reply(server: Vllm) -> list[int]:
    body = {
        "model": server.model,
        "messages": [{"role": "user", "content": "What is on the page?"}],
        "max_tokens": 12,
        "temperature": 0,
        "return_token_ids": True,
    }
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120)) as http,
        http.post(f"{server.url}/chat/completions", json=body) as response,
    ):
        assert response.status == 200, await response.text()
        ids: list[int] = (await response.json())["choices"][0]["token_ids"]
        return ids


async def test_weights_are_swapped_live_and_by_a_new_server_when_that_fails(tmp_path: Path):
    first, second = make_tiny(tmp_path / "first", 0), make_tiny(tmp_path / "second", 1)
    wider = make_tiny(tmp_path / "wider", 2, size=TinySize(hidden=192, inner=512))
    server = Vllm(VllmSettings.on_cpu(python=PYTHON, max_model_len=2048, log=tmp_path / "log"))
    await server.start(first)
    try:
        before = await reply(server)
        await server.reload(second)
        assert server.swapped_live == 1
        changed = await reply(server)
        assert changed != before
        await server.reload(wider)  # other shapes: the live server cannot take them
        assert server.swapped_live == 1
        assert await server.healthy()
        assert len(await reply(server)) > 0
        assert server.process is not None
        tree = server.process.tree()
        assert sum(process.memory_info().rss for process in tree) > 500 << 20
    finally:
        await server.stop()
    assert server.freed is not None
    assert server.freed.after == 0
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in tree)


async def test_a_checkpoint_that_vllm_cannot_load_is_told_with_its_last_words(tmp_path: Path):
    model = make_tiny(tmp_path / "model", 0)
    broken = tmp_path / "broken"
    shutil.copytree(model, broken)
    config = json.loads((broken / "config.json").read_text())
    config["architectures"] = ["NoSuchModel"]
    (broken / "config.json").write_text(json.dumps(config))
    server = Vllm(VllmSettings.on_cpu(python=PYTHON, log=tmp_path / "log"))
    with pytest.raises(EndpointDown, match="NoSuchModel"):
        await server.start(broken)
    assert server.process is None
