# Two commands matter: `make demo` and `make test`. Both build .venv first, from Python 3.11 alone.
PYTHON ?= python3.11
BIN := .venv/bin

.PHONY: demo test lint types unit clean

demo: .venv/ready
	rm -rf runs/demo
	$(BIN)/pliant run slcp --n-obs 100 --out runs/demo

test: lint types unit

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready
	$(BIN)/basedpyright

# Most tests wait for the compiler, so they ask it for less; the long runs ask for fast code.
unit: .venv/ready
	XLA_FLAGS=--xla_backend_optimization_level=1 $(BIN)/pytest -n 2 --dist worksteal --ignore tests/test_accuracy.py
	$(BIN)/pytest -n 2 --dist worksteal tests/test_accuracy.py

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[arviz,bench,dev]'
	touch $@

clean:
	rm -rf .venv runs
