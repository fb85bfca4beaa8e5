# The two commands of the README, and what keeps the code in order. Everything happens inside .venv and out/.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   := out/demo
DB     := $(DEMO)/results.duckdb
PAPER  := out/paper

# One numerical thread per process: workers are processes, and results do not depend on the number of cores.
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

# Compiled modules are kept, whatever the environment says: the tests start many processes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test slow shuffled coverage mutants lint docs pictures corpus bench gpu-check paper clean

help:
	@echo "make demo    run every case in minutes, audit it, and write tables, figures and a report"
	@echo "make test    run the tests"
	@echo "make slow    run the tests that take minutes as well"
	@echo "make shuffled   the tests in random order; the seed is printed"
	@echo "make coverage   which branches of audit/ and recovery/ their tests take"
	@echo "make mutants    faults put into a copy of the package: which of them no test notices"
	@echo "make lint    ruff and mypy"
	@echo "make docs    write docs/database.md and docs/commands.md from the code, run the commands of all pages, and build the site into out/site"
	@echo "make pictures   the pictures of the explorer, with the Chromium of the system"
	@echo "make bench   the benchmarks, side by side with the peers"
	@echo "make gpu-check   the Gram form and the smoke cases on a GPU, compared with the CPU; says so where there is none"
	@echo "make paper   the full protocol of the paper, about four to six minutes on two cores, reports included (DATA=folder for the datasets)"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e ".[cases]"
	@touch $@

$(VENV)/test.stamp: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e ".[all,dev]"
	@touch $@

demo: $(VENV)/demo.stamp
	@mkdir -p $(DEMO)
	$(BIN)/orledger run all --preset smoke --offline --db $(DB)
	$(BIN)/orledger audit --db $(DB)
	$(BIN)/orledger recheck --into $(DB) | tail -n 1
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

# Two processes: on two cores a third made the whole 9 % slower, measured on an idle machine.
test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -q -n 2

slow: $(VENV)/test.stamp
	$(BIN)/python -m pytest -q --slow -n 2

shuffled: $(VENV)/test.stamp
	$(BIN)/python -m pytest -q -n 2 --random-order

coverage: $(VENV)/test.stamp
	$(BIN)/coverage run -m pytest -q tests/audit tests/recovery
	$(BIN)/coverage report

$(VENV)/mutants.stamp: $(VENV)/test.stamp
	$(BIN)/pip install --quiet -c constraints.txt -e ".[mutants]"
	@touch $@

# Targets of tests/mutants/targets.toml with fewer than 250 mutants are tried whole, of the others N are drawn with a fixed seed.
N ?= 100
mutants: $(VENV)/mutants.stamp
	nice -n 10 $(BIN)/python tests/mutants/run.py --number $(N)

# The folders install under one import name, so mypy looks at an installed copy.
lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build/typecheck build/lib
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --target build/typecheck .
	cd build/typecheck && ../../$(BIN)/mypy --config-file ../../pyproject.toml -p orledger

# The pages that come from the code, the commands of all pages, then the site, strict about links; the folders install under one name, so it reads an installed copy.
docs: $(VENV)/test.stamp
	$(BIN)/python -m orledger.schema.describing > docs/database.md
	$(BIN)/python -m orledger.cli_docs > docs/commands.md
	$(BIN)/python -m pytest -q -n 2 --pages -m pages
	rm -rf out/site-source build/lib
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --target out/site-source .
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

pictures: $(VENV)/test.stamp
	$(BIN)/python docs/explorer_pictures.py out/pictures

bench: $(VENV)/test.stamp
	@mkdir -p out
	$(BIN)/python -m benchmarks --json out/bench.json --markdown docs/benchmarks.md
	$(BIN)/python benchmarks/kill_many.py

gpu-check: $(VENV)/demo.stamp
	$(BIN)/python benchmarks/gpu_check.py

# DATA is a folder with the datasets as CSV files; without it they come from the cache or are downloaded.
paper: $(VENV)/demo.stamp
	@mkdir -p $(PAPER)
	$(BIN)/orledger run all --preset paper --db $(PAPER)/results.duckdb $(if $(DATA),--data-dir $(DATA))
	$(BIN)/orledger audit --db $(PAPER)/results.duckdb
	$(BIN)/orledger recheck --into $(PAPER)/results.duckdb | tail -n 1
	$(BIN)/orledger tables --db $(PAPER)/results.duckdb --out $(PAPER)/tables --format tex,csv,md,html
	$(BIN)/orledger figures --db $(PAPER)/results.duckdb --out $(PAPER)/figures
	$(BIN)/orledger report --db $(PAPER)/results.duckdb --out $(PAPER)/report.html
	$(BIN)/orledger findings --db $(PAPER)/results.duckdb --out $(PAPER)/findings.md

# The reference corpus of docs/results from what `make paper` left: export, report, tables, findings, and the README's pictures.
corpus:
	rm -rf docs/results/corpus && mkdir -p docs/results docs/img
	$(BIN)/orledger db export docs/results/corpus --compact --db $(PAPER)/results.duckdb
	$(BIN)/orledger report --db $(PAPER)/results.duckdb --out docs/results/report.html --no-pdf
	$(BIN)/orledger findings --db $(PAPER)/results.duckdb --out docs/results/FINDINGS.md
	$(BIN)/orledger tables --db $(PAPER)/results.duckdb --out $(PAPER)/tables --format tex
	cd $(PAPER)/tables && for run in 1 2 3; do SOURCE_DATE_EPOCH=0 FORCE_SOURCE_DATE=1 pdflatex -interaction=batchmode tables.tex > /dev/null || exit 1; done
	cp $(PAPER)/tables/tables.pdf docs/results/tables.pdf
	$(BIN)/orledger figures Aprofile Aladder Bshift Cmech Cinv --db $(PAPER)/results.duckdb --out docs/img --format png
	rm -f docs/img/captions.md

clean:
	rm -rf $(VENV) build dist out *.egg-info
