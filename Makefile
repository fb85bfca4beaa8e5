# The two commands of the README, and what keeps the code in order. Everything happens inside .venv and out/.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   := out/demo
DB     := $(DEMO)/results.duckdb

# One numerical thread per process: workers are processes, and results do not depend on the number of cores.
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

.PHONY: help demo test slow lint docs bench paper clean

help:
	@echo "make demo    run every case in minutes, audit it, and write tables, figures and a report"
	@echo "make test    run the tests"
	@echo "make slow    run the tests that take minutes as well"
	@echo "make lint    ruff and mypy"
	@echo "make docs    write docs/database.md and docs/commands.md from the code"
	@echo "make bench   the benchmarks, side by side with the peers"
	@echo "make paper   the full protocol of the paper: many hours"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e .
	@touch $@

$(VENV)/test.stamp: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev,ray,bench]"
	@touch $@

demo: $(VENV)/demo.stamp
	@mkdir -p $(DEMO)
	$(BIN)/orledger run all --preset smoke --offline --db $(DB)
	$(BIN)/orledger audit --db $(DB)
	$(BIN)/orledger tables --db $(DB) --out $(DEMO)/tables --format tex,md
	$(BIN)/orledger figures --db $(DB) --out $(DEMO)/figures --format svg,pdf
	$(BIN)/orledger report --db $(DB) --out $(DEMO)/report.html
	@echo
	@echo "The report    $(DEMO)/report.html"
	@echo "The tables    $(DEMO)/tables/"
	@echo "The figures   $(DEMO)/figures/"
	@echo "The database  $(DB)"
	@echo
	@echo "Try next:"
	@echo "  $(BIN)/orledger status --db $(DB)"
	@echo "  $(BIN)/orledger sql --db $(DB) --tables"
	@echo "  $(BIN)/orledger sql --db $(DB) \"SELECT block, state, count(*) AS cells FROM cell GROUP BY ALL ORDER BY ALL\""

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -q

slow: $(VENV)/test.stamp
	$(BIN)/python -m pytest -q --slow

# The folders install under one import name, so mypy looks at an installed copy.
lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build/typecheck build/lib
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --target build/typecheck .
	cd build/typecheck && ../../$(BIN)/mypy --config-file ../../pyproject.toml -p orledger

docs: $(VENV)/demo.stamp
	@mkdir -p docs
	$(BIN)/python -m orledger.schema.describing > docs/database.md
	$(BIN)/python -m orledger.cli_docs > docs/commands.md

bench: $(VENV)/test.stamp
	@for script in benchmarks/bench_*.py benchmarks/kill_many.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

paper: $(VENV)/demo.stamp
	@mkdir -p out/paper
	$(BIN)/orledger run all --preset paper --db out/paper/results.duckdb
	$(BIN)/orledger audit --db out/paper/results.duckdb
	$(BIN)/orledger tables --db out/paper/results.duckdb --out out/paper/tables
	$(BIN)/orledger figures --db out/paper/results.duckdb --out out/paper/figures
	$(BIN)/orledger report --db out/paper/results.duckdb --out out/paper/report.html

clean:
	rm -rf $(VENV) build dist out *.egg-info
