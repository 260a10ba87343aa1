"""The monitor as strangers meet it: GUARANTEES row 36, on a real socket."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from pathlib import Path

import aiohttp
import pytest

from tests.raw import Answer
from tests.unit.ui.conftest import Ask
from tests.unit.ui.playing import JPEG, Play
from webgym.store import Run
from webgym.watching import watching

SHELL = b"#!/bin/sh\necho not an image\n"


def body(answer: Answer) -> bytes:
    return answer.data.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "", "localhost@evil", "0.0.0.0"]
)
async def test_a_foreign_host_is_refused(ask: Ask, host: str):
    assert (await ask("GET", "/api/episodes", host=host)).status in (400, 403)


@pytest.mark.parametrize("host", ["127.0.0.1:9", "localhost:1234", "[::1]:80", "LOCALHOST"])
async def test_loopback_names_are_served_whatever_the_port(ask: Ask, host: str):
    assert (await ask("GET", "/api/episodes", host=host)).status == 200


async def test_two_hosts_are_refused(ask: Ask):
    assert (await ask("GET", "/api/episodes", "Host: evil.example")).status in (400, 403)


@pytest.mark.parametrize(
    "header",
    [
        "Origin: http://evil.example",
        "Origin: null",
        "Origin: https://127.0.0.1",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ],
)
async def test_requests_of_other_websites_are_refused(ask: Ask, header: str):
    assert (await ask("GET", "/api/episodes", header)).status == 403


async def test_a_link_to_the_page_may_be_followed_but_not_framed(ask: Ask):
    from_elsewhere = ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate")
    assert (await ask("GET", "/", *from_elsewhere, "Sec-Fetch-Dest: document")).status == 200
    assert (await ask("GET", "/", *from_elsewhere, "Sec-Fetch-Dest: iframe")).status == 403
    assert (await ask("GET", "/api/episodes", *from_elsewhere, "Sec-Fetch-Dest: document")).status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", ["/", "/api/episodes", "/api/stream"])
async def test_nothing_but_reading_is_answered(ask: Ask, method: str, path: str):
    answer = await ask(method, path)
    assert answer.status == 405
    assert b"allow: GET, HEAD" in answer.data


@pytest.mark.parametrize("path", ["/", "/api/episodes", "/static/main.js", "/nothing", "/images/0"])
async def test_every_answer_carries_the_policy(ask: Ask, path: str):
    head = (await ask("GET", path)).text.lower().partition("\r\n\r\n")[0]
    assert "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';" in head
    assert "unsafe" not in head
    assert "x-content-type-options: nosniff" in head


@pytest.mark.parametrize(
    "name",
    [
        "..%2f..%2frun.json", "../run.json", "..%252frun.json", "%2fetc%2fpasswd", "/etc/passwd", "a%00b", "%00", "..", ".",
        "%2e%2e", "..%5crun.json", "A" * 64, "0" * 64, "0" * 63, "0" * 64 + "%00", "0" * 64 + "%0a", "0" * 64 + ".jpg",
        "%ff%fe",
    ],
)  # fmt: skip
@pytest.mark.parametrize("under", ["/images/", "/static/", "/api/episodes/"])
async def test_no_name_leads_out_of_its_folder(ask: Ask, under: str, name: str):
    assert (await ask("GET", under + name)).status == 404


async def test_an_image_is_served_by_its_hash_as_what_it_is(ask: Ask, run: Run, play: Play):
    shot = play.pages[0].screenshot
    answer = await ask("GET", f"/images/{shot}")
    assert answer.status == 200
    assert b"content-type: image/jpeg" in answer.data
    assert body(answer) == JPEG + b"a page"
    assert (await ask("HEAD", f"/images/{shot}")).status == 200


async def test_a_link_out_of_the_image_folder_is_not_there(ask: Ask, run: Run, tmp_path: Path):
    secret = JPEG + b"elsewhere"
    (tmp_path / "secret.jpg").write_bytes(secret)
    name = hashlib.sha256(secret).hexdigest()
    shard = run.path / "images" / name[:2]
    shard.mkdir(parents=True, exist_ok=True)
    (shard / f"{name}.jpg").symlink_to(tmp_path / "secret.jpg")
    assert (await ask("GET", f"/images/{name}")).status == 404
    (shard / f"{name}.jpg").unlink()
    shard.rmdir()
    (tmp_path / f"{name}.jpg").write_bytes(secret)
    shard.symlink_to(tmp_path)
    assert (await ask("GET", f"/images/{name}")).status == 404


@pytest.mark.parametrize("data", [b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", b"<html>", SHELL])
async def test_what_is_no_picture_is_not_served_as_one(ask: Ask, run: Run, data: bytes):
    assert (await ask("GET", f"/images/{run.images.put(data, 'png')}")).status == 404


async def test_a_pipe_in_the_image_folder_holds_nobody_up(ask: Ask, run: Run):
    shard = run.path / "images" / "ab"
    shard.mkdir(parents=True)
    os.mkfifo(shard / f"{'ab' * 32}.png")
    assert (await ask("GET", f"/images/{'ab' * 32}")).status == 404


async def test_damaged_bytes_are_not_served(ask: Ask, run: Run, play: Play):
    shot = play.pages[0].screenshot
    assert shot is not None
    run.images.path(shot).write_bytes(JPEG + b"other bytes")
    assert (await ask("GET", f"/images/{shot}")).status == 404


@pytest.mark.parametrize(
    "query", ["outcome=won", "reward=2", "page=0", "page=x", "page=-1", "sort=id", f"website={'x' * 201}"]
)
async def test_a_filter_that_is_none_is_refused(ask: Ask, query: str):
    assert (await ask("GET", f"/api/episodes?{query}")).status == 400


async def test_an_episode_under_way_tells_its_task_and_its_steps(ask: Ask, play: Play):
    for _ in range(12):
        play.move(12)
    life = max(
        (one for one in play.lives if one.doing in ("model", "executing", "screenshot")), key=lambda one: len(one.steps)
    )
    told = json.loads(body(await ask("GET", f"/api/episodes/{life.id}")))
    assert told["instruction"] == life.task.instruction
    assert told["groups"][0]["facts"] == list(life.task.groups[0].facts)
    assert [step["words"][:5] for step in told["steps"]] == ["Click"] * len(life.steps)
    assert told["doing"] == life.doing


async def test_an_ended_episode_is_told_from_the_disk_with_its_verdict(ask: Ask, play: Play):
    while not any(life.doing == "done" for life in play.lives):
        play.move(12, keep=True)
    life = next(one for one in play.lives if one.doing == "done")
    told = json.loads(body(await ask("GET", f"/api/episodes/{life.id}")))
    assert told["answer"] == "It costs 12 € and is in stock."
    assert told["steps"][0]["aim"]
    assert [one["judge"] for one in told["rulings"]] == ["stand-in"]


async def test_the_stream_begins_with_everything_and_goes_on_with_what_changed(address: str, play: Play):
    async with asyncio.timeout(10), aiohttp.ClientSession() as client, client.get(f"{address}api/stream") as stream:
        events = []
        while len(events) < 2:
            name, data = (await stream.content.readuntil(b"\n\n")).decode().strip().split("\n")
            events.append((name, json.loads(data.removeprefix("data: "))))
            play.move(1)
    (first, whole), (second, changed) = events
    assert (first, second) == ("event: snapshot", "event: delta")
    assert len(whole["named"]) == 12
    assert len(changed["cells"]) == 1


async def test_a_run_ends_although_somebody_still_reads_the_stream(play: Play):
    async with aiohttp.ClientSession() as client:
        async with asyncio.timeout(5):
            async with watching(play.events, play.run) as address:
                stream = await client.get(f"{address}api/stream")
                await stream.content.readuntil(b"\n\n")
            await stream.content.read()
