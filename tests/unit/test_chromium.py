"""The search order, its errors and the installer, on machines made of temporary folders and tiny scripts."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.processes import running
from webgym.errors import BrowserMissing, ConfigError
from webgym.server.chromium import Machine, candidates, find, show
from webgym.server.chromium_install import install, run_install

OLD_LAYOUT = "chrome-linux/headless_shell"
NEW_LAYOUT = "chrome-headless-shell-linux64/chrome-headless-shell"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with nothing on it. Its commands still find `sh` and `cp`."""
    commands = tmp_path / "bin"
    commands.mkdir()
    return Machine(
        env={"PATH": f"{commands}:/usr/bin:/bin", "HOME": str(tmp_path / "home")},
        which=lambda name: shutil.which(name, path=str(commands)),
        home=tmp_path / "home",
        root=tmp_path / "root",
        platform="linux",
        python=str(script(tmp_path / "no-playwright" / "python", "exit 1")),
        is_root=True,
    )


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def browser(path: Path, version: str = "140.0.7339.16") -> Path:
    return script(path, f"echo Chromium {version}")


def cached(machine: Machine, revision: int, layout: str = NEW_LAYOUT) -> Path:
    return machine.home / ".cache/ms-playwright" / f"chromium_headless_shell-{revision}" / layout


def command(machine: Machine, name: str) -> Path:
    return Path(machine.env["PATH"].split(":")[0]) / name


def test_an_empty_machine_names_the_command_to_run(machine: Machine) -> None:
    with pytest.raises(BrowserMissing) as refused:
        find(machine=machine)
    assert "\n  webgym browser install\n" in str(refused.value)
    assert "WEBGYM_CHROMIUM=" in str(refused.value)


def test_the_order_is_setting_environment_playwright_system_path_full(machine: Machine, tmp_path: Path) -> None:
    named = browser(tmp_path / "named" / "chromium", "1.0.0.1")
    machine = replace(
        machine,
        env={**machine.env, "WEBGYM_CHROMIUM": str(browser(tmp_path / "env" / "chromium", "1.0.0.2"))},
    )
    places = [
        cached(machine, 1200),
        machine.root / "usr/lib/chromium/chromium-headless-shell",
        command(machine, "chromium-headless-shell"),
        command(machine, "chrome-headless-shell"),
        machine.root / "usr/lib/chromium/chromium",
        command(machine, "chromium"),
        command(machine, "chromium-browser"),
        command(machine, "google-chrome-stable"),
        command(machine, "google-chrome"),
    ]
    for number, path in enumerate(places):
        browser(path, f"2.0.0.{number}")

    assert find(named, machine=machine).path == named
    assert find(machine=machine).version == "1.0.0.2"
    machine = replace(machine, env={**machine.env, "WEBGYM_CHROMIUM": ""})
    found = []
    for path in places:
        found.append(find(machine=machine).path)
        path.unlink()
    assert found == places


def test_the_newest_playwright_revision_wins_whatever_its_layout(machine: Machine) -> None:
    browser(cached(machine, 999, NEW_LAYOUT))
    newest = browser(cached(machine, 1200, OLD_LAYOUT))
    browser(cached(machine, 1100, NEW_LAYOUT))
    chosen = find(machine=machine)
    assert chosen.path == newest
    assert chosen.kind == "headless-shell"
    assert "leaner" in chosen.why


def test_a_broken_newest_revision_gives_way_to_an_older_one(machine: Machine) -> None:
    script(cached(machine, 1200), "exit 127")
    older = browser(cached(machine, 1100))
    assert find(machine=machine).path == older


@pytest.mark.parametrize(
    ("platform", "env", "folder"),
    [
        ("linux", {}, "home/.cache/ms-playwright"),
        ("linux", {"XDG_CACHE_HOME": "xdg"}, "xdg/ms-playwright"),
        ("linux", {"PLAYWRIGHT_BROWSERS_PATH": "mine"}, "mine"),
        ("linux", {"PLAYWRIGHT_BROWSERS_PATH": "0"}, "home/.cache/ms-playwright"),
        ("darwin", {}, "home/Library/Caches/ms-playwright"),
    ],
)
def test_playwright_s_cache_is_where_playwright_puts_it(
    machine: Machine, tmp_path: Path, platform: str, env: dict[str, str], folder: str
) -> None:
    env = {key: value if value == "0" else str(tmp_path / value) for key, value in env.items()}
    machine = replace(machine, platform=platform, env={**machine.env, **env})
    shell = browser(tmp_path / folder / "chromium_headless_shell-1" / NEW_LAYOUT)
    assert find(machine=machine).path == shell


def test_a_mac_s_applications_are_found(machine: Machine) -> None:
    chrome = browser(machine.root / "Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
    chosen = find(machine=replace(machine, platform="darwin"))
    assert (chosen.path, chosen.kind) == (chrome, "chrome")
    with pytest.raises(BrowserMissing):
        find(machine=machine)


@pytest.mark.parametrize("through", ["setting", "environment"])
@pytest.mark.parametrize("trouble", ["absent", "not executable", "exits with an error", "not a browser"])
def test_a_wrong_choice_is_refused_even_when_another_browser_is_there(
    machine: Machine, tmp_path: Path, through: str, trouble: str
) -> None:
    browser(cached(machine, 1200))
    choice = tmp_path / "choice"
    if trouble == "not executable":
        choice.write_text("")
    elif trouble == "exits with an error":
        script(choice, "exit 3")
    elif trouble == "not a browser":
        script(choice, "echo hello")
    if through == "environment":
        machine = replace(machine, env={**machine.env, "WEBGYM_CHROMIUM": str(choice)})
    with pytest.raises(ConfigError) as refused:
        find(choice if through == "setting" else None, machine=machine)
    assert str(choice) in str(refused.value)


def test_a_choice_may_be_a_name_on_path(machine: Machine) -> None:
    path = browser(command(machine, "google-chrome-beta"))
    chosen = find(Path("google-chrome-beta"), machine=machine)
    assert (chosen.path, chosen.kind) == (path, "chrome")


def test_ubuntu_s_snap_stub_is_skipped_with_a_reason(machine: Machine) -> None:
    stub = script(command(machine, "chromium-browser"), 'echo 1.2.3.4; exec /snap/bin/chromium "$@"')
    chrome = browser(command(machine, "google-chrome"))
    assert find(machine=machine).path == chrome
    seen = next(c for c in candidates(machine=machine) if c.path == stub)
    assert seen.chromium is None
    assert "snap" in (seen.problem or "")


def test_a_link_to_the_snap_launcher_is_skipped(machine: Machine, tmp_path: Path) -> None:
    launcher = browser(tmp_path / "launcher" / "snap")
    command(machine, "chromium").symlink_to(launcher)
    with pytest.raises(BrowserMissing, match="snap"):
        find(machine=machine)


def test_a_browser_that_never_answers_is_killed_with_its_children(machine: Machine, tmp_path: Path) -> None:
    child = tmp_path / "child"
    stuck = script(command(machine, "chromium"), f"sleep 300 & echo $! > {child}; wait")
    began = time.monotonic()
    with pytest.raises(BrowserMissing) as refused:
        find(machine=replace(machine, probe_seconds=0.5))
    assert time.monotonic() - began < 5
    assert str(stuck) in str(refused.value)
    pid = int(child.read_text())
    while running(pid):
        assert time.monotonic() - began < 10
        time.sleep(0.01)


def test_an_updated_browser_is_asked_for_its_version_again(machine: Machine) -> None:
    path = browser(command(machine, "chromium"), "1.0.0.1")
    assert find(machine=machine).version == "1.0.0.1"
    browser(path, "1.0.0.2")
    os.utime(path, (1, 1))
    assert find(machine=machine).version == "1.0.0.2"


def test_every_place_is_listed_whether_something_is_there_or_not(machine: Machine) -> None:
    browser(command(machine, "chromium"))
    broken = script(command(machine, "google-chrome"), "exit 127")
    seen = candidates(machine=machine)
    assert [c.place for c in seen if c.chromium] == ["chromium on PATH"]
    assert [c.path for c in seen if c.path and not c.chromium] == [broken]
    assert all(c.problem for c in seen if not c.chromium)
    assert len(seen) == 10


# A Python that has Playwright, whose download puts a browser in the cache.
DOWNLOADS = """
case "$*" in
  "-c import playwright") exit 0 ;;
  "-m playwright install --only-shell chromium")
    to=$PLAYWRIGHT_BROWSERS_PATH/chromium_headless_shell-7/chrome-linux
    mkdir -p "$to" && cp "$BROWSER" "$to/headless_shell" ;;
  "-m playwright install-deps chromium") touch "$LIBRARIES" ;;
  *) exit 9 ;;
esac
"""


def test_install_is_content_with_the_browser_that_is_there(machine: Machine) -> None:
    path = browser(command(machine, "chromium"))
    said: list[str] = []
    assert install(said.append, machine=machine).path == path
    assert len(said) == 1


def test_install_downloads_playwright_s_headless_shell(machine: Machine, tmp_path: Path) -> None:
    python = script(tmp_path / "python", DOWNLOADS)
    env = {**machine.env, "BROWSER": str(browser(tmp_path / "payload"))}
    chosen = install(lambda _: None, machine=replace(machine, python=str(python), env=env))
    assert chosen.path == cached(machine, 7, OLD_LAYOUT)


def test_install_brings_its_own_playwright_when_this_python_has_none(machine: Machine, tmp_path: Path) -> None:
    inner = script(tmp_path / "inner", DOWNLOADS.replace("*) exit 9", '"-m pip install -qq playwright") ;; *) exit 9'))
    outer = f'case "$*" in "-m venv "*) mkdir -p "$3/bin" && cp {inner} "$3/bin/python" ;; *) exit 1 ;; esac'
    python = script(tmp_path / "python", outer)
    env = {**machine.env, "BROWSER": str(browser(tmp_path / "payload"))}
    chosen = install(lambda _: None, machine=replace(machine, python=str(python), env=env))
    assert chosen.path == cached(machine, 7, OLD_LAYOUT)


def lacks_libraries(path: Path, libraries: Path) -> Path:
    return script(path, f"[ -e {libraries} ] || exit 127; echo Chromium 7.0.0.0")


def test_install_adds_the_libraries_that_a_download_misses(machine: Machine, tmp_path: Path) -> None:
    libraries = tmp_path / "libraries"
    payload = lacks_libraries(tmp_path / "payload", libraries)
    env = {**machine.env, "BROWSER": str(payload), "LIBRARIES": str(libraries)}
    python = script(tmp_path / "python", DOWNLOADS)
    assert install(lambda _: None, machine=replace(machine, python=str(python), env=env)).version == "7.0.0.0"


def test_without_root_the_missing_libraries_come_with_the_exact_command(machine: Machine, tmp_path: Path) -> None:
    payload = lacks_libraries(tmp_path / "payload", tmp_path / "never")
    python = script(tmp_path / "python", DOWNLOADS)
    machine = replace(machine, python=str(python), is_root=False, env={**machine.env, "BROWSER": str(payload)})
    with pytest.raises(BrowserMissing, match=f"sudo {python} -m playwright install-deps chromium"):
        install(lambda _: None, machine=machine)


def package_manager(machine: Machine, name: str, package: str) -> Path:
    """It knows one package, which puts a browser of that name on PATH, and notes what it was asked."""
    target = command(machine, package)
    body = f"""
    echo "$*" >> {command(machine, "log")}
    case "$* " in
      *" {package} "*) printf '#!/bin/sh\\necho 9.0.0.0\\n' > {target}; chmod +x {target} ;;
      "update ") ;;
      *) exit 100 ;;
    esac
    """
    return script(command(machine, name), body)


@pytest.mark.parametrize("package", ["chromium-headless-shell", "chromium"])
def test_a_refused_download_falls_back_to_debian_s_packages(machine: Machine, package: str) -> None:
    package_manager(machine, "apt-get", package)
    assert install(lambda _: None, machine=machine).path == command(machine, package)
    asked = command(machine, "log").read_text().splitlines()
    assert asked[0] == "update"
    assert "chromium-headless-shell" in asked[1]


@pytest.mark.parametrize("manager", ["dnf", "pacman", "apk", "brew"])
def test_other_package_managers_are_used_too(machine: Machine, manager: str) -> None:
    package_manager(machine, manager, "chromium")
    assert install(lambda _: None, machine=machine).path == command(machine, "chromium")


def test_sudo_is_used_only_when_it_asks_nothing(machine: Machine) -> None:
    machine = replace(machine, is_root=False)
    package_manager(machine, "apt-get", "chromium-headless-shell")
    sudo = script(command(machine, "sudo"), "exit 1")
    with pytest.raises(BrowserMissing, match=r"sudo apt-get update && sudo apt-get install .*chromium-headless-shell"):
        install(lambda _: None, machine=machine)
    assert not command(machine, "log").exists()
    script(sudo, '[ "$1" = -n ] && shift && exec "$@"')
    assert install(lambda _: None, machine=machine).path == command(machine, "chromium-headless-shell")


def test_with_no_way_left_the_exact_command_is_given(machine: Machine) -> None:
    expected = f"{machine.python} -m playwright install --with-deps --only-shell chromium"
    with pytest.raises(BrowserMissing, match=expected):
        install(lambda _: None, machine=machine)


def test_a_download_that_hangs_ends_at_its_deadline(machine: Machine, tmp_path: Path) -> None:
    python = script(tmp_path / "python", 'case "$*" in *install*) sleep 300 ;; esac')
    began = time.monotonic()
    said: list[str] = []
    with pytest.raises(BrowserMissing):
        install(said.append, machine=replace(machine, python=str(python), download_seconds=1.0))
    assert time.monotonic() - began < 10
    assert any("out of time" in line for line in said)


def test_the_commands_report_success_by_their_exit_status(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(machine=machine) == 1
    assert "webgym browser install" in capsys.readouterr().out
    assert run_install(machine=machine) == 1
    assert "-m playwright install --with-deps --only-shell chromium\n" in capsys.readouterr().out
    browser(command(machine, "chromium"))
    assert show(machine=machine) == 0
    assert "140.0.7339.16" in capsys.readouterr().out
    assert run_install(machine=machine) == 0
