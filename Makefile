.PHONY: help setup demo test test-interop lint docs clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: ## make .venv and install everything (once)
	@bash scripts/setup.sh

demo: setup ## train a small translator, translate, open the page where every number can be clicked
	@.venv/bin/cutaway demo

lint: setup ## style and strict types
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy

test: setup lint ## the whole test suite, browser tests included
	@bash scripts/chromium.sh
	@OMP_NUM_THREADS=1 .venv/bin/python -m pytest -n 2 --dist worksteal -m "not interop"

test-interop: setup ## heavy checks against other packages, in environments of their own
	@bash scripts/interop.sh

docs: setup ## write the generated pages of docs/ anew
	@.venv/bin/python scripts/generate_docs.py

clean: ## remove what can be made again
	@rm -rf .venv .venv-interop .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
