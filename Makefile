# ShoppingX. The two that matter first:  make demo   make test
# Everything needs Python 3.11+ and make; nothing else has to be installed by hand.

SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
UV_VERSION := uv>=0.13,<0.14
LOCK := requirements.lock
PACKAGES := $(wildcard libs/*/pyproject.toml services/*/pyproject.toml)
PACKAGE_DIRECTORIES := $(patsubst %/pyproject.toml,%,$(PACKAGES))
INSTALLED := $(VENV)/.installed-from-lock
IMAGE_FOLDERS := $(wildcard services/*) libs/offline_model
CODE := libs services tests bench deploy

# The token's owner:  make token TENANT=acme TOKEN_USER=alice
TENANT := local
TOKEN_USER := me

# Where the demo is told: `local` starts everything for it, `compose` uses the containers of `make up`.
TARGET := local

.PHONY: help setup lock lock-parts demo run chat usage token up down check-invariants replay check format contracts metrics providers \
  bench-cache bench-overhead bench-streams eval-memory eval-skills chaos clean \
  test test-services test-containers test-compose

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) ## Make the environment in .venv from the hashed lock; instant when nothing changed

# A name alone says little (a version manager's shim may point nowhere), so every candidate is asked to run.
$(VENV)/bin/python:
	@for candidate in python3.13 python3.12 python3.11 python3; do \
	  if $$candidate -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    echo "Using $$($$candidate -V)"; exec $$candidate -m venv $(VENV); \
	  fi; \
	done; echo "Python 3.11 or newer (with ensurepip) was not found" >&2; exit 1

# uv's own version range is also in requirements-dev.in; the lock then brings the exact one.
$(INSTALLED): $(LOCK) $(PACKAGES) | $(VENV)/bin/python
	@test -x $(UV) || $(BIN)/python -m pip install --quiet --disable-pip-version-check '$(UV_VERSION)'
	$(UV) pip sync --quiet --require-hashes --python $(BIN)/python $(LOCK)
	$(UV) pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python $(addprefix -e ./,$(PACKAGE_DIRECTORIES))
	@touch $@

COMPILE = $(UV) pip compile --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-emit-find-links --no-header --quiet \
  $(addprefix --no-emit-package shoppingx-,$(subst _,-,$(notdir $(PACKAGE_DIRECTORIES))))

lock: $(INSTALLED) ## Resolve the dependencies again into the locks (for Python 3.11 and newer)
	$(COMPILE) $(PACKAGES) requirements-dev.in --output-file $(LOCK)
	$(MAKE) --no-print-directory lock-parts

# The parts of requirements.lock that an image or an environment of a single service needs.
lock-parts: $(INSTALLED) ## Cut the locks of the single services out of requirements.lock
	for folder in $(IMAGE_FOLDERS); do \
	  $(COMPILE) $$folder/pyproject.toml --constraint $(LOCK) --no-annotate --output-file $$folder/requirements.lock || exit 1; \
	done
	$(COMPILE) deploy/images/build-tools.in --constraint $(LOCK) --no-annotate --output-file deploy/images/build-tools.lock
	$(COMPILE) tests/requirements.in --constraint $(LOCK) --no-annotate --output-file tests/requirements.lock

demo: setup ## Tell the story, on fresh data or with TARGET=compose; exit code 0 when every claim is true
	$(BIN)/python -m devstack demo --target $(TARGET)

run: setup ## Start everything and stay up; prints the addresses and a token
	$(BIN)/python -m devstack run

chat: setup ## Talk to it in the terminal (joins a running stack, or starts one)
	$(BIN)/python -m devstack chat

usage: setup ## A session's model calls and cache rates (SESSION=..., else the newest of TENANT=..., TOKEN_USER=...)
	@$(BIN)/python -m devstack usage --tenant $(TENANT) --user $(TOKEN_USER) --session '$(SESSION)'

token: setup ## Print a bearer token (TENANT=..., TOKEN_USER=...)
	@$(BIN)/python -m devstack token --tenant $(TENANT) --user $(TOKEN_USER)

up: setup ## Build the images and start docker-compose.yml with development secrets (needs a Docker engine)
	$(BIN)/python -m devstack up

down: setup ## Stop and remove those containers; VOLUMES=--volumes removes their data too
	$(BIN)/python -m devstack down $(VOLUMES)

check-invariants: setup ## Ask the database of the running stack whether it breaks a promise
	$(BIN)/python -m devstack memory check-invariants

replay: setup ## Replay finished turns of the running stack: ARGS="start --tenant local --user me --dry-run"
	$(BIN)/python -m devstack memory replay $(if $(ARGS),$(ARGS),list)

check: setup ## Lint, format, types, and the borders between the packages
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy $(addsuffix /src,$(PACKAGE_DIRECTORIES)) tests bench
	$(BIN)/lint-imports

format: setup ## Format the code and sort imports
	$(BIN)/ruff check --select I --fix --quiet $(CODE)
	$(BIN)/ruff format $(CODE)

metrics: setup ## Write docs/metrics.md anew from the table in the code
	$(BIN)/python -m common.telemetry >docs/metrics.md

providers: setup ## Write docs/providers.md anew from the profiles in the code
	$(BIN)/python -m model_client >docs/providers.md

contracts: setup ## Write docs/api anew, and a golden file for every event whose shape has changed
	$(BIN)/python -m gateway openapi >docs/api/gateway.openapi.json
	$(BIN)/python -m memory openapi >docs/api/memory.openapi.json
	$(BIN)/python -m common.streams >docs/api/events.asyncapi.json
	$(BIN)/python -m tests.support.released_shapes

# Each worker has servers of its own. Given ones (TEST_DATABASE_URL, TEST_REDIS_URL) serve one worker: tests empty Redis.
TEST_WORKERS := $(if $(TEST_DATABASE_URL)$(TEST_REDIS_URL),0,2)
PARALLEL := --numprocesses $(TEST_WORKERS) --dist loadfile

test: setup ## Unit, contract, integration, chaos and e2e tests on the embedded servers
	$(BIN)/pytest $(PARALLEL)

# One environment per service: its own lock and pytest. Only its sources are on the path, and not the fixtures of
# tests/conftest.py, which start the whole system. A library is tested where least is installed beside it.
LIBRARIES := $(CURDIR)/libs/common/src
LIBRARIES_agent := :$(CURDIR)/libs/model_client/src
LIBRARIES_curator := $(LIBRARIES_agent)
UNIT_TESTS_agent := agent agent_catalogue
UNIT_TESTS_curator := curator model_client
UNIT_TESTS_gateway := gateway common
UNIT_TESTS_memory := memory
UNIT_TESTS_offline_model := offline_model

test-services: $(addprefix test-service-,$(notdir $(IMAGE_FOLDERS))) ## Unit tests, each service with only its own dependencies

test-service-%: folder = $(filter %/$*,$(IMAGE_FOLDERS))
test-service-%: environment = .local/environments/$*
test-service-%: setup
	@$(UV) venv --quiet --allow-existing --python $(BIN)/python $(environment)
	@$(UV) pip sync --quiet --require-hashes --python $(environment) $(folder)/requirements.lock tests/requirements.lock
	PYTHONPATH=$(CURDIR)/$(folder)/src:$(LIBRARIES)$(LIBRARIES_$*) \
	  $(environment)/bin/python -m pytest --quiet --confcutdir=tests/unit $(addprefix tests/unit/,$(UNIT_TESTS_$*))

# Ryuk, which cleans up after testcontainers, is one more image to pull; the tests clean up themselves.
test-containers: setup ## Integration and e2e tests on PostgreSQL and Valkey containers (needs a Docker engine)
	TEST_SERVERS=containers TESTCONTAINERS_RYUK_DISABLED=true TESTCONTAINERS_CONNECTION_MODE=docker_host TC_HOST=127.0.0.1 \
	  $(BIN)/pytest $(PARALLEL) tests/integration tests/e2e

test-compose: setup ## Containers stopped and restarted under load, images, events through nginx (needs a Docker engine)
	$(BIN)/pytest --timeout=900 tests/containers

SEED := 1

chaos: setup ## Break everything around 2,000 turns and count the promises (SEED=..., SCALE=small); JSON on the last line
	@$(BIN)/python -m tests.chaos.storm --seed $(SEED) --scale $(or $(SCALE),full)

bench-cache: setup ## Measure the prefix cache under seven simulated providers (MODEL_SHADOW_URL=..., SCALE=...); JSON on the last line
	@$(BIN)/python -m bench.cache

bench-overhead: setup ## Measure what ShoppingX itself adds to a turn, on a quiet machine; JSON on the last line
	$(BIN)/python -m bench.overhead

bench-streams: setup ## Measure a gateway with 1,000 open event streams (STREAMS=..., SECONDS=...); JSON on the last line
	@$(BIN)/python -m bench.streams $(if $(STREAMS),--streams $(STREAMS)) $(if $(SECONDS),--seconds $(SECONDS))

eval-memory: setup ## Measure what long-term memory can be trusted with; PARTS="gate …" for some; JSON on the last line
	$(BIN)/python -m bench.memory $(if $(PARTS),--parts $(PARTS))

eval-skills: setup ## Measure whether each skill is read when it should be, on whatever model is set; JSON on the last line
	@$(BIN)/python -m bench.skill_triggers

clean: ## Remove local data, caches and the environment
	-@test ! -f .local/compose/environment || $(BIN)/python -m devstack down --volumes
	@test ! -d .local || ! test -x $(BIN)/python || $(BIN)/python -m devstack clean
	rm -rf .local $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
