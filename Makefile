# Two commands on a fresh machine: `make demo` and `make test`. Each sets up .venv as needed; either order works.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/pip --disable-pip-version-check
# Wheels only: a missing wheel is one sentence, never a compile.
INSTALL := $(PIP) install --quiet --only-binary :all:

.PHONY: demo test check bench format clean

demo: $(VENV)/.ready-demo
	$(VENV)/bin/paretoken optimize

test: $(VENV)/.ready-dev
	$(VENV)/bin/python -m pytest

check: $(VENV)/.ready-dev
	$(VENV)/bin/ruff format --check src tests benchmarks
	$(VENV)/bin/ruff check src tests benchmarks
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/python -m pytest tests/docs -p no:randomly

bench: $(VENV)/.ready-dev
	@echo "Each benchmark measures alone and takes minutes; nothing else should run on this machine."
	@for file in benchmarks/*.py; do echo "  $(VENV)/bin/python $$file   # $$(sed -n 's/^"""//p' $$file | head -1)"; done
	$(VENV)/bin/python benchmarks/aa.py

format: $(VENV)/.ready-dev
	$(VENV)/bin/ruff format src tests benchmarks
	$(VENV)/bin/ruff check --fix src tests benchmarks

clean:
	rm -rf $(VENV)

$(VENV)/.ready-demo: $(VENV)/bin/pip pyproject.toml
	@echo "Installing Paretoken with its embedded engine (about 480 MB) into $(VENV) ..."
	@$(INSTALL) --editable '.[local,report]' || { echo "The installation failed: pip's last lines above name the package; every dependency must have a wheel for this platform and Python." >&2; exit 1; }
	@touch $@

$(VENV)/.ready-dev: $(VENV)/bin/pip pyproject.toml
	@echo "Installing Paretoken with its engine and test tools into $(VENV) ..."
	@$(INSTALL) --editable '.[local,report,dev]' || { echo "The installation failed: pip's last lines above name the package; every dependency must have a wheel for this platform and Python." >&2; exit 1; }
	@touch $@ $(VENV)/.ready-demo

$(VENV)/bin/pip:
	@command -v $(PYTHON) >/dev/null || { echo "'$(PYTHON)' was not found; install Python 3.11 or newer, or name it: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "'$(PYTHON)' is older than 3.11; name a newer one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "'$(PYTHON)' lacks the module venv or ensurepip; on Debian and Ubuntu: apt-get install python3-venv python3-pip" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
