# `make help` lists the targets. Packages and Python tools install themselves when missing.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

CPUS := $(shell nproc)
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(CPUS)
export CTEST_PARALLEL_LEVEL ?= $(CPUS)

# What `make test` runs, cheap stages first. Each is a target that can be run alone.
STAGES := setup format-check lint-python configure-dev configure-torch lint-cpp \
          build-dev test-dev test-project \
          build-torch test-python \
          build-asan-ubsan test-asan-ubsan \
          build-tsan test-tsan
ifneq ($(wildcard fuzz/*.cpp),)
STAGES += build-fuzz test-fuzz
endif

CPP_FOLDERS := $(wildcard src tests examples bench fuzz)
CPP_FILES = $(shell find $(CPP_FOLDERS) -name '*.h' -o -name '*.cpp')
PYTHON_FOLDERS := python scripts cmake bench tests/project tests/python tests/models
RUFF_FOLDERS := $(PYTHON_FOLDERS) examples/python
CPP_BENCHES := $(patsubst bench/%.cpp,bench-%,$(wildcard bench/*.cpp))
PYTHON_BENCHES := $(patsubst bench/%.py,bench-%,$(wildcard bench/*.py))
VENV := .venv/.installed
BENCH_VENV := .venv/.installed-bench

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-zA-Z%_-]+:.*## ' Makefile | sed -E 's/^([^:]+):.*## (.*)/  \1\t\2/' | expand -t 20

.PHONY: run
run: build-torch ## a Llama on two ranks: its transfers one by one, and hidden behind compute
	PYTHONPATH=build/torch/python .venv/bin/python scripts/run.py

.PHONY: python
python: build-torch ## build the Python package; use it with PYTHONPATH=build/torch/python

.PHONY: package-check
package-check: setup ## install with pip into a venv of its own and use it from elsewhere
	scripts/package_check.sh

.PHONY: test
test: ## check everything: format, lint, tests, sanitizers, fuzzing
	@scripts/stages.py $(STAGES)

.PHONY: bench
bench: ## run every benchmark
	@for bench in $(CPP_BENCHES) $(PYTHON_BENCHES); do $(MAKE) --no-print-directory $$bench; done

.PHONY: $(PYTHON_BENCHES)
$(PYTHON_BENCHES): bench-%: build-torch $(BENCH_VENV)
	PYTHONPATH=build/torch/python .venv/bin/python bench/$*.py

bench-%: packages-build packages-bench ## run one benchmark, bench/%.cpp or bench/%.py
	cmake --preset release -D DYNAFLOW_BENCH=ON
	cmake --build --preset release --target bench_$*
	mkdir -p build/bench
	build/release/bench/bench_$*

.PHONY: models
models: build-torch configure-dev ## hold every model against itself and its rows against DTensor: ten minutes
	cmake --build --preset dev --target dynaflow-rows
	for report in table confirm confirm_dtensor held_back_report; do \
	  PYTHONPATH=build/torch/python .venv/bin/python tests/models/$$report.py; \
	done

.PHONY: format
format: setup ## format C++ and Python in place
	clang-format-19 -i $(CPP_FILES)
	.venv/bin/ruff format $(RUFF_FOLDERS)
	.venv/bin/ruff check --fix $(RUFF_FOLDERS)

.PHONY: lint
lint: format-check lint-python lint-cpp ## check format, Python and C++ without tests

.PHONY: clean
clean: ## delete everything that was built
	rm -rf build

# --- set-up -----------------------------------------------------------------------------------

.PHONY: setup
setup: packages-build packages-bench packages-test $(VENV) ## install what is missing

.PHONY: packages-build packages-bench packages-test
packages-build packages-bench packages-test: packages-%:
	@scripts/packages.sh $*

# After the packages: Debian's python3 needs python3-venv first. torch comes first and alone, so that
# no other requirement chooses it.
$(VENV): requirements-torch.txt requirements-dev.txt | packages-test
	python3 -m venv .venv
	.venv/bin/python -m pip install --quiet --requirement requirements-torch.txt
	.venv/bin/python -m pip install --quiet --requirement requirements-dev.txt \
	  --constraint requirements-torch.txt
	touch $@

$(BENCH_VENV): requirements-bench.txt $(VENV)
	.venv/bin/python -m pip install --quiet --requirement requirements-bench.txt \
	  --constraint requirements-torch.txt --constraint requirements-dev.txt
	touch $@

# --- stages of `make test` --------------------------------------------------------------------

.PHONY: format-check
format-check: setup
	@clang-format-19 --dry-run -Werror $(CPP_FILES)
	.venv/bin/ruff format --check $(RUFF_FOLDERS)

.PHONY: lint-python
lint-python: setup
	.venv/bin/ruff check $(RUFF_FOLDERS)
	.venv/bin/mypy $(PYTHON_FOLDERS)

.PHONY: lint-cpp
lint-cpp: configure-dev configure-torch
	scripts/tidy.py

configure-%: setup
	@mkdir -p build
	cmake --preset $* > build/configure-$*.log || { cat build/configure-$*.log; exit 1; }

build-%: configure-%
	cmake --build --preset $*

# Reports of an earlier run must not be counted.
.PHONY: test-project
test-project: build-dev
	rm -rf build/project/results
	DYNAFLOW_BUILD_DIR=build/dev .venv/bin/pytest tests/project \
	  --junitxml=build/project/results/pytest.xml

.PHONY: test-python
test-python: build-torch
	rm -rf build/python/results
	.venv/bin/pytest tests/python --numprocesses $(CPUS) --junitxml=build/python/results/pytest.xml

test-%: build-%
	rm -rf build/$*/results
	ctest --preset $*
