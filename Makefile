# Every target works in a fresh checkout: targets that need the environment create it first.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash
PY := .venv/bin/python

# The lock file of the environment. The default has the development tools, and CUDA where there is an NVIDIA driver.
NVIDIA ?= $(wildcard /proc/driver/nvidia/version /usr/lib/wsl/lib/libnvidia-ml.so.1)
LOCK ?= $(if $(NVIDIA),requirements-gpu-dev.lock,requirements-dev.lock)
STAMP := .venv/.installed-$(LOCK)
# `run` and `demo` use the environment that exists unless LOCK is given: a plain `make run` must not remove what was
# asked for. On a GPU box, one without CUDA does not count.
EXISTING := $(if $(filter file,$(origin LOCK)),$(firstword $(wildcard \
	.venv/.installed-requirements-gpu*.lock $(if $(NVIDIA),,.venv/.installed-requirements*.lock))))
ifneq ($(NVIDIA),)
ifeq ($(origin LOCK),file)
$(info an NVIDIA driver was found: CUDA is installed too ($(LOCK)); LOCK=requirements-dev.lock leaves it out)
endif
endif

# Keep compiled bytecode even if the caller's environment turns it off: without it every trainer compiles TensorFlow
# again, 10 s each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## show this list
	@echo 'Downshift: Object Detection API training for a shared GPU box'
	@echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s  %s\n", $$1, $$2}'

.PHONY: env
env: $(STAMP) ## create or update .venv; LOCK=requirements.lock or requirements-gpu.lock for other variants

.venv/.installed-%: % requirements-bootstrap.lock
	@scripts/make-env '$*' '$@'

# exec: a `kill` of the process that make started must reach the service.
.PHONY: run
run: $(or $(EXISTING),$(STAMP)) ## run the service until Ctrl-C; settings are DOWNSHIFT_… variables
	@exec $(PY) -m launcher run

.PHONY: demo
demo: $(or $(EXISTING),$(STAMP)) ## train a job that is too large for its device, without help; KEEP=1 keeps the service running
	@exec $(PY) -m launcher demo $(if $(KEEP),--keep)

.PHONY: gpu-check
gpu-check: $(or $(EXISTING),$(STAMP)) ## try every card of this box, in minutes; writes gpu-check.tar.gz for a bug report
	@exec $(PY) -m launcher gpu-check

.PHONY: check
check: $(STAMP) ## check style, types, allowed imports and the container files
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
test: check ## run check and every test that takes seconds; ARGS='-k name' is passed to pytest
	@scripts/find-chromium --install >/dev/null || [ "$$CI" != true ]
ifdef ARGS
	$(PY) -m pytest $(ARGS)
else
	@$(MAKE) --no-print-directory --jobs=3 --keep-going test-trainings test-processes test-others
	@echo 'all parts passed'
endif

# All at once: a trainer imports and traces on one core for most of its time, and tests of whole processes wait for most
# of theirs. The trainings take longest, so the others leave the processor to them. Trainings in two parts were slower.
# Each line is prefixed with its part. sed ignores Ctrl-C, so that pytest can still print its summary.
labelled = set -o pipefail; $(PY) -m pytest $(2) 2>&1 | (trap '' INT; exec sed -u 's/^/$(1) | /')

PROCESSES := tests/browser tests/e2e tests/faults tests/launcher
.PHONY: test-trainings test-processes test-others
test-trainings: $(STAMP)
	@$(call labelled,trainings,-m 'tensorflow and not slow')
test-processes: $(STAMP)
	@$(call labelled,processes,-m 'not tensorflow and not slow' $(PROCESSES))
test-others: $(STAMP)
	@renice -n 5 $$$$ >/dev/null; $(call labelled,others   ,-m 'not tensorflow and not slow' $(PROCESSES:%=--ignore=%))

# The inner loop: no TensorFlow, browser or PostgreSQL, and fewer examples of each property. tests/api, worker, launcher,
# e2e, faults and trainer are left out, and so is what is marked lengthy. In two parts, one for each core.
FAST := --quiet -m 'not tensorflow and not slow and not lengthy' -k 'not postgresql' --hypothesis-profile=few-examples
.PHONY: test-fast test-fast-domain test-fast-services
test-fast: $(STAMP) ## ruff, and the quick tests of domain, store and services on SQLite: about a minute
	@$(PY) -m ruff check . && $(PY) -m ruff format --check --quiet .
	@$(MAKE) --no-print-directory --jobs=2 --keep-going test-fast-domain test-fast-services
test-fast-domain: $(STAMP)
	@$(call labelled,domain  ,$(FAST) tests/domain tests/store tests/tooling/test_one_writer.py tests/tooling/test_docs.py \
		tests/tooling/test_words.py)
test-fast-services: $(STAMP)
	@$(call labelled,services,$(FAST) tests/services)

.PHONY: test-slow
test-slow: $(STAMP) ## run the tests that take minutes each
	$(PY) -m pytest -m slow $(ARGS)

.PHONY: faults
faults: $(STAMP) ## inject random faults, N trials on each database (N=150 takes about an hour); SEED=7 gives others
	FAULTS=$(or $(N),100) FAULTS_SEED=$(or $(SEED),1) $(PY) -m pytest tests/faults/test_chaos.py $(ARGS)

.PHONY: format
format: $(STAMP) ## format the sources
	$(PY) -m ruff check --fix . && $(PY) -m ruff format .
	.venv/bin/oxlint --fix api/dashboard/static/js && .venv/bin/oxfmt api/dashboard/static/js

# Keeps the versions that a lock file has; UPGRADE=1 takes the newest allowed ones. The first lock constrains the others.
COMPILE = $(PY) -m uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)

.PHONY: lock
lock: $(STAMP) ## resolve the dependencies of pyproject.toml into the lock files; UPGRADE=1 for newer versions
	$(COMPILE) --override overrides.txt -o requirements.lock pyproject.toml
	$(COMPILE) --override overrides.txt -c requirements.lock --extra dev -o requirements-dev.lock pyproject.toml
	$(COMPILE) --override overrides.txt -c requirements.lock --extra gpu -o requirements-gpu.lock pyproject.toml
	$(COMPILE) --override overrides.txt -c requirements-dev.lock -c requirements-gpu.lock --extra dev --extra gpu \
		-o requirements-gpu-dev.lock pyproject.toml
	$(COMPILE) --override overrides-api.txt -c requirements.lock --group api -o requirements-api.lock
	$(COMPILE) -c requirements.lock --group bootstrap -o requirements-bootstrap.lock

.PHONY: clean
clean: ## remove the environment and all caches; var/ (your data) stays
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
