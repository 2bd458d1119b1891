# One command for each thing. Every target sets up what it needs, in .venv and .cache.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
MODEL  := .cache/home

.PHONY: run test test-fast coverage check docs screenshots torture bench citus clean

run: $(READY)            ## set up, then show Reverie at work on real input
	@REVERIE_HOME=$(MODEL) $(BIN)/reverie tour

test: $(READY)           ## set up, then run every test, on two or more cores
	REVERIE_TEST_CACHE=$(CURDIR)/$(MODEL)/cache $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

test-fast: $(READY)      ## the pure tests: no store, file, process or model; within a minute
	$(BIN)/python -m pytest --tier 0

coverage: $(READY)       ## which lines the tests run, room by room, held to tools/coverage_floors.toml
	REVERIE_TEST_CACHE=$(CURDIR)/$(MODEL)/cache $(BIN)/python -m coverage run -m pytest -m "not slow"
	$(BIN)/python -m coverage json -q -o .cache/coverage.json
	$(BIN)/python -m tools.coverage_floors .cache/coverage.json

check: $(READY)          ## format, lint, types, requirements, architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tools.requirements --check
	$(BIN)/python -m tools.languages --check
	$(BIN)/python -m pytest tests/test_architecture.py tests/test_suite_rules.py

docs: $(READY)           ## write the reference pages, the requirements, what hooks read of languages and what MCP clients ask first
	$(BIN)/python -m tools.reference
	$(BIN)/python -m tools.requirements
	$(BIN)/python -m tools.languages
	$(BIN)/python -m tools.mcp_answers

screenshots: $(READY)    ## make the pictures of the docs anew; needs Chromium
	$(BIN)/python -m tools.screenshots

torture: $(READY)        ## kills, crowds, damage, hostile and made-up input; minutes, or HOURS=2
	REVERIE_TEST_CACHE=$(CURDIR)/$(MODEL)/cache $(BIN)/python -m bench.torture --hours $(or $(HOURS),0) $(if $(SEED),--seed $(SEED))

bench: $(READY)          ## every benchmark; results as files in bench/results
	$(BIN)/python -m bench --cache $(MODEL)

citus: $(READY)          ## build Citus for the tests of a cluster, once; CITUS_SOURCE names its source archive
	$(BIN)/python -m tools.citus_build

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev,bench]'
	$(BIN)/python -m compileall -q src
	@touch $@

clean:                   ## remove everything that can be made again
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage dist
