"""Settings of `webgym serve` from file and command line, logs, and what they must not say."""

from __future__ import annotations

import io
import logging
from pathlib import Path

import pytest
from pydantic import BaseModel

from webgym import logs
from webgym.config import Settings, load
from webgym.errors import ConfigError
from webgym.server.master import MasterSettings
from webgym.server.settings import KEY_VARIABLE, ServeSettings, WorkerSettings, api_key


def serve(*arguments: str) -> ServeSettings:
    return load(ServeSettings, list(arguments), command="webgym serve")


def test_the_defaults_are_the_closed_ones():
    settings = serve()
    assert (settings.host, settings.relay) == ("127.0.0.1", False)
    assert (settings.egress.allow, settings.egress.allow_private) == ((), False)
    assert settings.log_level == "INFO"


def test_the_command_line_overrides_the_file(tmp_path: Path):
    file = tmp_path / "server.yaml"
    file.write_text("sessions: 5\nport: 9000\negress:\n  allow: ['*.localhost:1']\nhttp:\n  header_seconds: 3\n")
    settings = serve("--config", str(file), "--port", "9001", "--http.body-seconds", "4")
    assert (settings.sessions, settings.port, settings.egress.allow) == (5, 9001, ("*.localhost:1",))
    assert (settings.http.header_seconds, settings.http.body_seconds) == (3, 4)
    assert serve(f"--config={file}").port == 9000


def test_the_environment_is_not_a_setting(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOST", "0.0.0.0")
    monkeypatch.setenv("PORT", "1")
    monkeypatch.setenv("SESSIONS", "1")
    assert serve() == serve("--host", "127.0.0.1")


@pytest.mark.parametrize("name", ["gym", "gym-7.example.", "my_host", "10.0.0.5", "2001:db8::1"])
def test_a_host_name_or_an_address_may_be_advertised(name: str):
    assert serve("--advertise", name).advertise == name


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--port", "99999"], "port: "),
        (["--port", "x"], "port: "),
        (["--sessions", "0"], "sessions: "),
        (["--sessions", "2", "--workers", "3"], "3 workers cannot share 2 sessions"),
        (["--egress.allow", "*"], "would open every private address"),
        (["--egress.allow", "10.0.0.0/99"], "rule '10.0.0.0/99'"),
        (["--http.header-seconds", "0"], "http.header_seconds: "),
        (["--advertise", "http://gym.example"], "advertise: write a bare host name or address"),
        (["--advertise", "gym.example:8000"], "advertise: "),
        (["--advertise", "gym.example/"], "advertise: "),
        (["--advertise", "[2001:db8::1]"], "advertise: "),
        (["--advertise", "fe80::1%eth0"], "advertise: "),
        (["--advertise", ""], "advertise: "),
        (["--advertise", "a" * 250], "advertise: "),
        (["--log-level", "LOUD"], "log_level: "),
        (["--no-such-thing", "1"], "no-such-thing"),
        (["--config"], "--config needs the name of a YAML file"),
        (["--config", "one.yaml", "--config=two.yaml"], "--config is given more than once"),
        (["--config", "/nowhere.yaml"], "cannot read /nowhere.yaml"),
    ],
)
def test_what_is_wrong_is_named(arguments: list[str], named: str):
    with pytest.raises(ConfigError) as refused:
        serve(*arguments)
    assert named in str(refused.value)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"- a\n", "must hold settings by name"),
        (b"a: [", "is not YAML"),
        (b"host: \xff\n", "is not YAML"),
        (b"host: 2024-13-45\n", "is not YAML"),
        (b"port: 1\nhost: [a\n", "is not YAML: line 3, column 1: expected"),
        (b"port: 1\nhost: a\nport: 2\n", "line 3, column 1: port is there twice"),
        (b"http:\n  max_body: 1\n  max_body: 2\n", "line 3, column 3: max_body is there twice"),
        (b"prot: 1\n", "prot: "),
        (b"1: 2\n", "1: there is no such setting"),
        (b"cli_args: [x]\n", "cli_args: there is no such setting"),
        (b"model_cls: 3\n", "model_cls: there is no such setting"),
    ],
)
def test_a_file_that_is_wrong_is_named(tmp_path: Path, text: bytes, named: str):
    file = tmp_path / "server.yaml"
    file.write_bytes(text)
    with pytest.raises(ConfigError, match=named) as refused:
        serve("--config", str(file))
    assert "\n" not in str(refused.value)


def test_a_part_of_a_file_may_be_used_again_with_changes(tmp_path: Path):
    file = tmp_path / "server.yaml"
    file.write_text("http: &http {header_seconds: 3, body_seconds: 4}\n")
    assert serve("--config", str(file)).http.body_seconds == 4
    file.write_text("http:\n  <<: {header_seconds: 3, body_seconds: 4}\n  body_seconds: 5\n")
    assert (serve("--config", str(file)).http.header_seconds, serve("--config", str(file)).http.body_seconds) == (3, 5)


def test_a_file_cannot_run_code(tmp_path: Path):
    file = tmp_path / "server.yaml"
    file.write_text("host: !!python/object/apply:os.system ['true']\n")
    with pytest.raises(ConfigError, match="is not YAML"):
        serve("--config", str(file))


def test_a_secret_in_the_wrong_place_is_not_repeated(tmp_path: Path):
    file = tmp_path / "server.yaml"
    file.write_text("api_key: canary-secret\n")
    with pytest.raises(ConfigError, match="api_key") as refused:
        serve("--config", str(file))
    assert "canary-secret" not in str(refused.value)


class Endpoint(BaseModel, extra="forbid"):
    url: str


class Asking(Settings):
    endpoint: Endpoint


def test_a_setting_that_is_missing_is_named_without_what_stands_beside_it(tmp_path: Path):
    file = tmp_path / "asking.yaml"
    file.write_text("endpoint: {api_key: canary-secret}\n")
    with pytest.raises(ConfigError) as refused:
        load(Asking, ["--config", str(file)], command="webgym ask")
    assert str(refused.value).splitlines() == [
        "endpoint.url: it must be given",
        "endpoint.api_key: there is no such setting",
    ]


def test_a_key_is_made_up_on_loopback_and_asked_for_elsewhere(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    for host in ("127.0.0.1", "::1", "localhost"):
        key, generated = api_key(host)
        assert generated
        assert len(key) >= 32
        assert key != api_key(host)[0]
    for host in ("0.0.0.0", "::", "", "10.0.0.1", "127.0.0.1.example.com", "localhost.example.com"):
        with pytest.raises(ConfigError, match="needs a key of your own"):
            api_key(host)
    monkeypatch.setenv(KEY_VARIABLE, "long-enough-to-be-a-key")
    assert api_key("0.0.0.0") == ("long-enough-to-be-a-key", False)


@pytest.mark.parametrize(
    "key",
    ["", "short", "x" * 15, "with a blank in it", "tab\tinside-of-the-key", "ключ-ключ-ключ-ключ", "nul\0inside-of-key"],
)
def test_a_key_that_is_none_is_refused_everywhere(key: str):
    for build in (
        lambda: MasterSettings(serve=serve(), key=key, fleet_key="f" * 16),
        lambda: WorkerSettings(serve=serve(), sessions=1, browsers=1, key=key),
    ):
        with pytest.raises(ConfigError, match="at least 16 printable") as refused:
            build()
        assert not key or key not in str(refused.value)


def test_neither_master_nor_worker_listens_to_the_world_without_a_key():
    world = serve("--host", "0.0.0.0")
    for build in (
        lambda: MasterSettings(serve=world, fleet_key="f" * 16),
        lambda: WorkerSettings(serve=world, sessions=1, browsers=1),
    ):
        with pytest.raises(ConfigError, match="needs a key"):
            build()


def test_settings_do_not_show_their_keys():
    shown = repr(MasterSettings(serve=serve(), key="canary-key-canary-key", fleet_key="canary-fleet-key"))
    assert "canary" not in shown


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    written = io.StringIO()
    monkeypatch.setattr("sys.stderr", written)
    before = logging.root.handlers[:], logging.root.level
    logs.start("DEBUG")
    yield written
    logging.root.handlers[:], level = before
    logging.root.setLevel(level)


def test_a_hidden_secret_is_written_nowhere_not_even_in_a_traceback(lines: io.StringIO):
    logs.hide("canary-in-the-log")
    logs.hide(None)
    logs.hide("")
    log = logging.getLogger("any")
    log.warning("it is %s", "canary-in-the-log")
    try:
        raise ValueError("canary-in-the-log")
    except ValueError:
        log.exception("failed")
    assert "canary" not in lines.getvalue()
    assert lines.getvalue().count("[hidden]") == 3  # the source line in the traceback too


def test_what_strangers_send_begins_no_line_and_drives_no_terminal(lines: io.StringIO):
    logging.getLogger("any").warning("path %s", "/a\n12:00:00 ERROR forged\r\x1b[31mred\x9b\u2028")
    written = lines.getvalue()
    assert len(written.splitlines()) == 1
    assert "\\n12:00:00 ERROR forged\\r\\x1b[31mred\\x9b\\u2028" in written
