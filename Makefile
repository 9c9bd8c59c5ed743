# Two commands on a fresh machine: `make demo` and `make test`. `make help` lists the rest.
BUILD ?= build
SANITIZED ?= build-sanitized
PYTHON := .venv/bin/python
RELEASE ?= trixie
FOLDER ?= /var/tmp/sill-$(RELEASE)

# What another build of this checkout has compiled already (the wheel's, in the tests) is taken from there.
export CMAKE_C_COMPILER_LAUNCHER ?= $(shell command -v ccache)
export CMAKE_CXX_COMPILER_LAUNCHER ?= $(CMAKE_C_COMPILER_LAUNCHER)
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= true
export CCACHE_SLOPPINESS ?= pch_defines,time_macros

# configure FOLDER OPTIONS: the log is shown only when something is wrong.
define configure
	@mkdir -p $(1)
	@cmake -S . -B $(1) -G Ninja -DPython3_EXECUTABLE=$(CURDIR)/$(PYTHON) $(2) >$(1)/configure.log 2>&1 </dev/null || \
	  { cat $(1)/configure.log >&2; exit 1; }
endef

# build FOLDER OPTIONS: one line that counts up on a terminal, elsewhere only what goes wrong.
define build
	@if [ -t 1 ]; then cmake --build $(1) $(2); else \
	  cmake --build $(1) $(2) >$(1)/build.log 2>&1 || { cat $(1)/build.log >&2; exit 1; }; fi
endef

.DEFAULT_GOAL := build
.PHONY: help setup build sanitized matrix one-of-matrix demo test release bench format lint clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup: ## install what is missing (Debian packages, .venv, .mpi)
	@tools/setup

build: setup ## build the libraries, apps and tests; leaves .venv/bin/sill
	$(call configure,$(BUILD),)
	@echo "build: libraries, apps and test programs in $(BUILD)"
	$(call build,$(BUILD),)

sanitized: setup
	$(call configure,$(SANITIZED),-DSILL_SANITIZE=address$(comma)undefined -DSILL_APPS=OFF -DCMAKE_BUILD_TYPE=Debug)
	@echo "build: unit tests with sanitizers in $(SANITIZED)"
	$(call build,$(SANITIZED),--target sill-unit-tests)

# g++ with the other build types, and clang++ where there is one; warnings are errors everywhere.
CLANG ?= clang++
MATRIX = Release Debug MinSizeRel $(if $(shell command -v $(CLANG)),Clang)

matrix: setup ## build the libraries as Release, Debug and MinSizeRel, and with clang++, each in a folder of its own
	@for kind in $(MATRIX); do \
	  case $$kind in Clang) options="-DCMAKE_CXX_COMPILER=$(CLANG)";; *) options="-DCMAKE_BUILD_TYPE=$$kind";; esac; \
	  $(MAKE) --no-print-directory one-of-matrix BUILD=$(BUILD)-matrix/$$kind OPTIONS="$$options" || exit 1; done

one-of-matrix:
	$(call configure,$(BUILD),-DSILL_TESTS=OFF -DSILL_APPS=OFF $(OPTIONS))
	@echo "build: libraries in $(BUILD) ($(OPTIONS))"
	$(call build,$(BUILD),)

demo: build ## count the words of real text in storage windows, with a crash on the way; ARGS="--input DIR"
	@$(PYTHON) apps/demo --build $(abspath $(BUILD)) $(ARGS)

test: build sanitized ## all tests under every MPI found, some at once; ARGS are pytest's, e.g. ARGS="-m quick"
	@tools/setup --tests
	@SILL_BUILD=$(abspath $(BUILD)) SILL_SANITIZED=$(abspath $(SANITIZED)) $(PYTHON) tools/test $(ARGS)

release: ## demo and test on another release of Debian, in a folder, as root; RELEASE=trixie FOLDER=/var/tmp/sill-trixie
	@tools/release $(RELEASE) $(FOLDER)

bench: build ## storage windows against memory windows; ARGS="--quick". All scenarios: sill bench list
	@.venv/bin/sill bench run rma winalloc sync --build $(abspath $(BUILD)) $(ARGS)

format: setup ## format C, C++ and Python sources
	@git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp' | xargs -r .venv/bin/clang-format -i
	@.venv/bin/ruff format --quiet
	@.venv/bin/ruff check --quiet --fix

lint: setup ## check formats and lints, without changing anything
	@$(PYTHON) -m pytest -q tests/python/test_lint.py

clean: ## remove the build folders; .venv and .mpi stay
	rm -rf $(BUILD) $(BUILD)-matrix $(SANITIZED)

comma := ,
