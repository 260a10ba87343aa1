# The two commands a newcomer needs are `make test` and `make demo`; both set everything up first.
# Works with GNU make 3.81 (Mac) and newer. Needs Python 3.11 or newer with venv and pip, nothing else.

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
DEPS := $(VENV)/.deps-stamp
CHROMIUM := $(VENV)/.chromium-stamp

# Chromium's sandbox refuses to start for root, which is what containers and most CI machines run as. There, and only
# there, the sandbox is turned off; anyone else keeps it.
ifeq ($(shell id -u),0)
ifndef WEBGYM_NO_SANDBOX
export WEBGYM_NO_SANDBOX := 1
endif
endif

.DEFAULT_GOAL := help
.PHONY: help setup check fmt test demo bench-steps bench-marks bench-transports bench-tasks bench-rollout bench-worlds bench-judge bench-train proof env-train env-serve env-llamafactory test-stack test-slow faults soak lock clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(DEPS) $(CHROMIUM)  ## make .venv, install the package and a browser (quick the second time)

check: $(DEPS)  ## lint, formatting, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(DEPS)  ## repair formatting and what the linter can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Tests that drive browsers have the machine to themselves: they keep it busy, and some of them take the time.
WITH_BROWSERS := tests/browser tests/faults
test: setup  ## the whole test suite but for the tests that take minutes
	$(BIN)/pytest -m "not slow" -n 2 --dist worksteal $(addprefix --ignore=,$(WITH_BROWSERS))
	$(BIN)/pytest -m "not slow" $(WITH_BROWSERS)

demo: setup  ## the whole training loop with a tiny model, in real browsers, in minutes
	$(BIN)/webgym demo

bench-steps: setup  ## measure steps per second
	$(BIN)/python -m benchmarks.steps

bench-marks: setup  ## measure what Set-of-Marks cost
	$(BIN)/python -m benchmarks.marks

bench-transports: setup  ## measure what speaks to Chromium against cdp-use
	$(BIN)/python -m benchmarks.transports

bench-tasks: setup  ## measure decomposition, split, dedupe and writing of 300,000 tasks
	$(BIN)/python -m benchmarks.tasks

bench-rollout: setup  ## measure rollouts: three schedules, the engine's own cost, its memory
	$(BIN)/python -m benchmarks.rollout

bench-worlds: setup  ## measure the offline web: the full set, rendering, its share of the processor
	$(BIN)/python -m benchmarks.worlds

bench-judge: setup  ## measure the judge: calls and image tokens against the naive order
	$(BIN)/python -m benchmarks.judge

proof: setup  ## prove that the loop teaches: a tiny model, three seeds, real browsers, unseen websites (hours)
	$(BIN)/python -m benchmarks.proof --ablations

bench-train: setup  ## measure training: the native backend against a plain Trainer, and the way to new weights
	$(BIN)/python -m benchmarks.train

test-stack: setup  ## two iterations of the loop through real vLLM and LLaMA-Factory; makes their environments (6 GB, minutes)
	$(BIN)/webgym env make serve
	$(BIN)/webgym env make llamafactory
	$(BIN)/pytest tests/stack -m slow -s

test-slow: setup  ## every slow test but those of test-stack; what needs vLLM or LLaMA-Factory is skipped without them (an hour)
	$(BIN)/pytest -m slow --ignore tests/stack

env-train: setup  ## make and check the environment of the native trainer and the embedded server (.venv)
	$(BIN)/webgym env make train
	$(BIN)/webgym env check train

env-serve: setup  ## make and check the environment of vLLM (.venv-serve)
	$(BIN)/webgym env make train
	$(BIN)/webgym env make serve
	$(BIN)/webgym env check serve

env-llamafactory: setup  ## make and check the environment of LLaMA-Factory (.venv-llamafactory)
	$(BIN)/webgym env make train
	$(BIN)/webgym env make llamafactory
	$(BIN)/webgym env check llamafactory

faults: setup  ## kill, freeze, starve and flood it; the slow ones too
	$(BIN)/pytest tests/faults

soak: setup  ## ten minutes of load; memory, handles and processes must stay flat
	$(BIN)/python -m tests.soak

clean:  ## remove every environment and cache
	rm -rf $(VENV) .venv-serve .venv-llamafactory .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Sets $$python to the first Python that starts, is new enough and can make a venv. A name on PATH proves nothing (a
# version manager leaves launchers for versions that are not active), so each one is run.
define find_python
python= ; bare= ; \
for name in $(PYTHON) python3.13 python3.12 python3.11 python3; do \
  "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue; \
  if "$$name" -c 'import ensurepip, venv' >/dev/null 2>&1; then python=$$name; break; fi; \
  bare=$${bare:-$$name}; \
done
endef

# Debian and Ubuntu ship Python without venv. Root gets it installed, anyone else is told how.
define get_python
$(find_python); \
if [ -z "$$python" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
  echo "Python's venv is missing: installing python3-venv"; \
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3 python3-venv >/dev/null; \
  $(find_python); \
fi; \
if [ -z "$$python" ]; then \
  if [ -n "$$bare" ]; then \
    echo "$$("$$bare" --version) has no venv. Install it and run make again:" >&2; \
    echo "  Debian, Ubuntu:  sudo apt-get install -y $$("$$bare" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')" >&2; \
  else \
    echo "WebGym needs Python 3.11 or newer; found: $$(python3 --version 2>&1 || echo none). Install one and run make again:" >&2; \
    echo "  Debian 12, Ubuntu 24.04 and newer:  sudo apt-get install -y python3 python3-venv" >&2; \
    echo "  Mac:                                brew install python@3.12" >&2; \
    echo "  elsewhere:                          make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; \
  fi; \
  exit 1; \
fi
endef

$(DEPS): pyproject.toml constraints.txt
	@if ! $(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	  $(get_python); \
	  echo "Making $(VENV) with $$("$$python" --version)"; \
	  "$$python" -m venv --clear $(VENV); \
	fi
	@echo "Installing torch, the package and its tools (some 2 GB the first time, more with CUDA: this takes minutes)"
	@# torch first, so that nothing else chooses its build; torchvision without asking for one of its own (train/shim.py).
	@$(PIP) install -c constraints.txt torch
	@$(PIP) install -c constraints.txt --no-deps torchvision
	@$(PIP) install -c constraints.txt -e '.[dev,train]'
	@touch $@

$(CHROMIUM): $(DEPS)
	@$(BIN)/webgym browser install
	@touch $@

# Only `name==version` lines: no path, address or package of one machine may enter the file.
lock:  ## make constraints.txt anew from the newest versions that pyproject.toml allows
	@set -e; $(get_python); \
	fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; \
	echo "Resolving in a fresh venv"; \
	"$$python" -m venv "$$fresh"; \
	torch=$$(grep '^torch==' constraints.txt); torchvision=$$(grep '^torchvision==' constraints.txt); \
	"$$fresh/bin/python" -m pip --disable-pip-version-check -qq install "$$torch"; \
	"$$fresh/bin/python" -m pip --disable-pip-version-check -qq install --no-deps "$$torchvision"; \
	"$$fresh/bin/python" -m pip --disable-pip-version-check -qq install -e '.[dev,train]'; \
	"$$fresh/bin/python" -m pip freeze --exclude-editable | sed 's/+cpu$$//' > "$$fresh/all"; \
	{ echo "# Every package of '.[dev,train]', pinned. Made by \`make lock\`; do not edit."; \
	  grep -E '^[A-Za-z0-9._-]+==[A-Za-z0-9.]+$$' "$$fresh/all"; } > "$$fresh/constraints"; \
	if grep -vE '^[A-Za-z0-9._-]+==[A-Za-z0-9.]+$$' "$$fresh/all"; then \
	  echo "The lines above are not plain pins; constraints.txt is left as it was." >&2; exit 1; \
	fi; \
	cp "$$fresh/constraints" constraints.txt; \
	echo "constraints.txt: $$(grep -c == constraints.txt) packages"
