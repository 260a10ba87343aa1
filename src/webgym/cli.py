"""`webgym <command>`. A command imports its stage when it runs: help is quick, and a broken part breaks only itself."""

from __future__ import annotations

import errno
import os
import select
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

EXIT_USAGE = 2
EXIT_UNREAD = 141  # as a shell tells of a program that wrote to a closed pipe
PARTED = ("tasks", "worlds", "judge", "env", "model")  # commands that are several: alone they say which


@dataclass(frozen=True)
class Command:
    help: str
    run: Callable[[list[str]], int]
    examples: str = ""


def _serve(arguments: list[str]) -> int:
    from webgym.config import load
    from webgym.server.settings import ServeSettings

    settings = load(ServeSettings, arguments, command="webgym serve")
    from webgym.server.serve import run

    return run(settings)


def _browser(arguments: list[str]) -> int:
    from webgym.errors import ConfigError
    from webgym.server import chromium, chromium_install

    if "--help" in arguments or "-h" in arguments:
        return 0  # there are no options beyond what `main` has said
    match arguments:
        case []:
            return chromium.show()
        case ["install"]:
            return chromium_install.run_install()
        case _:
            raise ConfigError("use `webgym browser` to see the choice, or `webgym browser install` to get one")


def _demo(arguments: list[str]) -> int:
    from webgym.config import load
    from webgym.demo import DemoSettings, run

    return run(load(DemoSettings, arguments, command="webgym demo"))


def _tasks(arguments: list[str]) -> int:
    from webgym.errors import ConfigError

    match arguments:
        case ["build", *rest]:
            from webgym.tasks.build import run_build

            return run_build(rest)
        case ["stats", *rest]:
            from webgym.tasks.commands import run_stats

            return run_stats(rest)
        case ["show", *rest]:
            from webgym.tasks.commands import run_show

            return run_show(rest)
        case ["validate", *rest]:
            from webgym.tasks.commands import run_validate

            return run_validate(rest)
        case ["probe", *rest]:
            from webgym.tasks.probe import run_probe
            from webgym.visiting import visiting

            return run_probe(rest, visiting)
        case [] | ["-h" | "--help"]:
            return 0
        case _:
            raise ConfigError(f"there is no `webgym tasks {arguments[0]}`: use build, stats, show, validate or probe")


def _rollout(arguments: list[str]) -> int:
    from webgym.config import load
    from webgym.rolling.settings import RolloutSettings

    settings = load(RolloutSettings, arguments, command="webgym rollout")
    from webgym.rolling.assembly import run

    return run(settings)


def _warm_up(arguments: list[str]) -> int:
    from webgym.config import load
    from webgym.demonstrating.settings import WarmUpSettings

    settings = load(WarmUpSettings, arguments, command="webgym warm-up")
    from webgym.demonstrating.commands import run_warm_up

    return run_warm_up(settings)


def _train(arguments: list[str]) -> int:
    if arguments[:1] == ["plot"]:
        from webgym.loop.commands import run_plot

        return run_plot(arguments[1:])
    from webgym.config import load
    from webgym.loop.settings import LoopSettings

    settings = load(LoopSettings, arguments, command="webgym train")
    from webgym.loop.commands import run_train

    return run_train(settings)


def _update(arguments: list[str]) -> int:
    from webgym.config import load
    from webgym.loop.settings import UpdateSettings

    settings = load(UpdateSettings, arguments, command="webgym update")
    from webgym.loop.commands import run_update

    return run_update(settings)


def _judge(arguments: list[str]) -> int:
    match arguments:
        case ["diff", *rest]:
            from webgym.judging.commands import run_diff

            return run_diff(rest)
        case ["bench", *rest]:
            return _judge_bench(rest)
        case ["import", *rest]:
            return _judge_import(rest)
        case []:
            return 0
        case _:
            from webgym.judging.commands import run_judge

            return run_judge(arguments)


def _judge_bench(arguments: list[str]) -> int:
    from webgym.config import load
    from webgym.judging.bench_settings import BenchSettings

    settings = load(BenchSettings, arguments, command="webgym judge bench")
    from webgym.judging.bench_command import run

    return run(settings)


def _judge_import(arguments: list[str]) -> int:
    from webgym.config import load
    from webgym.judging.bench_settings import ImportSettings

    settings = load(ImportSettings, arguments, command="webgym judge import")
    from webgym.judging.bench_command import run_import

    return run_import(settings)


def _audit(arguments: list[str]) -> int:
    from webgym.store.commands import run_audit

    return run_audit(arguments)


def _export(arguments: list[str]) -> int:
    from webgym.store.commands import run_export

    return run_export(arguments)


def _monitor(arguments: list[str]) -> int:
    from webgym.ui.commands import run_monitor

    return run_monitor(arguments)


def _worlds(arguments: list[str]) -> int:
    from webgym.errors import ConfigError

    match arguments:
        case ["serve", *rest]:
            from webgym.worlds.commands import run_serve

            return run_serve(rest)
        case ["tasks", *rest]:
            from webgym.tasks.files import task_writer
            from webgym.worlds.commands import run_tasks

            return run_tasks(rest, task_writer)
        case ["show", *rest]:
            from webgym.worlds.commands import run_show

            return run_show(rest)
        case ["add", *rest]:
            from webgym.worlds.commands import run_add

            return run_add(rest)
        case [] | ["-h" | "--help"]:
            return 0
        case _:
            raise ConfigError(f"there is no `webgym worlds {arguments[0]}`: use serve, tasks, show or add")


def _model(arguments: list[str]) -> int:
    from webgym.errors import ConfigError

    match arguments:
        case ["serve", *rest]:
            from webgym.train.serving.commands import run_serve

            return run_serve(rest)
        case [] | ["-h" | "--help"]:
            return 0
        case _:
            raise ConfigError(f"there is no `webgym model {arguments[0]}`: use serve")


def _env(arguments: list[str]) -> int:
    from webgym.errors import ConfigError

    match arguments:
        case ["make", name, *rest] if not name.startswith("-"):
            from webgym.train.environments import run_make

            return run_make(name, rest)
        case ["check", name, *rest] if not name.startswith("-"):
            from webgym.train.environment_checks import run_check

            return run_check(name, rest)
        case _ if not arguments or arguments[-1] in ("-h", "--help"):
            return 0
        case _:
            raise ConfigError("use `webgym env make NAME` or `webgym env check NAME`: serve, llamafactory or train")


COMMANDS: dict[str, Command] = {
    "demo": Command(
        "The whole training loop with a tiny model on the offline web, in real browsers, in minutes; no internet needed.",
        _demo,
        "webgym demo\nwebgym demo --folder runs/demo --iterations 6",
    ),
    "serve": Command(
        "The rollout server: leased browsers behind one HTTP call a step.",
        _serve,
        """\
        webgym serve --sessions 16
        webgym serve --config server.yaml --port 8000
        WEBGYM_API_KEY=... webgym serve --host 0.0.0.0 --relay
        webgym serve --egress.allow '*.localhost:8080'      # let pages reach a site of your own""",
    ),
    "tasks": Command(
        "The task set: build, stats, show, validate, probe.",
        _tasks,
        """\
        webgym tasks build --config configs/tasks.yaml --dry-run       # what it would cost
        webgym tasks build --config configs/tasks.yaml
        webgym tasks stats tasks.parquet --plot tasks.svg
        webgym tasks show tasks.parquet --band hard --limit 3
        webgym tasks validate tasks.parquet
        webgym tasks probe --tasks tasks.parquet --out health.jsonl    # which websites are up; needs `webgym serve`""",
    ),
    "rollout": Command(
        "Roll tasks out: an agent plays a planned iteration in many browsers at once; every episode is kept.",
        _rollout,
        """\
        webgym rollout --config configs/rollout.yaml                    # the offline web and its oracle: no model needed
        webgym rollout --config configs/rollout.yaml --resume           # after a crash, or SIGTERM
        webgym rollout --config configs/rollout-model.yaml --run runs/second --iteration 1""",
    ),
    "warm-up": Command(
        "Show a tiny model how it is done: demonstrations on the offline web, and a first training on them.",
        _warm_up,
        "webgym warm-up --config configs/proof-warm-up.yaml           # a model of a million weights, and tasks to practise",
    ),
    "train": Command(
        "The whole loop: rollout, judge, evaluate, replay, train, publish, and again; goes on where it was stopped.",
        _train,
        """\
        webgym train --config configs/proof.yaml                        # a tiny model on the offline web, on any machine
        webgym train --config configs/train-paper.yaml --dry-run        # what the paper's run would need
        webgym train plot runs/demo/loop                                # its learning curve, as SVG""",
    ),
    "update": Command(
        "Replay and train alone: one update of the model from the episodes and verdicts that a run has.",
        _update,
        "webgym update --run runs/first --checkpoint models/Qwen3-VL-8B-Instruct\n"
        "webgym update --run runs/first --checkpoint models/Qwen3-VL-8B-Instruct --iteration 3",
    ),
    "judge": Command(
        "Judge a run's episodes by their rubrics with a vision-language model; compare judges.",
        _judge,
        """\
        webgym judge runs/first --config configs/judge.yaml
        webgym judge runs/first --rubric.endpoint.url http://127.0.0.1:8000/v1 --rubric.endpoint.model Qwen3-VL-32B
        webgym judge runs/first --judge worlds                  # the offline web's own verifiers: no model
        webgym judge runs/first --config configs/judge.yaml --rubrics better.parquet
        webgym judge diff runs/first/verdicts/JUDGE runs/first/verdicts/OTHER
        webgym judge bench --config configs/judge.yaml          # how good it is: episodes whose truth is known
        webgym judge bench --judge worlds --episodes 50
        webgym judge import --format cua-verifier-bench --source CUAVerifierBench/ --run runs/people
        webgym judge bench --config configs/judge.yaml --labelled runs/people""",
    ),
    "audit": Command(
        "Whether a run's folder is whole: every planned episode accounted for, every file readable.",
        _audit,
        """\
        webgym audit runs/first
        webgym audit runs/first --finished      # the run is over: nothing may be missing
        webgym audit runs/first --repair        # clear what a crash left, set aside what is damaged""",
    ),
    "export": Command(
        "A run's episodes as JSON lines, with their images.",
        _export,
        "webgym export runs/first --out first/\nwebgym export runs/first --out test/ --split test",
    ),
    "monitor": Command(
        "A run's folder in the browser: its episodes as they end, and every step of each.",
        _monitor,
        "webgym monitor runs/first\nwebgym monitor runs/first --port 8765",
    ),
    "worlds": Command(
        "The offline web: websites and tasks that follow from a seed and need no internet.",
        _worlds,
        """\
        webgym worlds serve --port 8090 --seed 0
        webgym worlds show                                  # some sites of each kind
        webgym worlds tasks --out worlds/                   # the full set of tasks; --tasks 10000 for a small one
        webgym worlds add my-site ./folder                  # a site of your own beside them""",
    ),
    "model": Command(
        "A small model behind an OpenAI-compatible address: batching, images, token ids, hot swap of weights.",
        _model,
        """\
        webgym model serve runs/first/checkpoints/000003
        webgym model serve FOLDER --port 8000 --engine.rows 16
        WEBGYM_MODEL_KEY=... webgym model serve FOLDER --host 0.0.0.0""",
    ),
    "env": Command(
        "The environments of vLLM, LLaMA-Factory and the trainer: make one, or check that it does its work.",
        _env,
        """\
        webgym env make serve              # vLLM's CPU build in .venv-serve; --cuda for cards
        webgym env make llamafactory       # in .venv-llamafactory
        webgym env make train              # the train extra, where this command runs
        webgym env check serve             # starts it on a tiny model, asks, swaps weights, stops it""",
    ),
    "browser": Command(
        "Which Chromium is used and why; `webgym browser install` gets one.",
        _browser,
        "webgym browser\nwebgym browser install",
    ),
}


def _usage() -> str:
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:<{width}}  {command.help}" for name, command in COMMANDS.items())
    return (
        "WebGym: a training environment for visual web agents.\n\nusage: webgym <command> [options]\n\n"
        f"{listed}\n\n`webgym <command> --help` lists a command's options.\n"
    )


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if sys.stdout is None:  # closed by whoever started us: what we would say goes nowhere
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - as long as this process
    from webgym.errors import WebGymError

    called = f"webgym {arguments[0]}" if arguments and arguments[0] in COMMANDS else "webgym"
    try:
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except WebGymError as e:
        sys.stderr.write(f"{called}: {e}\n")
        return EXIT_USAGE
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        if not _nobody_reads():
            raise
        _write_no_more()
        return EXIT_UNREAD
    except OSError as e:
        # A file or folder that somebody named and the system refuses, or a full disk. Anything else is a fault of ours.
        if e.filename is None and e.errno != errno.ENOSPC:
            raise
        if e.filename is None:
            _write_no_more()
        sys.stderr.write(f"{called}: {'' if e.filename is None else f'{e.filename}: '}{e.strerror}\n")
        return EXIT_USAGE


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(_usage())
        return 0
    if arguments[0] == "--version":
        from webgym import __version__

        sys.stdout.write(f"webgym {__version__}\n")
        return 0
    name, rest = arguments[0], arguments[1:]
    command = COMMANDS.get(name)
    if command is None:
        sys.stderr.write(f"webgym: there is no command {name!r}.\n\n{_usage()}")
        return EXIT_USAGE
    if "--help" in rest or "-h" in rest or (name in PARTED and not rest):
        sys.stdout.write(f"{command.help}\n\nexamples:\n{_indented(command.examples)}\n\n")
    return command.run(rest)


def _write_no_more() -> None:
    """What is still to be written to stdout goes nowhere: Python would try once more on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _nobody_reads() -> bool:
    """Whether whoever read our stdout has had enough, as `head` has."""
    stdout = select.poll()
    stdout.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in stdout.poll(0))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in dedent(text).splitlines())


if __name__ == "__main__":
    sys.exit(main())
