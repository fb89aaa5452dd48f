# specfleet: `make` lists what there is to make.
PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
EXTRAS ?= dev

BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PYTEST := $(BIN)/python -m pytest --doctest-modules -n $(JOBS) tests simulator scenarios
RECIPE := pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test check check-static bench schema golden pictures install-dev

help:  ## list these targets
	@awk 'BEGIN {FS = ":.*  ## "} /^[a-z-]+:.*  ## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed  ## install, then compare H200 and B200 on a 70B chat model
	$(BIN)/specfleet run h200_vs_b200_chat

test: install-dev  ## install, then run every test, the slow ones included
	$(PYTEST)

check: check-static  ## what to run before a commit: format, lint, types, import contracts, quick tests
	$(PYTEST) -m "not slow"

check-static: install-dev  ## the part of `make check` that runs no test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: install-dev  ## measure the simulator's speed; ends with a line of JSON
	$(BIN)/python -m tests.bench.bench_cluster

schema: install-dev  ## write scenario.schema.json anew
	$(BIN)/python -m scenarios.schema > scenario.schema.json.new
	mv scenario.schema.json.new scenario.schema.json

golden: install-dev  ## take the reports of the built-in scenarios as they are now
	$(BIN)/python -m pytest tests/golden --update-golden

pictures: install-dev  ## run the README's scenario; write its picture, its figures and its output anew
	$(BIN)/python -m docs.pictures.make_pictures

install-dev: $(VENV)/.installed-$(EXTRAS)  ## install for development into .venv

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Stamps: installed again only when what is to be installed has changed.
$(VENV)/.installed: $(RECIPE) | $(BIN)/python
	$(PIP_INSTALL) -e .
	touch $@

$(VENV)/.installed-$(EXTRAS): $(RECIPE) | $(BIN)/python
	$(PIP_INSTALL) -e '.[$(EXTRAS)]'
	touch $@ $(VENV)/.installed
