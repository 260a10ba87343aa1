"""`webgym`: quick help, exit statuses, one line of what is wrong."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from webgym import __version__, cli

HEAVY = ("aiohttp", "fastapi", "pydantic", "uvicorn", "uvloop", "torch", "yaml", "rich", "msgspec", "psutil", "numpy")


def webgym(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "webgym.cli", *arguments], capture_output=True, text=True, timeout=30, check=False
    )


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    assert cli.main(arguments) == 0
    said = capsys.readouterr().out
    for name in cli.COMMANDS:
        assert f"\n  {name} " in said


def test_help_answers_in_half_a_second():
    quickest = 10.0
    for _ in range(3):  # the best of three: a machine may be busy with something else
        began = time.monotonic()
        assert webgym("--help").returncode == 0
        quickest = min(quickest, time.monotonic() - began)
    assert quickest < 0.5


def test_help_imports_nothing_heavy():
    heavy = f"[name for name in {HEAVY!r} if name in sys.modules]"
    code = f"import sys; from webgym import cli; cli.main(['--help']); sys.exit(str({heavy}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert done.stderr == "[]\n"


def test_the_version_is_told():
    assert webgym("--version").stdout == f"webgym {__version__}\n"


@pytest.mark.parametrize("name", cli.PARTED)
def test_a_command_of_several_says_alone_which_they_are(name: str):
    done = webgym(name)
    assert f"\n  webgym {name} " in done.stdout


def test_every_setting_can_come_from_a_file_and_help_says_so():
    assert "--config FILE" in webgym("update", "--help").stdout


def test_a_reader_who_has_had_enough_ends_it_without_a_word():
    command = f"{sys.executable} -m webgym.cli worlds show | true; exit ${{PIPESTATUS[0]}}"  # which reads nothing at all
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (cli.EXIT_UNREAD, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no file here that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["worlds", "show"]])
def test_a_full_disk_under_what_is_written_is_one_sentence(arguments: list[str]):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "webgym.cli", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30
        )
    assert done.returncode == cli.EXIT_USAGE
    assert done.stderr.startswith("webgym")
    assert done.stderr.endswith(": No space left on device\n")
    assert done.stderr.count("\n") == 1


def test_a_closed_stdout_is_no_error():
    command = shlex.join([sys.executable, "-m", "webgym.cli", "worlds", "show"])
    done = subprocess.run(f"{command} >&-", shell=True, stderr=subprocess.PIPE, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_folder_that_is_not_there_or_not_ours_is_named_and_no_traceback(tmp_path: Path):
    file = tmp_path / "tasks.jsonl"
    file.write_text("")
    for arguments in (
        ("tasks", "stats", str(file), "--plot", str(tmp_path / "missing" / "plot.svg")),
        ("worlds", "tasks", "--out", "/dev/null/folder", "--tasks", "200"),
    ):
        done = webgym(*arguments)
        assert done.returncode == cli.EXIT_USAGE
        assert done.stderr.startswith(f"webgym {arguments[0]}: /")
        assert done.stderr.count("\n") == 1


def test_an_unknown_command_is_named_with_those_there_are():
    done = webgym("sreve")
    assert done.returncode == cli.EXIT_USAGE
    assert done.stderr.startswith("webgym: there is no command 'sreve'.\n")
    assert "serve" in done.stderr


def test_a_wrong_option_is_one_line_and_no_traceback():
    done = webgym("serve", "--port", "99999")
    assert done.returncode == cli.EXIT_USAGE
    assert done.stderr.startswith("webgym serve: port: ")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_unknown_option_says_where_to_look():
    done = webgym("serve", "--no-such-option", "1")
    assert done.returncode == cli.EXIT_USAGE
    assert "webgym serve --help" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_help_of_a_command_shows_examples_and_every_option():
    done = webgym("serve", "--help")
    assert done.returncode == 0
    for said in ("examples:", "webgym serve --sessions 16", "--egress.allow", "--http.header-seconds", "--log-level"):
        assert said in done.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["install", "--help"]])
def test_the_help_of_the_browser_command_is_help_and_no_error(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    assert cli.main(["browser", *arguments]) == 0
    said = capsys.readouterr()
    assert "webgym browser install" in said.out
    assert said.err == ""


def test_a_key_cannot_be_given_where_others_could_read_it():
    for option in ("--key", "--api-key", "--fleet-key"):
        done = webgym("serve", option, "canary-key-on-the-command-line")
        assert done.returncode == cli.EXIT_USAGE
