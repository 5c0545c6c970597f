PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
N      ?= 1000

SOURCES := $(shell find src/redzone -name '*.py') hatch_build.py hatch_finals.py

# The CPU does: redzone never runs the program it checks, and a witness is replayed on small inputs.
export JAX_PLATFORMS ?= cpu

.PHONY: demo test lint types fuzz bench docs clean

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

# A bug and its verdict, then every example of the project.
demo: $(VENV)/installed
	$(BIN)/redzone check --exit-zero --arg 'f32[16]' --arg 'i32[]' examples/off_by_one.py:price_bad
	$(BIN)/redzone check examples/

# Everything on what is compiled, which takes half the time; then on the sources the cases, and what replaces parts.
test: lint types $(VENV)/compiled
	REDZONE_COMPILED=1 $(BIN)/python -m pytest -n 2
	REDZONE_COMPILED=0 $(BIN)/python -m pytest -n 2 -m 'sources or changes_the_engine'

# Installing compiles too; this is for sources that have changed since.
$(VENV)/compiled: $(VENV)/installed-dev $(SOURCES)
	$(BIN)/python hatch_build.py
	touch $@

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .

types: $(VENV)/installed-dev
	$(BIN)/mypy

# As many random programs as you have time for: make fuzz N=100000
fuzz: $(VENV)/installed-dev
	$(BIN)/python tests/fuzz/run.py --n $(N)

# Prints the tables, and keeps them in docs/performance.md. The corpus is real libraries at versions that
# go together, so it gets an environment of its own.
$(VENV)-bench/installed: pyproject.toml bench/requirements.txt $(SOURCES)
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install --quiet -r bench/requirements.txt --editable .
	touch $@

bench: $(VENV)-bench/installed
	$(VENV)-bench/bin/python bench/run.py
	$(VENV)-bench/bin/python docs/insert_bench.py
	$(VENV)-bench/bin/python -m bench.guarded.measure --scale 4 --out bench/results/guarded-cpu.json
	$(VENV)-bench/bin/python docs/insert_guarded.py

# Writes docs/rules.md from the table of codes, docs/json.md from the schema, the gallery, and what the examples in the
# documentation print.
docs: $(VENV)/installed-dev
	$(BIN)/python docs/generate_rules.py
	$(BIN)/python docs/generate_json.py
	$(BIN)/python docs/make_gallery.py
	$(BIN)/python -m tests.doc_blocks

clean:
	rm -rf $(VENV) $(VENV)-bench src/redzone/native .pytest_cache .mypy_cache .ruff_cache .hypothesis
