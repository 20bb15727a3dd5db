# Two commands matter: `make demo` and `make test`. Both build .venv first, from Python 3.11 alone.
PYTHON ?= python3.11
BIN := .venv/bin

.PHONY: demo test lint types unit bench-smoke clean

demo: .venv/ready
	rm -rf runs/demo
	$(BIN)/pliant run slcp --n-obs 100 --out runs/demo

test: lint  # the type checker has a core to spare while tests wait for each other
	$(MAKE) -j2 types unit
	$(MAKE) bench-smoke

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready
	$(BIN)/basedpyright

# Most tests wait for the compiler, which is three times as fast without optimisation and with its
# plain emitters. Long runs need the opposite.
XLA := --xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level
FAST := $(XLA)=0 --xla_cpu_use_fusion_emitters=false
LONG := tests/test_accuracy.py tests/methods/test_pli.py
PYTEST := $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

unit: .venv/ready
	XLA_FLAGS="$(XLA)=1" $(PYTEST) $(LONG)
	XLA_FLAGS="$(FAST)" $(PYTEST) $(addprefix --ignore=,$(LONG))

# A tiny grid of runs, its table and its figures; the tests have compiled most of it.
bench-smoke: export XLA_FLAGS = $(FAST)
bench-smoke: export JAX_COMPILATION_CACHE_DIR = .pytest_cache/compiled
bench-smoke: .venv/ready
	rm -rf bench/smoke
	$(BIN)/pliant bench run smoke --out bench/smoke --workers 2
	$(BIN)/pliant bench collect bench/smoke
	$(BIN)/pliant bench figures bench/smoke

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[arviz,bench,dev]'
	touch $@

clean:
	rm -rf .venv runs bench
