.PHONY: help setup demo test test-firefox test-interop test-gpu lint docs
.PHONY: bench-train bench-translate bench-scale clean

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

test: setup ## style, strict types and the whole test suite, browser tests included
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@bash scripts/programs.sh
	@.venv/bin/mypy & types=$$!; \
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest -n 3 --dist worksteal -m "not interop" --durations=40; \
	tests=$$?; wait $$types && exit $$tests

test-firefox: setup ## all browser tests in Firefox (make test runs a few of them in it)
	@bash scripts/programs.sh
	@CUTAWAY_BROWSER=firefox OMP_NUM_THREADS=1 .venv/bin/python -m pytest -n 2 tests/browser

test-interop: setup ## heavy checks against other packages, in environments of their own
	@bash scripts/interop.sh

test-gpu: setup ## what needs a CUDA device; skipped without one
	@.venv/bin/python -m pytest -rs tests/gpu

docs: setup ## write the generated pages of docs/ anew
	@.venv/bin/python scripts/generate_docs.py

bench-train: setup ## training speed beside eole, torch.nn.Transformer and Hugging Face (idle machine)
	@.venv/bin/python bench/train_whole.py
	@.venv/bin/python bench/train_peers.py $(ARGS)
	@.venv/bin/python bench/busy_speed.py

bench-translate: setup ## translating speed beside CTranslate2 and Hugging Face (idle machine)
	@.venv/bin/python bench/translate_peers.py $(ARGS)

bench-scale: setup ## time and memory against sentences, length, vocabulary and layers
	@.venv/bin/python bench/growth.py $(ARGS)

clean: ## remove what can be made again
	@rm -rf .venv .venv-interop .venv-bench .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
