# Each target sets up what it needs in .venv; a package index is all it takes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SKLEARN ?= 1.6.1 1.7.2 1.8.0 1.9.1
# Tests with the lowest versions of the dependencies of the extras cli, plot, fast and dask.
LOWEST ?= tests/core tests/metric tests/manifold tests/io tests/app/cli tests/backends
# Benchmark, and its options; data sets are in the folder of FROBMETRIC_DATA.
BENCH ?= speed
OPTIONS ?=
# Tests start many processes: without stored bytecode, each of them would compile the library again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help browser demo dist test test-slow test-all lint sklearn-matrix lowest audit bench bench-list bench-tables test-kills attack attack-long docs mutants clean

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
	@echo; echo "First, so that your shell finds frobmetric: source $(BIN)/activate"

lint: $(VENV)/.test  ## formatting, ruff and mypy
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy

test: lint  ## lint, types and the quick tests of both packages: a few minutes
	$(BIN)/python -m pytest -n auto --quiet -m "not slow"

browser:  ## chromium and its driver, for the tests of pages; without them those tests are skipped
	@if command -v chromedriver > /dev/null; then :; \
	elif ! command -v apt-get > /dev/null; then \
	  echo "no apt-get here: install chromium and chromedriver by hand, or tests of pages are skipped"; \
	else \
	  (apt-get update -qq && apt-get install -y -qq chromium chromium-driver) > /dev/null 2>&1 || \
	    echo "chromium could not be installed (it needs root): tests of pages are skipped"; \
	fi

test-slow: $(VENV)/.test $(VENV)/.docs browser  ## the long tests: oracles, processes, other programs, data files
	$(BIN)/python -m pytest -n auto --quiet -m slow

test-all: test test-slow  ## everything

sklearn-matrix: $(BIN)/python  ## scikit-learn's checks of all estimators under each supported version
	@for v in $(SKLEARN); do \
	  d=$(VENV)-sklearn-$$v; \
	  test -x $$d/bin/python || $(PYTHON) -m venv $$d; \
	  $$d/bin/python -m pip install --quiet --editable '.[test]' "scikit-learn==$$v" || exit 1; \
	  echo "== scikit-learn $$v"; \
	  PYTHONPATH=tests SCIPY_ARRAY_API=1 $$d/bin/python tests/test_sklearn.py || exit 1; \
	done

lowest: $(BIN)/python  ## quick tests of six rooms with the lowest versions that pyproject.toml declares
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)-lowest
	$(BIN)/uv pip install --quiet --python $(VENV)-lowest/bin/python --resolution lowest-direct \
	  --editable '.[cli,plot,fast,dask]' 'pytest>=8' 'hypothesis>=6.100' 'pandas>=2.2' 'polars>=1.0'
	$(VENV)-lowest/bin/python -m pytest -q -p no:cacheprovider -m "not slow" \
	  -W "ignore::DeprecationWarning" $(LOWEST)  # old packages warn of each other

audit: $(VENV)/.test  ## known vulnerabilities of the dependencies; fails if the service on the internet gives no answer
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/python tests/audit.py

$(VENV)/.bench: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --editable './paper[bench,vision]'
	$(BIN)/frobmetric reproduce baselines
	@touch $@

$(VENV)/.docs: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

docs: $(VENV)/.docs  ## the site, in build/site: pages, executed gallery, API reference; a warning is an error
	MPLBACKEND=agg $(BIN)/sphinx-build -W --keep-going --quiet -d build/doctrees docs build/site
	@echo "open build/site/index.html"

dist: $(BIN)/python  ## wheel and sdist, each installed and tried in an empty environment
	rm -rf dist build/dist-*
	$(BIN)/python -m pip install --quiet 'build>=1.2' 'twine>=6'
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	@for file in dist/*; do \
	  d=build/dist-$${file##*.}; \
	  $(PYTHON) -m venv $$d && $$d/bin/python -m pip install --quiet "$$file[cli]" || exit 1; \
	  (cd build && ../$$d/bin/python -c "import frobmetric; frobmetric.FrobMetric") || exit 1; \
	  $$d/bin/frobmetric --version && $$d/bin/frobmetric fit --help > /dev/null || exit 1; \
	done

bench: $(VENV)/.bench  ## a benchmark beside other programs: make bench BENCH=unfolding OPTIONS=--quick
	$(BIN)/python -m frobmetric_paper.bench $(BENCH) $(OPTIONS)

test-kills: $(VENV)/.test  ## kill 50 fits at random moments and resume them; writes the page of the results
	$(BIN)/python -m frobmetric_paper.bench interruptions --only local $(OPTIONS)

attack: $(VENV)/.test  ## hostile calls, problems, files, names and signals: the short run
	$(BIN)/python -m frobmetric_paper.bench attack --quick $(OPTIONS)

attack-long: $(VENV)/.test  ## the same, tens of thousands; writes the page of the results
	$(BIN)/python -m frobmetric_paper.bench attack $(OPTIONS)

mutants: $(VENV)/.test  ## small changes of the certificate code, each of which a test must notice; writes the page
	$(BIN)/python -m frobmetric_paper.bench mutants $(OPTIONS)

bench-list: $(VENV)/.test  ## the benchmarks
	$(BIN)/python -m frobmetric_paper.bench --list

bench-tables: $(VENV)/.bench  ## the paper's experiments beside every baseline
	@for name in uci action lfw mvu; do \
	  $(BIN)/frobmetric reproduce $$name -o paper/results/$$name || exit 1; \
	done

clean:  ## remove the environments, the site and the distributions
	rm -rf $(VENV) $(VENV)-sklearn-* $(VENV)-lowest build dist docs/results docs/project docs/gallery docs/generated docs/live
