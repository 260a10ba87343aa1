"""The server of the MiniWoB++ pages, asked over a real socket."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from webgym.errors import ConfigError
from webgym.worlds.miniwob import suite
from webgym.worlds.miniwob.record import HOST
from webgym.worlds.miniwob.server import MiniWobServer, MiniWobSettings, viewport


@pytest.fixture
async def server() -> AsyncIterator[MiniWobServer]:
    async with MiniWobServer() as running:
        yield running


async def get(server: MiniWobServer, path: str, host: str = HOST) -> tuple[int, str, str]:
    async with aiohttp.ClientSession() as http:
        url = f"http://127.0.0.1:{server.port}{path}"
        async with http.get(url, headers={"Host": f"{host}:{server.port}"}) as answer:
            return answer.status, answer.headers.get("Content-Security-Policy", ""), await answer.text()


async def test_every_page_gets_our_script_once_after_its_own(server: MiniWobServer):
    async with aiohttp.ClientSession(headers={"Host": HOST}) as http:
        for name in suite.names():
            async with http.get(f"http://127.0.0.1:{server.port}/{name}?seed=3") as answer:
                text = await answer.text()
            assert answer.status == 200, name
            assert text.count("/webgym/episode.js") == text.count("/webgym/episode.css") == 1, name
            assert text.index("core.startEpisode()") < text.index("/webgym/episode.js"), name


async def test_seed_and_mode_reach_the_script(server: MiniWobServer):
    _, _, text = await get(server, "/click-test?seed=3&mode=test")
    assert 'data-task="click-test" data-seed="3" data-mode="test" data-seconds="3600"' in text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/click-test", 400),
        ("/click-test?seed=x", 400),
        ("/click-test?seed=-1", 400),
        ("/click-test?seed=1&mode=other", 400),
        ("/click-test?seed=1&record=true", 400),
        ("/click-test?seed=1&zoom=7", 400),
        ("/nothing?seed=1", 404),
        ("/webgym/server.py", 404),
        ("/core/..%2f..%2f__init__.py", 404),
        ("/core/core.js", 200),
    ],
)
async def test_only_what_belongs_to_an_episode_is_served(server: MiniWobServer, path: str, status: int):
    assert (await get(server, path))[0] == status


async def test_no_page_may_ask_for_anything_elsewhere(server: MiniWobServer):
    for path in ("/click-test?seed=1", "/flight/AA/index.html", "/click-test?seed=1&zoom=2"):
        _, policy, _ = await get(server, path)
        assert policy.startswith("default-src 'self'")
        assert "http" not in policy


async def test_another_host_name_gets_nothing(server: MiniWobServer):
    assert (await get(server, "/click-test?seed=1", host="localhost"))[0] == 404


async def test_a_taken_port_is_the_persons_to_change(server: MiniWobServer):
    with pytest.raises(ConfigError, match=f"port {server.port}"):
        async with MiniWobServer(MiniWobSettings(port=server.port)):
            pass


def test_the_viewport_fits_the_task_and_its_zoom():
    assert viewport("click-test") == (160, 210)
    assert viewport("click-test", zoom=2) == (320, 420)
    assert viewport("flight.AA") == (540, 667)
    assert viewport("click-test", timer=True) == (325, 210)
