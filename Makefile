# Every target sets up what it needs in .venv by itself; `make` alone lists them.
#
#   PYTHON=python3.12        the interpreter that a new environment is made from
#   VENV=.venv-3.12          where the environment is; one for each Python
#   ARGS='-k newton -x'      further arguments of the command that the target runs
#   JAX=0.11.2               the JAX that an environment gets; without, the newest that its Python takes

PYTHON ?= python3
VENV   ?= .venv
N      ?= 100
ARGS   ?=
JAX    ?=
PEERS  ?= tensorflow catalyst numba eager

bin   := $(VENV)/bin
# One process more than there are cores, as some tests wait for processes of their own; not more than eight, as each holds its
# own JAX. Each begins with files that follow each other, so that few make what all tests of a file use. The time limit is per
# test, and by thread, as a signal does not reach Python out of a loop in XLA.
jobs   = --numprocesses $(shell "$(PYTHON)" -c 'import os; print(min(8, (os.cpu_count() or 1) + 1))') --dist worksteal --timeout 300 --timeout-method thread

# What runs programs of many kinds, and compares the results with Python's.
on_gpus = on_gpus corpus programs algorithms gradients growing_lists work_lists recursion raising handlers variables tensor_array \
    random arrays_of_traced_length constants_by_path effects chunks platform_choices mapped_loops loops_by_rows donated_variables \
    even_numbers printed_texts list_lengths object_state

# Bytecode is kept: without it each process that a test starts compiles all that it imports, which takes longer than the test.
unexport PYTHONDONTWRITEBYTECODE

# Targets of make cannot hold a bare space.
space := $(subst ,, )
stamp := $(subst $(space),\ ,$(VENV))/.installed

# A checkout that was copied or moved: its environment still imports from the old place.
ifneq ($(shell cat "$(VENV)/.installed-from" 2>/dev/null),$(CURDIR))
  $(shell rm -f "$(VENV)"/.installed-*)
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo demo-distributed test test-jax test-tpu test-gpu check format lint types package fuzz fuzz-load conformance bench bench-peers docs clean

help: ## List the targets
	@echo 'make TARGET, where TARGET is one of'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 16
	@echo 'Each sets up $(VENV) first, if it is not there (PYTHON=... and VENV=... choose others).'

demo: $(stamp)-demo ## Run the demonstrations on real input
	"$(bin)/python" -m autograph.tools.demo $(ARGS)

demo-distributed: $(stamp)-demo ## Train in two processes, and compare with one device
	"$(bin)/python" -m autograph.tools.demo.distributed $(ARGS)

test: $(stamp)-test ## Run the tests, doctests included, on every core
	AUTOGRAPH_TEST_CACHE="$(CURDIR)/build/compiled" "$(bin)/python" -m pytest $(jobs) $(ARGS)

test-jax: ## Run the tests on the JAX that VERSION=0.11.2 names, in an environment of its own
	@test -n "$(VERSION)" || { echo 'Which one? make test-jax VERSION=0.11.2' >&2; exit 1; }
	$(MAKE) VENV=".venv-jax-$(VERSION)" JAX="$(VERSION)" test

test-tpu: $(stamp)-test ## Compile programs for TPUs, none of which need be here (skipped where libtpu does not install)
	@$(MAKE) "$(stamp)-tpu" || echo 'libtpu, which compiles for TPUs, does not install here: the tests are skipped'
	"$(bin)/python" -m pytest $(jobs) -m tpu tests/targets tests/test_scale_on_paper.py $(ARGS)

test-gpu: $(stamp)-test ## Run the tests whose results a GPU could change on the GPU that is here
	JAX_PLATFORMS=cuda,cpu JAX_DEFAULT_MATMUL_PRECISION=highest XLA_PYTHON_CLIENT_PREALLOCATE=false "$(bin)/python" -m pytest $(jobs) $(on_gpus:%=tests/test_%.py) $(ARGS)

check: lint types test ## All that a change must pass: format, lint, import rules, types, tests

format: $(stamp)-dev ## Rewrite the files in the one format
	"$(bin)/ruff" format .
	"$(bin)/ruff" check --fix .

lint: $(stamp)-dev $(stamp)-test ## Check format, lint and which folder imports which
	"$(bin)/ruff" format --check .
	"$(bin)/ruff" check .
	"$(bin)/python" -m pytest -q tests/test_import_directions.py

# mypy cannot follow the mapping of folders to packages in pyproject.toml, so it gets a tree of links that has
# the installed shape. A message about autograph/runtime/x.py is about runtime/x.py.
types: $(stamp)-dev $(stamp)-test ## Check types
	rm -rf build/types && mkdir -p build/types/autograph
	cd build/types/autograph && ln -s ../../../autograph/* ../../../runtime ../../../backends ../../../tools .
	python="$$("$(bin)/python" -c 'import sys; print(sys.executable)')" && cd build/types && \
	    "$$python" -m mypy --config-file ../../pyproject.toml -p autograph && \
	    "$$python" -m mypy --config-file ../../pyproject.toml ../../tests/typed_program.py

# What the wheel installs is tried where nothing else is: a user's program, the command, and the types that mypy and pyright see.
package: $(stamp)-package ## Build the wheel and the source distribution, check them, and try the wheel in an empty environment
	rm -rf dist build/package build/lib && mkdir -p build/package
	"$(bin)/python" -m build --outdir dist .
	"$(bin)/python" -m twine check --strict dist/*
	"$(bin)/check-wheel-contents" dist/*.whl
	"$(bin)/python" -m venv build/package/env
	build/package/env/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cp tests/typed_program.py tests/installed_smoke.py build/package/
	python="$$("$(bin)/python" -c 'import sys; print(sys.executable)')" && cd build/package && \
	    env/bin/python installed_smoke.py && env/bin/autograph --version && \
	    "$$python" -m mypy --strict --python-executable env/bin/python typed_program.py && \
	    "$$(dirname "$$python")/basedpyright" --pythonpath env/bin/python --level error typed_program.py

fuzz: $(stamp)-test ## Run N generated programs (N=100; ARGS=--gradients for their gradients)
	"$(bin)/python" -m autograph.tools.fuzz --count $(N) $(ARGS)

fuzz-load: $(stamp)-test ## Change N saved models at random, and load them (N=100)
	"$(bin)/python" -m autograph.tools.fuzz.saves --count $(N) $(ARGS)

conformance: $(stamp)-test ## Run CPython's own tests unconverted and converted, and compare
	"$(bin)/python" -m autograph.tools.conformance --known docs/conformance.md $(ARGS)

bench: $(stamp)-bench ## Measure programs beside versions written by hand
	"$(bin)/python" -m autograph.tools.bench $(ARGS)

bench-peers: $(stamp)-bench ## Measure other compilers too, each in an environment of its own
	"$(bin)/python" -m autograph.tools.bench --peers $(PEERS) $(ARGS)

# The links between pages are checked by docs/conf.py when the site is built.
docs: $(stamp)-test $(stamp)-docs ## Run every code block of the documents, and build the site in build/docs
	"$(bin)/python" -m pytest -q tests/test_readme.py tests/test_from_lax.py tests/test_from_numba.py tests/test_from_tensorflow.py \
	    tests/test_language_table.py tests/test_limits.py tests/test_notebooks.py tests/test_docstrings.py tests/test_site.py $(ARGS)
	"$(bin)/python" -m pytest -q tests/test_error_messages.py $(ARGS)
	"$(bin)/python" -m sphinx --fail-on-warning --keep-going --quiet --fresh-env -d build/docs-cache docs build/docs
	@echo 'The site is build/docs/index.html'

clean: ## Remove all that make and the tools have made
	rm -rf .venv .venv-* build dist demo-output .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# $(stamp)-EXTRA says that the package and that extra of it are installed, as pyproject.toml has them now.
# An environment that no longer starts (its Python is gone, the checkout was moved) is made anew. Python compiles modules when
# they are first imported: to compile all of what is installed takes longer than to install it.
$(stamp)-%: pyproject.toml
	@"$(bin)/python" -m pip --version >/dev/null 2>&1 || { \
	    "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	        echo 'autograph needs Python 3.11 or newer: make PYTHON=/path/to/python3' >&2; exit 1; }; \
	    echo 'Making $(VENV)'; \
	    if [ -e "$(VENV)/pyvenv.cfg" ]; then clear=--clear; fi; "$(PYTHON)" -m venv $$clear "$(VENV)"; }
	@echo 'Installing autograph-xla[$*] into $(VENV)'
	@"$(bin)/python" -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[$*]' $(JAX:%='jax==%')
	@printf %s "$(CURDIR)" > "$(VENV)/.installed-from"
	@touch "$@"
