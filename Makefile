# `make help` explains itself.
.DEFAULT_GOAL := help
SHELL := /bin/sh
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# Hundreds of short processes are started below: compiling Layline anew in each costs more than what they do.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test lint types layers check slow packages bench docs clean

help:  ## Show what can be made
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## Set up .venv (and, with root and apt, system packages)
	@if ! [ -x $(BIN)/python ] || ! cat requirements-dev.lock pyproject.toml scripts/setup.sh | sha256sum | cmp -s - .stamps/setup; then sh scripts/setup.sh; fi

demo: setup  ## Run the main job on the embedded sample; leaves everything in ./demo
	@$(BIN)/layline demo demo

test: setup  ## Run the test suite, or one room of it: make test T=gap
	@paths=; if [ -n "$(T)" ]; then paths=$$($(BIN)/python scripts/room_tests.py "$(T)") || exit 2; fi; $(PYTEST) -q -n auto --dist loadfile $$paths

lint: setup  ## Style and layers
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports --no-logo

types: setup  ## mypy --strict
	@$(BIN)/mypy

docs: setup  ## Write the generated parts of docs/, check all of it, build the site into build/docs
	@$(BIN)/python scripts/generate_docs.py && $(PYTEST) -q tests/architecture && NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -q

check: lint types test  ## Everything CI runs

slow: setup  ## The long tests
	@$(PYTEST) -q -m slow

packages: setup  ## Install the built wheel and sdist, each into a fresh environment, and run the demo there
	@sh scripts/check_packages.sh $(PYTHONS)

bench: setup  ## Measure; see bench/README.md
	@$(BIN)/python -m bench

clean:  ## Remove what was made
	rm -rf .venv .stamps demo site build dist .mypy_cache .ruff_cache .pytest_cache
