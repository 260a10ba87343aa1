"""The SOCKS server with real sockets. Resolver and clock are injected."""

from __future__ import annotations

import asyncio
import errno
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
import uvloop

from webgym.errors import BadRequest, Forbidden
from webgym.server.egress import Egress, EgressPolicy
from webgym.server.egress.destinations import Address, Network
from webgym.server.egress.failures import Failures, Refusal
from webgym.server.egress.names import Names
from webgym.server.egress.own import OwnNetworks, own_networks
from webgym.server.egress.upstream import Upstream

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def test_the_map_of_failures_is_bounded_and_forgets():
    failures = Failures(lambda: 7.0)
    for i in range(2000):
        failures.record(f"h{i}.example", 80, Refusal("dns", "x"))
    assert len(failures) == 1024
    assert failures.get("h0.example", 80) is None
    kept = failures.get("H1999.example.", 80)
    assert kept is not None
    assert kept.at == 7.0
    failures.forget("h1999.example", 80)
    assert failures.get("h1999.example", 80) is None


# Sites are real sockets on loopback; the resolver says where names lead.


@asynccontextmanager
async def site(handler: Handler, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[int]:
    tasks: set[asyncio.Task[None]] = set()

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(run, host, port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def silent(host: str) -> Iterator[int]:
    """A port with a full backlog: further connects get no answer."""
    with ExitStack() as stack:
        listener, *fillers = (stack.enter_context(socket.socket()) for _ in range(5))
        listener.bind((host, 0))
        listener.listen(0)
        for filler in fillers:
            filler.setblocking(False)
            with suppress(BlockingIOError):
                filler.connect(listener.getsockname())
        yield listener.getsockname()[1]


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


def names(**table: str) -> Callable[[str], Awaitable[list[Address]]]:
    async def resolve(name: str) -> list[Address]:
        found = table.get(name.replace(".", "_"))
        if found is None:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [ip_address(text) for text in found.split()]

    return resolve


Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def ask(egress: Egress, host: str, port: int) -> tuple[int, Stream]:
    """Speak SOCKS5 as Chromium does: every host as a name. Returns the reply code and the stream."""
    reader, writer = await asyncio.open_connection("127.0.0.1", egress.port)
    writer.write(b"\x05\x01\x00")
    assert await reader.readexactly(2) == b"\x05\x00"
    writer.write(b"\x05\x01\x00\x03" + bytes([len(host)]) + host.encode("latin-1") + port.to_bytes(2))
    reply = await reader.readexactly(10)
    assert reply[0] == 5
    return reply[1], (reader, writer)


async def refused(egress: Egress, host: str, port: int) -> str:
    reply, (reader, writer) = await ask(egress, host, port)
    assert reply != 0
    assert await reader.read() == b""
    writer.close()
    failure = egress.why(host, port)
    assert failure is not None
    return failure.kind


async def until(condition: Callable[[], object], within: float = 5.0) -> None:
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 (no event to wait for)
            await asyncio.sleep(0.005)


LOCAL = EgressPolicy(allow=("127.0.0.0/8", "::1"))


async def test_bytes_pass_in_both_directions_and_are_counted():
    async with site(echo) as port, Egress(LOCAL) as egress:
        reply, (reader, writer) = await ask(egress, "site.localhost", port)
        assert reply == 0
        writer.write(b"hello")
        assert await reader.readexactly(5) == b"hello"
        assert (egress.counters.bytes_up, egress.counters.bytes_down) == (5, 5)
        assert (egress.counters.opened, egress.counters.active) == (1, 1)
        writer.close()
        await until(lambda: egress.counters.active == 0)
        assert not egress._far


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "localhost.", "::ffff:127.0.0.1", "LOCALHOST"])
async def test_loopback_is_blocked_in_any_spelling(host):
    hits = 0

    async def canary(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal hits
        hits += 1

    async with site(canary) as port, Egress(EgressPolicy()) as egress:
        assert await refused(egress, host, port) == "blocked"
        assert egress.counters.refused == {"blocked": 1}
        failure = egress.why(host, port)
        assert failure is not None
        assert failure.text.startswith("blocked by the egress policy: ")
        assert failure.text.endswith("loopback")
    assert hits == 0


async def test_the_binary_address_forms_of_socks_are_checked_too():
    async with site(echo) as port, Egress(EgressPolicy()) as egress:
        for kind, packed in (
            (1, IPv4Address("127.0.0.1").packed),
            (4, IPv6Address("::ffff:127.0.0.1").packed),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", egress.port)
            writer.write(b"\x05\x01\x00\x05\x01\x00" + bytes([kind]) + packed + port.to_bytes(2))
            assert (await reader.readexactly(12))[3] == 2
            writer.close()


@pytest.mark.parametrize("host", ["a b", "\xff\xfe", "a/b", "a:b", ""])
async def test_a_name_that_is_none_is_blocked(host):
    async with Egress(EgressPolicy()) as egress:
        reply, (_, writer) = await ask(egress, host, 80)
        assert reply == 2
        writer.close()
        assert egress.counters.refused == {"blocked": 1}


async def test_a_name_leading_to_private_addresses_is_blocked():
    resolver = names(evil_example="10.0.0.1 169.254.169.254")
    async with Egress(EgressPolicy(), resolver=resolver) as egress:
        assert await refused(egress, "evil.example", 80) == "blocked"
        failure = egress.why("EVIL.example.", 80)
        assert failure is not None
        assert failure.text == "blocked by the egress policy: evil.example is 10.0.0.1, which is private"


async def test_only_the_acceptable_addresses_of_a_name_are_tried():
    policy = EgressPolicy(allow=("127.0.0.2",))
    async with (
        site(echo, "127.0.0.2") as port,
        Egress(policy, resolver=names(a_example="127.0.0.1 127.0.0.2")) as egress,
    ):
        reply, (_, writer) = await ask(egress, "a.example", port)
        assert reply == 0
        writer.close()


async def test_rebinding_does_not_win():
    """The first answer is acceptable, the second is not: the connection goes where the check went."""
    asked: list[str] = []

    async def rebinding(name: str) -> list[Address]:
        asked.append(name)
        return [ip_address("127.0.0.2" if len(asked) == 1 else "127.0.0.1")]

    now = 0.0
    seen: list[str] = []

    async def witness(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(writer.get_extra_info("sockname")[0])

    policy = EgressPolicy(allow=("127.0.0.2",))
    async with (
        site(witness, "0.0.0.0") as port,
        Egress(policy, resolver=rebinding, clock=lambda: now) as egress,
    ):
        for _ in range(2):
            reply, (reader, writer) = await ask(egress, "evil.example", port)
            assert reply == 0
            await reader.read()
            writer.close()
        assert asked == ["evil.example"], "the answer is remembered"
        now = 31.0
        assert await refused(egress, "evil.example", port) == "blocked"
        assert len(asked) == 2
        await until(lambda: len(seen) == 2)
        assert seen == ["127.0.0.2", "127.0.0.2"]


async def test_names_asked_for_at_once_are_looked_up_once():
    gate = asyncio.Event()
    asked = 0

    async def slow(name: str) -> list[Address]:
        nonlocal asked
        asked += 1
        await gate.wait()
        return [ip_address("127.0.0.1")]

    async with site(echo) as port, Egress(LOCAL, resolver=slow) as egress:
        pending = [asyncio.create_task(ask(egress, "a.example", port)) for _ in range(5)]
        await until(lambda: len(egress._tasks) == 5)
        gate.set()
        for reply, (_, writer) in await asyncio.gather(*pending):
            assert reply == 0
            writer.close()
        assert asked == 1


async def test_failures_are_told_apart():
    hang, silence = asyncio.Event(), asyncio.Event()

    async def resolve(name: str) -> list[Address]:
        if name == "hangs.example" or silence.is_set():
            await hang.wait()
        return await names(void_example="", far_example="255.255.255.255", deaf_example="127.0.0.9")(name)

    policy = EgressPolicy(allow=("127.0.0.0/8", "255.255.255.255"))
    with socket.socket() as closed, silent("127.0.0.9") as deaf:
        closed.bind(("127.0.0.1", 0))
        async with Egress(policy, resolver=resolve, resolve_within=0.1, connect_within=0.3) as egress:
            assert await refused(egress, "hangs.example", 80) == "dns", "on a machine without DNS nothing has fallen silent"
            assert await refused(egress, "nosuch.example", 80) == "dns"
            assert await refused(egress, "void.example", 80) == "dns"
            assert await refused(egress, "deaf.example", deaf) == "timeout"
            assert await refused(egress, "hangs.example", 80) == "dns", "others have addresses, so it is this website's"
            silence.set()
            assert await refused(egress, "hangs.example", 80) == "resolver"
            silence.clear()
            assert await refused(egress, "localhost", closed.getsockname()[1]) == "refused"
            assert await refused(egress, "far.example", 80) == "unreachable"
            assert egress.counters.refused == {"dns": 4, "resolver": 1, "refused": 1, "timeout": 1, "unreachable": 1}
            failure = egress.why("nosuch.example", 80)
            assert failure is not None
            assert failure.text == "net::ERR_NAME_NOT_RESOLVED: no address for nosuch.example"


@pytest.mark.parametrize(
    "trouble",
    [
        OSError(errno.EMFILE, "too many open files"),
        OSError(errno.EACCES, "permission denied"),
        socket.gaierror(socket.EAI_MEMORY, "memory allocation failure"),
    ],
)
async def test_a_lookup_that_fails_for_a_reason_of_this_machine_is_our_fault(trouble):
    async def resolve(name: str) -> list[Address]:
        raise trouble

    async with Egress(EgressPolicy(), resolver=resolve) as egress:
        assert await refused(egress, "a.example", 80) == "overloaded"
    async with Egress(EgressPolicy(), resolver=resolve, upstream="http://p.example:80") as egress:
        assert await refused(egress, "a.example", 80) == "overloaded"


async def test_whether_a_failure_is_ours_or_the_websites_is_told_by_who_was_silent():
    async def busy(name: str) -> list[Address]:
        raise socket.gaierror(socket.EAI_AGAIN, "temporary failure in name resolution")

    def ours(egress: Egress) -> bool:
        failure = egress.why("a.example", 80)
        assert failure is not None
        assert (egress.was_short("a.example", 80, since=0.0) is not None) == failure.ours
        return failure.ours

    async with Egress(EgressPolicy(), resolver=busy) as egress:
        assert await refused(egress, "a.example", 80) == "dns", "a machine without DNS has lost none"
        assert not ours(egress)
        egress._names._proofs["known.example"] = "www.known.example"
        assert await refused(egress, "a.example", 80) == "resolver"
        assert ours(egress)
    async with Egress(EgressPolicy(), resolver=names()) as egress:
        assert await refused(egress, "a.example", 80) == "dns"
        assert not ours(egress)
    async with Egress(EgressPolicy(), resolver=names(), upstream="http://no-proxy.example:80") as egress:
        assert await refused(egress, "a.example", 80) == "proxy"
        assert ours(egress)
    async with (
        site(Proxy(status="502 Bad").http) as port,
        Egress(LOCAL, upstream=f"http://user:s%3Aecret@127.0.0.1:{port}") as egress,
    ):
        assert await refused(egress, "a.example", 80) == "upstream"
        assert not ours(egress)


async def test_a_website_whose_own_name_servers_fall_silent_is_no_proof_that_all_have():
    now, known = [0.0], [ip_address("127.0.0.1")]

    async def resolve(name: str) -> list[Address]:
        if now[0] and name.endswith("flaky.example"):
            raise socket.gaierror(socket.EAI_AGAIN, "temporary failure in name resolution")
        return known

    async with Egress(EgressPolicy(), resolver=resolve, clock=lambda: now[0]) as egress:
        assert await refused(egress, "cdn.flaky.example", 80) == "blocked", "but its address is known by now"
        assert await refused(egress, "flaky.example", 80) == "blocked"
        now[0] = 60.0
        assert await refused(egress, "flaky.example", 80) == "dns"
        assert await refused(egress, "www.flaky.example", 80) == "dns"


async def test_a_worker_that_stood_still_while_it_connected_blames_nobody_for_its_own_silence():
    async def resolve(name: str) -> list[Address]:
        time.sleep(1.3)  # noqa: ASYNC251 - as if the whole process had been stopped
        await asyncio.sleep(1)
        return []

    async with Egress(LOCAL, resolver=resolve, connect_within=0.1) as egress:
        assert await refused(egress, "a.example", 80) == "overloaded"
    asking = Names(resolve, clock=time.monotonic, within=0.1)
    with pytest.raises(OSError, match="stood still") as late:
        await asking.lookup("b.example")
    assert late.value.errno == errno.ENOBUFS


async def test_a_name_that_can_never_exist_is_not_asked_for():
    async def nobody(name: str) -> list[Address]:
        raise AssertionError(name)

    async with Egress(EgressPolicy(), resolver=nobody) as egress:
        assert await refused(egress, "no-such-name.invalid", 80) == "dns"


@pytest.mark.parametrize("host", ["a.example", "127.0.0.1"])
async def test_a_machine_that_cannot_list_its_own_addresses_connects_nowhere_and_takes_the_blame(host: str):
    def none_left() -> list[Network]:
        raise OSError(errno.EMFILE, "too many open files")

    async with site(echo) as port, Egress(LOCAL, resolver=names(a_example="127.0.0.1"), own=none_left) as egress:
        assert await refused(egress, host, port) == "overloaded"


def test_what_the_system_said_last_of_its_addresses_holds_while_it_says_nothing():
    now, broken = 0.0, True

    def ask() -> list[Network]:
        if broken:
            raise OSError(errno.EMFILE, "too many open files")
        return [ip_network("192.0.2.1")]

    own = OwnNetworks(ask, clock=lambda: now)
    with pytest.raises(OSError, match="too many open files"):
        own()
    broken = False
    assert own() == [ip_network("192.0.2.1")]
    now, broken = 61.0, True
    assert own() == [ip_network("192.0.2.1")]


async def test_a_success_forgets_the_failure():
    table: dict[str, str] = {}

    async def resolve(name: str) -> list[Address]:
        return await names(**table)(name)

    async with site(echo) as port, Egress(LOCAL, resolver=resolve) as egress:
        assert await refused(egress, "a.example", port) == "dns"
        table["a_example"] = "127.0.0.1"
        reply, (_, writer) = await ask(egress, "a.example", port)
        assert reply == 0
        assert egress.why("a.example", port) is None
        writer.close()


async def test_the_next_address_is_tried_when_the_first_is_silent_or_refuses():
    resolver = names(a_example="127.0.0.9 127.0.0.2 127.0.0.3")
    with silent("127.0.0.9") as port:
        async with site(echo, "127.0.0.3", port), Egress(LOCAL, resolver=resolver) as egress:
            reply, (reader, writer) = await ask(egress, "a.example", port)
            assert reply == 0
            writer.write(b"x")
            assert await reader.read(1) == b"x"
            writer.close()
            await until(lambda: not egress._near and not egress._far)


async def test_half_close_lets_the_other_direction_go_on():
    async def total(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = await reader.read()
        writer.write(str(len(data)).encode())
        await writer.drain()

    async with site(total) as port, Egress(LOCAL) as egress:
        _, (reader, writer) = await ask(egress, "localhost", port)
        writer.write(b"x" * 300_000)
        writer.write_eof()
        assert await reader.read() == b"300000"
        writer.close()
        await until(lambda: not egress._near and not egress._far)


async def test_a_reset_is_passed_on_as_one():
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"half")
        await writer.drain()
        await reader.read(1)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        writer.transport.abort()

    async with site(cut) as port, Egress(LOCAL) as egress:
        _, (reader, writer) = await ask(egress, "localhost", port)
        assert await reader.readexactly(4) == b"half"
        writer.write(b"x")
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()


async def test_a_reader_that_stops_stops_the_sender_and_loses_nothing():
    size = 50 * 1024 * 1024
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        block = bytes(range(256)) * 256
        while sent < size:
            writer.write(block)
            await writer.drain()
            sent += len(block)

    async with site(flood) as port, Egress(LOCAL) as egress:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(sock, ("127.0.0.1", egress.port))
        await loop.sock_sendall(sock, b"\x05\x01\x00\x05\x01\x00\x03\x09localhost" + port.to_bytes(2))
        before = -1
        async with asyncio.timeout(20):
            while before != sent or not sent:  # until the flow has stood still
                before = sent
                await asyncio.sleep(0.1)
        assert sent < size / 3, "the sender was stopped"
        (near,) = egress._near
        assert near.get_write_buffer_size() < 1024 * 1024
        got = 0
        buffer = bytearray(1 << 20)
        while n := await loop.sock_recv_into(sock, buffer):
            got += n
        assert got == size + 12
        sock.close()
        assert egress.counters.bytes_down == size


async def test_connections_over_the_cap_are_refused_as_our_fault():
    async with site(echo) as port, Egress(LOCAL, max_connections=2) as egress:
        kept = [await ask(egress, "localhost", port) for _ in range(2)]
        assert await refused(egress, "localhost", port) == "overloaded"
        held = [await asyncio.open_connection("127.0.0.1", egress.port) for _ in range(2)]
        await until(lambda: egress.counters.active == 4)
        reader, writer = await asyncio.open_connection("127.0.0.1", egress.port)
        with suppress(ConnectionResetError):
            assert await reader.read() == b"", "past twice the cap nothing is said"
        for _, (_, w) in kept:
            w.close()
        for _, w in [*held, (reader, writer)]:
            w.close()
        await until(lambda: egress.counters.active == 0)
        reply, (_, writer) = await ask(egress, "localhost", port)
        assert reply == 0
        writer.close()


async def test_that_we_were_short_is_remembered_though_the_host_was_reached_again():
    now = 100.0
    async with site(echo) as port, Egress(LOCAL, max_connections=1, clock=lambda: now) as egress:
        _, (_, first) = await ask(egress, "localhost", port)
        assert await refused(egress, "localhost", port) == "overloaded"
        first.close()
        await until(lambda: egress.counters.active == 0)
        _, (_, writer) = await ask(egress, "localhost", port)
        writer.close()
        assert egress.why("localhost", port) is None
        short = egress.was_short("localhost", port, since=99.0)
        assert short is not None
        assert short.text == "this worker already holds 1 connections"
        assert egress.was_short("localhost", port, since=101.0) is None, "before anybody asked"
        assert egress.was_short("10.0.0.1", 80, since=99.0) is None
        assert await refused(egress, "10.0.0.1", 80) == "blocked"
        assert egress.was_short("10.0.0.1", 80, since=99.0) is None, "not for want of anything"


@pytest.mark.parametrize("said", [b"", b"\x05", b"\x05\x01\x00\x05\x01\x00\x03\xffa"])
async def test_a_slow_handshake_is_dropped(said):
    async with Egress(EgressPolicy(), handshake_within=0.1) as egress:
        reader, writer = await asyncio.open_connection("127.0.0.1", egress.port)
        writer.write(said)
        async with asyncio.timeout(5):
            await reader.read()
        writer.close()
        await until(lambda: egress.counters.active == 0)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b""),
        (b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00", b""),
        (b"\x05\x01\x02", b"\x05\xff"),
        (b"\x05\x01\x00\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00", b"\x05\x00\x05\x07\x00\x01\0\0\0\0\0\0"),
        (b"\x05\x01\x00\x05\x01\x00\x09\x00\x00\x00\x00\x00\x00", b"\x05\x00\x05\x08\x00\x01\0\0\0\0\0\0"),
        (b"\x05\x01\x00\x05\x01\x00\x03" + b"\xff" * 4096, None),
    ],
    ids=["http", "socks4", "login", "udp", "address kind", "too much"],
)
async def test_what_is_not_a_connect_request_is_turned_away(said, answer):
    async with Egress(EgressPolicy()) as egress:
        reader, writer = await asyncio.open_connection("127.0.0.1", egress.port)
        writer.write(said)
        got = b""
        with suppress(ConnectionResetError):
            async with asyncio.timeout(5):
                got = await reader.read()
        if answer is not None:
            assert got == answer
        writer.close()
        await until(lambda: egress.counters.active == 0)


async def test_a_client_that_leaves_cancels_the_attempt():
    gone = asyncio.Event()

    async def slow(name: str) -> list[Address]:
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()
        return []

    async with Egress(EgressPolicy(), resolver=slow, resolve_within=30, connect_within=30) as egress:
        reader, writer = await asyncio.open_connection("127.0.0.1", egress.port)
        writer.write(b"\x05\x01\x00\x05\x01\x00\x03\x09a.example\x00\x50")
        await reader.readexactly(2)
        await until(lambda: egress._tasks)
        writer.close()
        await until(lambda: not egress._tasks)
    assert gone.is_set()


async def test_closing_cuts_every_connection_quickly():
    async with site(echo) as port:
        egress = Egress(LOCAL)
        async with egress:
            streams = [(await ask(egress, "localhost", port))[1] for _ in range(50)]
            waiting = await asyncio.open_connection("127.0.0.1", egress.port)
            await until(lambda: egress.counters.active == 51)
            started = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - started < 1
        assert egress.counters.active == 0
        for reader, writer in [*streams, waiting]:
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
            writer.close()
        await egress.close()
        assert str(egress.port) in repr(egress)


async def test_small_packets_are_not_held_back():
    async with site(echo) as port, Egress(LOCAL) as egress:
        _, (_, writer) = await ask(egress, "localhost", port)
        for transport in (*egress._near, *egress._far):
            assert transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        writer.close()
        await until(lambda: not egress._far)


def test_it_runs_on_uvloop():
    async def main() -> None:
        await test_bytes_pass_in_both_directions_and_are_counted()
        await test_half_close_lets_the_other_direction_go_on()
        await test_a_reset_is_passed_on_as_one()
        await test_a_reader_that_stops_stops_the_sender_and_loses_nothing()
        await test_the_next_address_is_tried_when_the_first_is_silent_or_refuses()
        await test_failures_are_told_apart()
        await test_a_client_that_leaves_cancels_the_attempt()
        await test_closing_cuts_every_connection_quickly()
        await test_an_upstream_is_asked_for_the_name("http")
        await test_an_upstream_is_asked_for_the_name("socks5")

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


# Upstream proxies: two tiny real ones


class Proxy:
    """Accepts user:secret, notes what it was asked for, and echoes instead of connecting."""

    def __init__(self, reply: int = 0, status: str = "200 OK") -> None:
        self.reply, self.status = reply, status
        self.asked: list[str] = []

    async def http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head.split(" ")[1])
        if "Proxy-Authorization: Basic dXNlcjpzOmVjcmV0" not in head:
            self.status = "407 No"
        writer.write(f"HTTP/1.1 {self.status}\r\nVia: x\r\n\r\n".encode() + b"early")
        if self.status.startswith("2"):
            await echo(reader, writer)

    async def socks5(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        if await reader.readexactly(count) != b"\x02":
            writer.write(b"\x05\xff")
            return
        writer.write(b"\x05\x02")
        if await reader.readexactly(14) != b"\x01\x04user\x07s:ecret":
            writer.write(b"\x01\x01")
            return
        writer.write(b"\x01\x00")
        _, _, _, kind = await reader.readexactly(4)
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = str(ip_address(await reader.readexactly(4 if kind == 1 else 16)))
        self.asked.append(f"{host}:{int.from_bytes(await reader.readexactly(2))}")
        writer.write(bytes([5, self.reply, 0, 3, 3]) + b"abc\0\0" + b"early")
        if not self.reply:
            await echo(reader, writer)


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_an_upstream_is_asked_for_the_name(scheme):
    proxy = Proxy()
    async with (
        site(getattr(proxy, scheme)) as port,
        Egress(LOCAL, upstream=f"{scheme}://user:s%3Aecret@127.0.0.1:{port}", resolver=names()) as egress,
    ):
        for host in ("shop.example", "1.1.1.1"):
            reply, (reader, writer) = await ask(egress, host, 443)
            assert reply == 0
            assert await reader.readexactly(5) == b"early"
            writer.write(b"x")
            assert await reader.readexactly(1) == b"x"
            writer.close()
        assert proxy.asked == ["shop.example:443", "1.1.1.1:443"]
        assert await refused(egress, "10.0.0.1", 443) == "blocked"
        assert await refused(egress, "2130706433.", 25) == "refused", "loopback is never the upstream's"
        assert len(proxy.asked) == 2
        assert "ecret" not in repr(egress) + repr(egress._upstream) + str(vars(egress))


@pytest.mark.parametrize(
    ("scheme", "login", "proxy", "kind"),
    [
        ("http", "user:wrong@", Proxy(), "shut"),
        ("http", "user:s%3Aecret@", Proxy(status="502 Bad"), "upstream"),
        ("socks5", "user:wrongpw@", Proxy(), "shut"),
        ("socks5", "", Proxy(), "shut"),
        ("socks5", "user:s%3Aecret@", Proxy(reply=5), "refused"),
        ("socks5", "user:s%3Aecret@", Proxy(reply=4), "unreachable"),
        ("socks5", "user:s%3Aecret@", Proxy(reply=1), "upstream"),
    ],
)
async def test_an_upstream_that_says_no(scheme, login, proxy, kind):
    async with (
        site(getattr(proxy, scheme)) as port,
        Egress(LOCAL, upstream=f"{scheme}://{login}127.0.0.1:{port}") as egress,
    ):
        assert await refused(egress, "shop.example", 443) == kind
        failure = egress.why("shop.example", 443)
        assert failure is not None
        assert "ecret" not in failure.text
        assert "wrong" not in failure.text
        assert f"127.0.0.1:{port}" in failure.text


async def test_an_upstream_that_is_away_silent_or_talks_nonsense():
    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x" * 100_000)
        await writer.drain()

    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        async with Egress(LOCAL, upstream=url) as egress:
            assert await refused(egress, "a.example", 80) == "proxy"
    with silent("127.0.0.9") as deaf:
        async with Egress(LOCAL, upstream=f"http://127.0.0.9:{deaf}", connect_within=0.2) as egress:
            assert await refused(egress, "a.example", 80) == "proxy"
    for scheme, kind in (("http", "upstream"), ("socks5", "shut")):
        async with site(nonsense) as port, Egress(LOCAL, upstream=f"{scheme}://127.0.0.1:{port}") as egress:
            assert await refused(egress, "a.example", 80) == kind
        async with (
            site(silence) as port,
            Egress(LOCAL, upstream=f"{scheme}://127.0.0.1:{port}", connect_within=0.2) as egress,
        ):
            assert await refused(egress, "a.example", 80) == "timeout"


def test_an_upstream_must_pass_the_policy_itself():
    for url in (
        "http://127.0.0.1:3128",
        "socks5://169.254.169.254:80",
        "http://localhost",
        "http://0x7f.1:80",
    ):
        with pytest.raises(Forbidden, match="proxy: blocked by the egress policy"):
            Egress(EgressPolicy(), upstream=url)


async def test_the_name_of_an_upstream_is_checked_at_each_connection():
    async with Egress(EgressPolicy(), upstream="http://p.example:80", resolver=names(p_example="10.0.0.1")) as egress:
        assert await refused(egress, "a.example", 80) == "shut"
        failure = egress.why("a.example", 80)
        assert failure is not None
        assert "p.example is 10.0.0.1, which is private" in failure.text


@pytest.mark.parametrize(
    "url",
    [
        "",
        "p.example:80",
        "https://u:canary@p.example",
        "http://u:canary@p:0",
        "http://u:canary@/",
        "ftp://canary",
        "socks5://u:canary@a b",
        "http://u:canary@p.example/path",
        "http://u:" + "canary" * 60 + "@p.example",
    ],
)
def test_a_bad_upstream_is_refused_without_repeating_its_secret(url):
    with pytest.raises(BadRequest, match="proxy: ") as e:
        Upstream.parse(url)
    assert "canary" not in str(e.value)


# Public by number, and said to be ours.
OURS = (ip_network("1.2.3.4/32"), ip_network("2606:4700:1:2::/64"))


@pytest.mark.parametrize("address", ["1.2.3.4", "64:ff9b::1.2.3.4", "2606:4700:1:2::5"])
async def test_an_address_of_this_machine_is_refused_however_public_it_looks(address: str):
    async def resolve(_: str) -> list[Address]:
        return [ip_address(address)]

    async with Egress(EgressPolicy(), resolver=resolve, own=lambda: OURS) as egress:
        assert await refused(egress, "evil.example", 80) == "blocked"
        why = egress.why("evil.example", 80)
    assert why is not None
    assert why.text.endswith("is of this machine or its network")


@pytest.mark.parametrize(
    "address", ["1.2.3.4", "0x1020304", "1.2.772", "::ffff:1.2.3.4", "64:ff9b::1.2.3.4", "2606:4700:1:2::5"]
)
async def test_an_upstream_is_not_asked_for_an_address_of_this_machine(address: str):
    proxy = Proxy()
    async with (
        site(proxy.http) as port,
        Egress(LOCAL, upstream=f"http://user:s%3Aecret@127.0.0.1:{port}", own=lambda: OURS) as egress,
    ):
        assert await refused(egress, address, 80) == "blocked"
        why = egress.why(address, 80)
    assert why is not None
    assert why.text.endswith("is of this machine or its network")
    assert proxy.asked == []


def test_this_machine_knows_its_addresses():
    assert any(IPv4Address("127.0.0.1") in network for network in own_networks())
