# Each target does its own set-up: on a fresh clone `make check` is the one command.
#
#   make check PYTHON=/path/to/python3.13    another interpreter for a new .venv
#   make test ARGS="-k softmax -x"           arguments for pytest
#   make test JOBS=0                         without worker processes
#   make test CONSTRAINTS=/dev/null          with the newest dependencies, in a new .venv
#   make setup EXTRAS=test,torch             with PyTorch at once, in a new .venv
#   make setup INSTALL='.venv/bin/python .ci/install.py'    by uv, a fifth of pip's time

VENV := .venv
BIN := $(VENV)/bin
PACKAGES := egraph extract lower backends rewrite rules
CODE := $(PACKAGES) tests bench examples .ci
JOBS ?= auto
CONSTRAINTS ?= .ci/constraints.txt
EXTRAS ?= test
ARGS ?=
INSTALL ?= $(BIN)/python -m pip install -q --disable-pip-version-check

# Tests start a hundred processes: each would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup test long torch with-torch check static fmt format lint types demo \
    e2e wheel FORCE
.DELETE_ON_ERROR:

help:  ## this list
	@sed -n 's/^\([a-z0-9]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(VENV)/linked  ## the environment in .venv; all other targets call it

test: setup  ## all tests, a share of the cases (15 to 30 minutes on two cores)
	@$(if $(ARGS),,rm -f $(VENV)/passed)
	@$(fingerprint) > $(VENV)/passing
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)
	@$(if $(ARGS),,mv $(VENV)/passing $(VENV)/passed)

long: export REWRITE_TESTS := long
long: setup  ## all tests, with each case and each draw (35 to 70 minutes on two cores)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

torch: with-torch  ## tests of the PyTorch backend; installs torch first (5 GB)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests/torch

with-torch: setup
	@$(BIN)/python -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("torch"))' \
	    || $(BIN)/python -m pip install -q --disable-pip-version-check --no-compile \
	    --no-build-isolation --config-settings editable_mode=strict \
	    -c $(CONSTRAINTS) -e '.[torch]'

check: static  ## what decides: format, lint, types, tests
	@$(fingerprint) | cmp -s - $(VENV)/passed \
	    && echo "tests: these very files have passed" || $(MAKE) --no-print-directory test

static: format lint types

format: setup
	$(BIN)/ruff format --check $(CODE)

lint: setup
	$(BIN)/ruff check $(CODE)

types: setup
	$(BIN)/pyright

fmt: setup  ## formats, and mends what ruff can mend
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

demo: setup  ## a small model, before and after
	$(BIN)/rewrite demo $(ARGS)

e2e: setup  ## array code in, kernels on c, error and time beside NumPy
	$(BIN)/python bench/e2e.py

wheel: setup  ## the wheel in a fresh environment, run from elsewhere
	@$(BIN)/python .ci/wheel.py

# ---- set-up -----------------------------------------------------------------------------

# The first Python >= 3.12 that runs and can make environments: PYTHON, the versioned
# names on PATH, python3, the newest that pyenv holds.
define find_python
for p in "$(PYTHON)" python3.14 python3.13 python3.12 python3 \
    $$(ls -d "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.*/bin/python3 2>/dev/null | sort -rV); \
do "$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))' \
    >/dev/null 2>&1 && python="$$p" && break; done; \
test -n "$$python" || { echo "No Python >= 3.12 was found: install one (and, on Debian," \
    "python3-venv), or name it: make PYTHON=/path/to/python3.12" >&2; exit 1; }
endef

# One line for the contents of everything that a test can see.
define fingerprint
find $(CODE) docs pyproject.toml README.md -type f -not -path '*/__pycache__/*' \
    2>/dev/null | LC_ALL=C sort | tr '\n' '\0' | xargs -0 sha256sum | sha256sum
endef

$(VENV)/bin/python:
	@$(find_python); echo "making $(VENV) with $$("$$python" --version)"; \
	    "$$python" -m venv $(VENV)

$(VENV)/installed: pyproject.toml $(CONSTRAINTS) | $(VENV)/bin/python
	@echo "installing dependencies into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check 'setuptools>=77' \
	    && $(INSTALL) --config-settings editable_mode=strict -c $(CONSTRAINTS) \
	    -e '.[$(EXTRAS)]' || { \
	    echo "The dependencies of '.[$(EXTRAS)]' (pyproject.toml) could not be installed." \
	    "They come from a Python package index: check the network, or point pip at a" \
	    "mirror (PIP_INDEX_URL) or a folder of wheels (PIP_FIND_LINKS), and run make" \
	    "again." >&2; exit 1; }
	@touch $@

# Python reads the checkout itself (a .pth file), so a new file is there at once.  The
# strict editable install is a tree of links, which type checkers understand; it is made
# again when a file comes or goes.
define checkout
import os, pathlib, sysconfig as s; \
pathlib.Path(s.get_path("purelib"), "0-checkout.pth").write_text(os.getcwd() + "\n")
endef

$(VENV)/files: FORCE | $(VENV)/bin/python
	@find $(PACKAGES) -name '*.py' -o -name '*.egg' -o -name py.typed \
	    -o -path '*/report/explain.*' | LC_ALL=C sort > $@.new
	@cmp -s $@.new $@ || cp $@.new $@

$(VENV)/linked: $(VENV)/installed $(VENV)/files
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps \
	    --no-build-isolation --config-settings editable_mode=strict -e .
	@$(BIN)/python -c '$(checkout)'
	@touch $@
