# Each target sets up what it needs in .venv; a package index is all it takes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SKLEARN ?= 1.6.1 1.7.2 1.8.0 1.9.1
# Benchmark, and its options; data sets are in the folder of FROBMETRIC_DATA.
BENCH ?= speed
OPTIONS ?=

.PHONY: help demo test test-slow test-all lint sklearn-matrix bench bench-list bench-tables test-kills clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "frobmetric needs Python 3.11 or newer; run: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[cli,plot,fast]'
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml paper/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[test]' --editable './paper[vision]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo  ## learned distances beside Euclid, 10 s; leaves models and figures in ./frobmetric-demo
	$(BIN)/frobmetric demo

lint: $(VENV)/.test  ## formatting, ruff and mypy
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy

test: lint  ## lint, types and the quick tests of both packages: a few minutes
	$(BIN)/python -m pytest -n auto --quiet -m "not slow"

test-slow: $(VENV)/.test  ## the long tests: oracles, processes, other programs, data files
	$(BIN)/python -m pytest -n auto --quiet -m slow

test-all: test test-slow  ## everything

sklearn-matrix: $(BIN)/python  ## check_estimator under each supported scikit-learn
	@for v in $(SKLEARN); do \
	  d=$(VENV)-sklearn-$$v; \
	  test -x $$d/bin/python || $(PYTHON) -m venv $$d; \
	  $$d/bin/python -m pip install --quiet --editable '.[test]' "scikit-learn==$$v" || exit 1; \
	  echo "== scikit-learn $$v"; \
	  for file in tests/metric/test_sklearn.py tests/learners/test_sklearn.py; do \
	    SCIPY_ARRAY_API=1 $$d/bin/python $$file || exit 1; \
	    $$d/bin/python -m pytest -q -p no:cacheprovider $$file || exit 1; \
	  done; \
	done

$(VENV)/.bench: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --editable './paper[bench,vision]'
	$(BIN)/frobmetric reproduce baselines
	@touch $@

bench: $(VENV)/.bench  ## a benchmark beside other programs: make bench BENCH=unfolding OPTIONS=--quick
	$(BIN)/python -m frobmetric_paper.bench $(BENCH) $(OPTIONS)

test-kills: $(VENV)/.test  ## kill 50 fits at random moments and resume them; writes the page of the results
	$(BIN)/python -m frobmetric_paper.bench interruptions --only local $(OPTIONS)

bench-list: $(VENV)/.test  ## the benchmarks and their parts
	$(BIN)/python -m frobmetric_paper.bench --list

bench-tables: $(VENV)/.bench  ## the paper's experiments beside every baseline
	@for name in uci action lfw mvu; do \
	  $(BIN)/frobmetric reproduce $$name -o paper/results/$$name || exit 1; \
	done

clean:  ## remove the environments
	rm -rf $(VENV) $(VENV)-sklearn-*
