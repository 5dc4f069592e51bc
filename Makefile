# Every target works from a fresh checkout: whatever needs the environment makes it first.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash
PY := .venv/bin/python

# The environment: requirements-dev.lock (CPU and development tools) unless told otherwise,
# e.g. `make env LOCK=requirements-gpu.lock`.
LOCK ?= requirements-dev.lock
STAMP := .venv/.installed-$(LOCK)
# The service starts with what is there, unless LOCK says otherwise: a plain `make run` must not take CUDA away again.
THERE := $(if $(filter file,$(origin LOCK)),$(firstword $(wildcard .venv/.installed-requirements*.lock)))

# What is imported is compiled once and kept, also where the machine says otherwise: without it every trainer
# compiles TensorFlow anew, 10 s each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## this list
	@echo 'Downshift: Object Detection API training for a shared GPU box'
	@echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s  %s\n", $$1, $$2}'

.PHONY: env
env: $(STAMP) ## create or update .venv; LOCK=requirements.lock or requirements-gpu.lock for other variants

.venv/.installed-%: % requirements-bootstrap.lock
	@scripts/make-env '$*' '$@'

# exec: so that a `kill` of what make started reaches the service itself.
.PHONY: run
run: $(or $(THERE),$(STAMP)) ## start the service and stay; settings are DOWNSHIFT_… variables
	@exec $(PY) -m launcher run

.PHONY: demo
demo: $(or $(THERE),$(STAMP)) ## a job that is too large for its device trains to its end by itself; KEEP=1 leaves the service up
	@exec $(PY) -m launcher demo $(if $(KEEP),--keep)

.PHONY: check
check: $(STAMP) ## style, types, who may import whom, the container files
	@echo '== ruff check' && $(PY) -m ruff check .
	@echo '== ruff format' && $(PY) -m ruff format --check .
	@echo '== mypy' && $(PY) -m mypy
	@echo '== import layers' && $(PY) -c 'from importlinter.cli import lint_imports_command as run; run()' --no-logo
	@echo '== oxlint' && .venv/bin/oxlint --deny-warnings api/dashboard/static/js
	@echo '== oxfmt' && .venv/bin/oxfmt --check api/dashboard/static/js
	@echo '== line length' && ! LC_ALL=C.UTF-8 grep -rnE '.{121}' api/dashboard/static/js api/dashboard/static/css
	@echo '== Dockerfile' && .venv/bin/hadolint Dockerfile
	@echo '== docker-compose.yml' && $(PY) -m check_jsonschema --builtin-schema vendor.compose-spec docker-compose.yml

.PHONY: test
test: check ## check, and every test that takes seconds; ARGS='-k name' is handed to pytest
	@scripts/find-chromium --install >/dev/null || [ "$$CI" != true ]
ifdef ARGS
	$(PY) -m pytest $(ARGS)
else
	@$(MAKE) --no-print-directory --jobs=2 --keep-going test-trainings test-others
	@echo 'both halves passed'
endif

# Side by side: a trainer imports and traces on one core for most of its time, and the other tests fill a second one.
# Each line says whose it is. Ctrl-C is for pytest alone, so that it can still say how far it came.
labelled = set -o pipefail; $(PY) -m pytest $(2) 2>&1 | (trap '' INT; exec sed -u 's/^/$(1) | /')

.PHONY: test-trainings test-others
test-trainings: $(STAMP)
	@$(call labelled,trainings,-m 'tensorflow and not slow')
test-others: $(STAMP)
	@$(call labelled,others   ,-m 'not tensorflow and not slow')

# The inner loop: what needs neither TensorFlow, a browser, PostgreSQL nor other processes. Fewer examples a property.
FAST := tests/domain tests/services tests/store tests/tooling/test_one_writer.py tests/tooling/test_docs.py
.PHONY: test-fast test-fast-domain test-fast-others
test-fast: $(STAMP) ## ruff, and the tests of domain, services and store on SQLite: for the inner loop
	@$(PY) -m ruff check . && $(PY) -m ruff format --check --quiet .
	@$(MAKE) --no-print-directory --jobs=2 --keep-going test-fast-domain test-fast-others
test-fast-domain: $(STAMP)
	@$(call labelled,domain,--quiet tests/domain --hypothesis-profile=few-examples)
test-fast-others: $(STAMP)
	@$(call labelled,others,--quiet $(filter-out tests/domain,$(FAST)) -m 'not tensorflow and not slow' \
		-k 'not postgresql' --hypothesis-profile=few-examples)

.PHONY: test-slow
test-slow: $(STAMP) ## the tests that take minutes each
	$(PY) -m pytest -m slow $(ARGS)

.PHONY: faults
faults: $(STAMP) ## faults at random, N trials on each database (N=150 takes about an hour); SEED=7 begins elsewhere
	FAULTS=$(or $(N),100) FAULTS_SEED=$(or $(SEED),1) $(PY) -m pytest tests/faults/test_chaos.py $(ARGS)

.PHONY: format
format: $(STAMP) ## rewrite the sources in the agreed style
	$(PY) -m ruff check --fix . && $(PY) -m ruff format .
	.venv/bin/oxlint --fix api/dashboard/static/js && .venv/bin/oxfmt api/dashboard/static/js

# Versions already in a lock file are kept; UPGRADE=1 takes the newest that fit. Order matters: the first decides.
COMPILE = $(PY) -m uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)

.PHONY: lock
lock: $(STAMP) ## resolve the dependencies of pyproject.toml into the lock files; UPGRADE=1 for newer versions
	$(COMPILE) --override overrides.txt -o requirements.lock pyproject.toml
	$(COMPILE) --override overrides.txt -c requirements.lock --extra dev -o requirements-dev.lock pyproject.toml
	$(COMPILE) --override overrides.txt -c requirements.lock --extra gpu -o requirements-gpu.lock pyproject.toml
	$(COMPILE) --override overrides-api.txt -c requirements.lock --group api -o requirements-api.lock
	$(COMPILE) -c requirements.lock --group bootstrap -o requirements-bootstrap.lock

.PHONY: clean
clean: ## remove the environment and all caches; var/ (your data) stays
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
