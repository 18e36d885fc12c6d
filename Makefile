# `make demo`, `make test` and `make lab` work in a bare clone: they need Python >= 3.11 and make.
# The environment is a stamp they depend on; it is made once and renewed when its sources change.
# TORCH_INDEX=ADDRESS names a further index for torch: one with its small CPU build, on Linux.

PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)
BIN := .venv/bin
RUN := $(BIN)/python
STAMP := .venv/.stamp
PYTEST := $(BIN)/pytest -q
# Whole files go to one of two processes: the tests of a file share what is dear to make. Marks of
# xdist_group would say so test by test, but pytest-xdist 3.8 loses them under pytest 9.2. The order
# of names ends with many small files, so that both are done at about the same time.
SPREAD := -n 2 --dist loadfile --no-loadscope-reorder
QUICK := not slow and not model and not browser and not shared and not stress
# A Jupyter server refuses to run as root unless told.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

# One BLAS thread per process: results and timings then do not depend on the number of cores.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
# Packages are installed uncompiled. Where Python may not keep what it compiled, each of the hundred
# processes the tests start would compile thousands of modules anew.
unexport PYTHONDONTWRITEBYTECODE
export TORCH_INDEX
export VERB := $(firstword $(MAKECMDGOALS))

.DEFAULT_GOAL := help
.PHONY: help demo test quick stress lab check notebooks bench parity results docs

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(STAMP) ## the whole journey on data/: out/report.html, out/*.png, an exported config
	$(BIN)/recalltune demo --out out

test: $(STAMP) ## every test but the long ones (up to 5 minutes on two cores)
	$(PYTEST) $(SPREAD)

quick: $(STAMP) ## the tests for between two edits (under a minute)
	$(PYTEST) $(SPREAD) -m "$(QUICK)"

stress: $(STAMP) ## the long rest of the tests
	$(PYTEST) $(SPREAD) -m stress

lab: $(STAMP) ## JupyterLab on the notebooks (127.0.0.1, with a token)
	$(BIN)/jupyter lab --ip=127.0.0.1 $(AS_ROOT) notebooks

check: $(STAMP) ## format, lint, types, sizes, notebook pairs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(RUN) tests/checks/sizes.py
	$(RUN) tests/checks/notebook_pairs.py

notebooks: $(STAMP) ## check the pairs and execute every notebook, small, in a temporary folder
	$(RUN) tests/checks/notebook_pairs.py
	$(RUN) tests/checks/execute_notebooks.py

bench: $(STAMP) ## the benchmarks of tests/benchmarks
	$(RUN) tests/benchmarks/run.py

parity: $(STAMP) ## our numbers against production's, item by item
	$(RUN) -m recalltune.production.parity

results: $(STAMP) ## aggregate figures of the shared data sets into docs/results
	$(RUN) tests/benchmarks/results.py

docs: $(STAMP) ## renew the generated parts of docs/
	$(RUN) docs/build.py
	$(RUN) docs/knobs.py
	$(RUN) docs/formats.py

$(STAMP): pyproject.toml constraints.txt tests/checks/environment.py
	@test -n "$(PYTHON)" || { printf 'recalltune: no Python 3.11 or newer on PATH. Run:\n\n    %s\n\n' \
		"make $(or $(VERB),demo) PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) tests/checks/environment.py
