# Each target sets up what it needs in .venv; a package index is all it takes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SKLEARN ?= 1.6.1 1.7.2 1.8.0 1.9.1

.PHONY: help demo test test-slow test-all lint sklearn-matrix bench bench-sdp bench-unfolding bench-tables bench-comparisons bench-paper clean

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

demo: $(VENV)/.demo  ## learn a metric on handwritten digits; leaves model and figure in ./frobmetric-demo
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
	  SCIPY_ARRAY_API=1 $$d/bin/python tests/metric/test_sklearn.py || exit 1; \
	  $$d/bin/python -m pytest -q -p no:cacheprovider tests/metric/test_sklearn.py || exit 1; \
	done

bench: $(VENV)/.test  ## the speed table beside every rival; needs the data folder in FROBMETRIC_DATA
	$(BIN)/python -m frobmetric_paper.baselines.setup
	$(BIN)/python -m frobmetric_paper.bench.speed --limit 120

bench-sdp: $(VENV)/.test  ## SDPLIB and other SDPs beside their rivals; needs the data folder
	$(BIN)/python -m pip install --quiet --editable './paper[bench]'
	$(BIN)/python -m frobmetric_paper.baselines.setup csdp sdpa
	$(BIN)/python -m frobmetric_paper.bench.sdp_speed
	$(BIN)/python -m frobmetric_paper.bench.sdplib

bench-unfolding: $(VENV)/.test  ## unfolding beside CSDP and Isomap, and the paper's experiments with it
	$(BIN)/python -m frobmetric_paper.baselines.setup csdp
	$(BIN)/python -m frobmetric_paper.bench.unfolding
	$(BIN)/frobmetric reproduce mvu

bench-tables: $(VENV)/.test  ## the paper's tables of metrics beside every rival; needs the data folder
	$(BIN)/python -m frobmetric_paper.baselines.setup lmnn itml
	$(BIN)/frobmetric reproduce uci -o paper/results/uci
	$(BIN)/frobmetric reproduce action -o paper/results/action
	$(BIN)/frobmetric reproduce lfw -o paper/results/lfw

bench-comparisons: $(VENV)/.test  ## human comparisons, pair learners, kernels and text; needs the data folder
	$(BIN)/python -m frobmetric_paper.baselines.setup itml
	$(BIN)/python -m frobmetric_paper.bench.shoes
	$(BIN)/python -m frobmetric_paper.bench.pair_learners
	$(BIN)/python -m frobmetric_paper.bench.kernels

bench-paper: $(VENV)/.test  ## the paper's rows, the choice of C, growth with D and m
	$(BIN)/python -m frobmetric_paper.bench.paper_rows
	$(BIN)/python -m frobmetric_paper.bench.default_c
	$(BIN)/python -m frobmetric_paper.bench.growth

clean:  ## remove the environments
	rm -rf $(VENV) $(VENV)-sklearn-*
