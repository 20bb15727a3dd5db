# `make demo` runs an example, `make check` answers within two minutes, `make test` is everything.
# Each builds .venv first, with the first of these that is Python 3.11 or later; PYTHON=... chooses.
PYTHON ?= python3 python3.11 python3.12 python3.13
BIN := .venv/bin

.PHONY: demo check test docs lint types quick unit beside long default-flags bench-smoke clean

# Tests start many processes: each would compile the sources of all that it imports again.
unexport PYTHONDONTWRITEBYTECODE

demo: .venv/run
	rm -rf runs/demo
	$(BIN)/pliant run slcp --n-obs 100 --out runs/demo

check: lint
	$(MAKE) -j2 types quick

test: lint  # what is beside the tests has a core to spare while these wait for each other
	$(MAKE) -j2 unit beside

beside:
	$(MAKE) types
	$(MAKE) long
	$(MAKE) default-flags
	$(MAKE) bench-smoke

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/dev
	$(BIN)/basedpyright

# Most tests wait for the compiler, which is three times as fast without optimisation and with its
# plain emitters, and needs a quarter less if it does not split functions. Long runs need the opposite.
XLA := --xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level
FAST := $(XLA)=0 --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1
LONG := tests/test_accuracy.py tests/discrepancies/test_statistics.py
BITS = $(shell grep -rl --include='*.py' 'mark\.default_flags' tests)
QUICK := $(addprefix tests/,test_checks.py test_files.py test_importance.py densities simulators problem weighting plots)
PYTEST := $(BIN)/pytest --dist loadfile --no-loadscope-reorder

quick: .venv/dev
	XLA_FLAGS="$(FAST)" $(PYTEST) -n 2 -m 'not training' $(QUICK)

unit: .venv/dev
	XLA_FLAGS="$(FAST)" $(PYTEST) -n 2 $(addprefix --ignore=,$(LONG))

long: .venv/dev
	XLA_FLAGS="$(XLA)=1" $(PYTEST) -n 1 $(LONG)

# The contracts about equal bits are also tested with XLA's default flags, as users have them.
default-flags: .venv/dev
	env -u XLA_FLAGS $(PYTEST) -n 1 -m default_flags $(BITS)

# A tiny grid of runs, its table and its figures; the tests have compiled most of it.
bench-smoke: export XLA_FLAGS = $(FAST)
bench-smoke: export JAX_COMPILATION_CACHE_DIR = .pytest_cache/compiled
bench-smoke: .venv/dev
	rm -rf bench/smoke
	$(BIN)/pliant bench run smoke --out bench/smoke --workers 2
	$(BIN)/pliant bench collect bench/smoke
	$(BIN)/pliant bench figures bench/smoke

# A Python fits if it is new enough and can build a virtual environment that has pip.
NEW := import sys; sys.exit(sys.version_info < (3, 11))
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable

.venv/run: pyproject.toml constraints.txt
	@$(BIN)/python -c 'import pip; $(NEW)' 2> /dev/null && exit; new=; \
	for python in $(PYTHON); do \
		$$python -c '$(NEW)' 2> /dev/null || continue; new=$$python; \
		$$python -c 'import ensurepip, venv' 2> /dev/null || continue; \
		echo "$$python -m venv .venv"; exec $$python -m venv --clear .venv; \
	done; \
	if [ "$$new" ]; then echo "$$new has no venv or ensurepip: install them (Debian and Ubuntu: apt install python3-venv)"; \
	else echo "Pliant needs Python 3.11 or later, found none of: $(PYTHON). Install one or give make PYTHON=/path/to/python"; \
	fi >&2; exit 1
	$(INSTALL) .
	touch $@

.venv/dev: .venv/run
	$(INSTALL) '.[arviz,bench,dev,report]'
	touch $@

# The site: every page is executed or tested, a warning is an error. A second build is fast, because
# pages that have not changed are not executed again. It opens from the disk: site/index.html.
docs: .venv/docs .docs-cache/pages
	env -u XLA_FLAGS $(BIN)/sphinx-build -W --keep-going --quiet -d .docs-cache/parsed -b html docs .docs-cache/site
	rm -rf site
	cp -r .docs-cache/site site

.docs-cache/pages: $(shell find src/pliant -name '*.py')  # a change of the package counts for all pages
	rm -rf $@ .docs-cache/parsed
	mkdir -p $@

.venv/docs: .venv/run
	$(INSTALL) '.[arviz,dask,docs,report]'
	touch $@

clean:
	rm -rf .venv runs bench site .docs-cache
