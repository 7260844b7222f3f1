# Two commands for a fresh machine: `make demo` and `make test`. Each sets up what it needs first.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP_QUIET := --quiet --disable-pip-version-check

# Tests start hundreds of processes: each loads compiled modules from disk and uses one thread.
unexport PYTHONDONTWRITEBYTECODE
test check: export OMP_NUM_THREADS = 1
test check: export OPENBLAS_NUM_THREADS = 1
test check: export POLARS_MAX_THREADS = 1

.PHONY: demo test check lint docs bench faults clean system fault-tools

demo: $(VENV)/.installed
	@$(BIN)/sfumato demo

# All tests except the slow ones. The tests of a file run in one process, so that shared fixtures are created once.
test: system $(VENV)/.tested lint
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow" --durations=15

# The tests that fail most often after a change, in at most three minutes on two cores: lint and types, contracts,
# snapshots, layers, names in the documentation, and the quick tests of every package. PostgreSQL, papers and tests in LONG
# are left out: tests that start browsers, many processes or clusters, train networks, or try long random sequences.
# `make test` runs them all.
check: $(VENV)/.tested lint
	@$(foreach path,$(LONG),$(if $(wildcard $(path)),,$(error LONG in the Makefile names $(path), which does not exist)))
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow" -k "not postgresql" tests $(LONG:%=--ignore=%)

LONG := $(addprefix tests/,badinput browser cli/demo faults golden test_docs.py test_extending.py \
  aggregation/test_ray_engine.py \
  $(addprefix cli/test_,evaluate.py foreign_votes.py plan_decision.py plan_labels.py plan_replay.py train.py) \
  contracts/test_networks.py elicitation/test_state_machine.py \
  $(addprefix evaluation/test_,bounds.py duplicates.py floors.py metrics.py) \
  planning/informativeness \
  $(addprefix planning/test_,adaptive_assignment.py replay.py adaptive_gain.py exchange_estimates.py form_comparison.py \
    on_cluster.py) \
  $(addprefix reporting/test_,charts.py disagreement.py in_browser.py model_sections.py report.py report_and_evaluate.py \
    sections_pages.py) \
  $(addprefix security/test_,connections.py files_from_others.py objects.py other_users.py paid_strangers.py races.py \
    schemathesis.py) \
  $(addprefix server/test_,dashboard.py dashboard_login.py simulated_checks.py) \
  store/test_queries.py $(addprefix tables/files/test_,npz.py table_file.py) \
  $(addprefix training/test_,networks.py ranks.py resumable_run.py robustness_runs.py worker_pool.py worker_pool_on_ray.py))

lint: $(VENV)/.tested
	@$(BIN)/ruff check src papers tests bench examples docs/*.py conftest.py
	@$(BIN)/ruff format --check src papers tests bench examples docs/*.py conftest.py
	@$(BIN)/mypy

# The documentation as a website that opens from disk: build/site/index.html.
docs: $(VENV)/.documented
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/site/index.html"

# All fault trials in full length, with one table at the end. Installs the tools that only these trials need.
faults: system fault-tools $(VENV)/.fuzzed
	@$(BIN)/python -m pytest -n 2 -m slow
	@$(BIN)/python tests/faults/run.py

bench: $(VENV)/.benched
	@for file in bench/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

# System packages for `make test`: a browser and a database, from Debian. The small Chromium, without windows, makes the
# tests cheaper where it can be installed.
system:
	@missing=""; command -v chromium >/dev/null || missing="chromium"; \
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$$missing postgresql"; \
	if [ -n "$$missing" ]; then \
	  echo "installing $$missing ..."; \
	  run=""; [ "$$(id -u)" = 0 ] || run="sudo"; \
	  $$run apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$run apt-get install -y -qq --no-install-recommends $$missing >/dev/null \
	    || { echo "could not install $$missing; on Debian or Ubuntu: apt-get install $$missing"; exit 1; }; \
	fi
	@command -v chromium-headless-shell >/dev/null || { \
	  run=""; [ "$$(id -u)" = 0 ] || run="sudo -n"; \
	  install="$$run apt-get install -y -qq --no-install-recommends chromium-headless-shell"; \
	  DEBIAN_FRONTEND=noninteractive $$install >/dev/null 2>&1 || { $$run apt-get update -qq && $$install; } >/dev/null 2>&1 || true; \
	}

# System packages that some fault trials need; without them these trials are skipped with a message.
fault-tools:
	@missing=""; for each in strace faketime pgbouncer; do command -v $$each >/dev/null || missing="$$missing $$each"; done; \
	if [ -n "$$missing" ]; then \
	  echo "installing$$missing ..."; \
	  run=""; [ "$$(id -u)" = 0 ] || run="sudo"; \
	  $$run apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$run apt-get install -y -qq --no-install-recommends $$missing >/dev/null \
	    || echo "could not install$$missing: some trials will be skipped"; \
	fi

# One stamp file per set of packages, updated when the requirements change.
$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "sfumato needs Python 3.11 or later; set the interpreter with: make PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "could not make $(VENV); on Debian or Ubuntu: apt-get install python3-venv"; exit 1; }

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "setting up $(VENV) ..."
	@$(BIN)/python -m pip install $(PIP_QUIET) -c constraints.txt -e '.[demo]'
	@$(BIN)/python -m sfumato.aggregation.kernels
	@touch $@

$(VENV)/.tested: $(VENV)/.installed papers/pyproject.toml
	@$(BIN)/python -m pip install $(PIP_QUIET) -c constraints.txt -e '.[serve,train,report,postgres,test,scale,bench,docs]' -e papers
	@$(BIN)/python -c "from sfumato.planning.informativeness import gnmds_kernels as gnmds; gnmds.evaluate.load(); gnmds.minimize.load()"
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
