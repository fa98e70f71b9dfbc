# Shortcuts; `make help` lists them. CMake and tools/ do the work.

MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
DESTDIR ?=
PRESET ?= release
SETUP ?= yes
ARGS ?=
EXCLUDE ?= slow
TARGETS ?=

BUILD := $(if $(filter release,$(PRESET)),build,build/$(PRESET))

.DEFAULT_GOAL := build
.PHONY: help setup configure build demo test test-all test-engines test-kubernetes test-ray test-slurm docs check tidy bench mutate fuzz random install uninstall wheels deb clean

help: ## show this list
	@echo "Reveza: programs take turns on one GPU"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "  PRESET=debug|asan|tsan   use that preset instead of release"
	@echo "  JOBS=N                   maximum concurrent compilers or tests (now $(JOBS))"
	@echo "  SETUP=no                 do not check for missing packages"

setup: ## install missing packages
	@tools/setup.sh all

# Checks for missing packages on every call, which is fast.
configure:
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet build; fi
	@tools/configure.sh $(PRESET) $(BUILD)

build: configure ## build everything (the default)
	@tools/build.sh $(BUILD) $(JOBS) $(TARGETS)

demo: TARGETS := programs
demo: build ## demonstrate GPU sharing, crash recovery of jobs, and fraud data
	@$(BUILD)/bin/reveza demo $(ARGS)
	@echo
	@$(BUILD)/bin/reveza jobs demo
	@echo
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet demo; fi
	@tools/build.sh $(BUILD) $(JOBS) fraudgen
	@echo
	@$(BUILD)/bin/fraudgen demo --output $(BUILD)/fraud-report.html

test: build ## build and run the tests required for a change; ARGS go to ctest (ARGS='-R swap')
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet test; fi
	@tools/run_tests.sh $(BUILD) $(JOBS) -LE '$(EXCLUDE)' $(ARGS)

test-all: build ## build and run all tests, including slow ones
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet test; fi
	@tools/run_tests.sh $(BUILD) $(JOBS) $(ARGS)

test-engines: TARGETS := fraudgen fraudgen_python reveza_cli
test-engines: build ## generate fraud data on a real Spark and a real Ray, of two workers each, and run a workflow of Snakemake
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet engines; fi
	@tools/run_tests.sh $(BUILD) 1 -L engines $(ARGS)

test-kubernetes: TARGETS := reveza_cli reveza_supervisor revezad reveza_preload fakecuda_driver fakecuda_nvml client_worker
test-kubernetes: build ## share a fake card among pods of a real node, and run steps in pods: kubelet, containerd and runc (as root)
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet kubernetes; fi
	@integrations/kubernetes/node_test.sh $(BUILD) $(ARGS)

test-ray: TARGETS := reveza_cli reveza_supervisor
test-ray: build ## run steps on two nodes of a real Ray (as root)
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet ray; fi
	@integrations/ray/test.sh $(BUILD) $(ARGS)

test-slurm: TARGETS := reveza_cli reveza_supervisor revezad reveza_preload fakecuda_driver fakecuda_nvml client_worker
test-slurm: build ## share a fake card among jobs of a real Slurm, and run steps on two nodes of one (as root)
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet slurm; fi
	@integrations/slurm/node_test.sh $(BUILD) $(ARGS)

docs: ## build the documentation into build/docs; a broken link or an unlisted page fails
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet docs; fi
	@tools/build_docs.sh build/docs

check: configure ## check format, clang-tidy, locks, layers, licences, text and links
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet check; fi
	@tools/check.sh $(BUILD) $(JOBS) $(ARGS)

tidy: configure ## run clang-tidy with its analyzer, also on tests (15 minutes)
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet check; fi
	@tools/tidy_tree.sh $(BUILD)/tidy
	@tools/tidy.py $(BUILD)/tidy $(JOBS)

bench: build ## run the benchmarks that need no GPU
	@bench/run.sh $(BUILD)

mutate: build ## run mutation tests: break one rule at a time, some test must fail
	@tests/mutation/run.sh $(ARGS)

fuzz: ## run libFuzzer for a minute on each untrusted input
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet build fuzz; fi
	@JOBS=$(JOBS) tests/fuzz/run.sh $(ARGS)

random: build ## run random CUDA programs natively and under Reveza for a minute, and compare
	@$(BUILD)/tests/try_random_programs --devices 1 --nvml full $(ARGS)
	@$(BUILD)/tests/try_random_programs --devices 2 --nvml no-process-memory $(ARGS)

install: build ## install to PREFIX (default /usr/local), below DESTDIR if set
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)" \
	  | sed -nE 's/^-- (Installing|Up-to-date): /  /p'

uninstall: ## remove what the last `make install` installed
	@DESTDIR="$(DESTDIR)" tools/uninstall.sh $(BUILD)

wheels: ## build wheels for pip into build/dist, for glibc 2.28 or later
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet build; fi
	@tools/build_wheels.sh $(JOBS) $(ARGS)

deb: build ## build a Debian package into build/dist, for the release that it is built on
	@tools/make_deb.py $(BUILD) build/dist

clean: ## remove build output, but keep downloads of setup
	@if [ -d build ]; then find build -mindepth 1 -maxdepth 1 ! -name python ! -name engines ! -name ray ! -name servers ! -name charts ! -name headers -exec rm -rf {} +; fi
