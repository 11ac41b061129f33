# Every target is one line that calls Python. PYTHON=/path/to/python3.12 names the interpreter to make .venv with.
export PYTHONPATH := docs:.
SET_UP := python3 -I docs/coursebuild/setup_env.py
RUN := .venv/bin/python -m
LOCK := uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-package torch --no-emit-index-url --no-header

.PHONY: help serve test build golden restamp compare bench lock clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-8s %s\n", $$1, $$2}' Makefile

serve: ## build both languages, serve them on this machine, and build again after each edit
	@$(SET_UP) site && $(RUN) coursebuild serve

test: ## run every check
	@$(SET_UP) test && $(RUN) ruff check && $(RUN) pytest

build: ## write the finished site to site/
	@$(SET_UP) site && $(RUN) coursebuild build

golden: ## after a review: record what the chapters show today, and the site's new addresses
	@$(SET_UP) site && $(RUN) coursebuild golden

restamp: ## after a review: record that the English text says what today's Chinese text says
	@$(SET_UP) site && $(RUN) coursebuild restamp

compare: ## before an upgrade: show what would change, make compare WITH='torch==2.14.0 torchao==0.19.0'
	@$(SET_UP) compare $(WITH) && .venv-compare/bin/python -m coursebuild compare

bench: ## on a quiet machine: time the build beside others, and write docs/benchmark.json
	@$(SET_UP) bench && .venv-bench/bin/python -m coursebuild bench $(BENCH)

lock: ## after an edit of requirements.in: write the lock files anew (needs uv)
	@$(LOCK) requirements.in -o requirements.lock && $(LOCK) requirements-downloads.in -c requirements.lock -o requirements-downloads.lock && $(LOCK) requirements-bench.in -c requirements.lock -o requirements-bench.lock

clean: ## remove everything that a build made; the environments stay
	@git clean -fdXq site .cache docs examples common
