# Two commands for a fresh machine: `make demo` and `make test`. Each sets up what it needs first.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP_QUIET := --quiet --disable-pip-version-check

.PHONY: demo test docs bench faults clean system fault-tools

demo: $(VENV)/.installed
	@$(BIN)/sfumato demo

test: system $(VENV)/.tested
	@$(BIN)/ruff check src papers tests bench examples docs/*.py conftest.py
	@$(BIN)/ruff format --check src papers tests bench examples docs/*.py conftest.py
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -n 4 -m "not slow" --durations=15

# The documents as a site: build/site/index.html, which opens from disk.
docs: $(VENV)/.documented
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/site/index.html"

# Every fault trial in its full form, one table at the end; what it needs beyond `make test` is installed for it alone.
faults: system fault-tools $(VENV)/.fuzzed
	@$(BIN)/python -m pytest -n 2 -m slow
	@$(BIN)/python tests/faults/run.py

bench: $(VENV)/.benched
	@for file in bench/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

# What `make test` needs of the system: a real browser and a real database, as Debian packages them.
system:
	@missing=""; command -v chromium >/dev/null || missing="chromium"; \
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$$missing postgresql"; \
	if [ -n "$$missing" ]; then \
	  echo "installing $$missing ..."; \
	  run=""; [ "$$(id -u)" = 0 ] || run="sudo"; \
	  $$run apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$run apt-get install -y -qq --no-install-recommends $$missing >/dev/null \
	    || { echo "could not install $$missing; on Debian or Ubuntu: apt-get install $$missing"; exit 1; }; \
	fi

# What some fault trials need besides; without it they are not run, and say so.
fault-tools:
	@missing=""; for each in strace faketime pgbouncer; do command -v $$each >/dev/null || missing="$$missing $$each"; done; \
	if [ -n "$$missing" ]; then \
	  echo "installing$$missing ..."; \
	  run=""; [ "$$(id -u)" = 0 ] || run="sudo"; \
	  $$run apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$run apt-get install -y -qq --no-install-recommends $$missing >/dev/null \
	    || echo "could not install$$missing: some trials are not run"; \
	fi

# One stamp a set of packages, made anew when what is asked for changes.
$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "sfumato needs Python 3.11 or later; say which with: make PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "could not make $(VENV); on Debian or Ubuntu: apt-get install python3-venv"; exit 1; }

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "setting up $(VENV) ..."
	@$(BIN)/python -m pip install $(PIP_QUIET) -c constraints.txt -e '.[demo]'
	@$(BIN)/python -m sfumato.aggregation.kernels
	@touch $@

$(VENV)/.tested: $(VENV)/.installed papers/pyproject.toml
	@$(BIN)/python -m pip install $(PIP_QUIET) -c constraints.txt -e '.[serve,train,report,postgres,test,scale,bench,docs]' -e papers
	@touch $@

$(VENV)/.fuzzed: $(VENV)/.tested
	@$(BIN)/python -m pip install $(PIP_QUIET) -c constraints.txt -e '.[fuzz]' -e papers
	@touch $@

$(VENV)/.documented: $(VENV)/bin/python pyproject.toml constraints.txt
	@$(BIN)/python -m pip install $(PIP_QUIET) -c constraints.txt 'mkdocs-material'
	@touch $@

$(VENV)/.benched: $(VENV)/.tested
	@$(BIN)/python -m pip install $(PIP_QUIET) -c constraints.txt -e '.[peers]' -e papers
	@touch $@

clean:
	rm -rf $(VENV) demo-out .mypy_cache .ruff_cache .pytest_cache .hypothesis
