# The short way for people. `make help` lists what there is; CMake and tools/ do the work.

MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
DESTDIR ?=
PRESET ?= release
SETUP ?= yes
ARGS ?=
TARGETS ?=

BUILD := $(if $(filter release,$(PRESET)),build,build/$(PRESET))

.DEFAULT_GOAL := build
.PHONY: help setup configure build demo test check tidy bench mutate fuzz install clean

help: ## this list
	@echo "Reveza: programs take turns on one GPU"
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "  PRESET=debug|asan|tsan   build and test that one instead of release"
	@echo "  JOBS=N                   at most N compilers or tests at a time (now $(JOBS))"
	@echo "  SETUP=no                 do not look for missing packages"

setup: ## install what is missing on this machine
	@tools/setup.sh all

# What `make` itself needs is looked for each time (it takes no time), and only shown if missing.
configure:
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet build; fi
	@tools/configure.sh $(PRESET) $(BUILD)

build: configure ## build everything into build/bin and build/lib (the default)
	@tools/build.sh $(BUILD) $(JOBS) $(TARGETS)

demo: TARGETS := programs
demo: build ## show programs take turns on a card, steps survive a kill, and fraud data made
	@$(BUILD)/bin/reveza demo $(ARGS)
	@echo
	@tools/build.sh $(BUILD) $(JOBS) phi
	@$(BUILD)/bin/reveza jobs demo
	@echo
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet demo; fi
	@tools/build.sh $(BUILD) $(JOBS) fraudgen
	@echo
	@$(BUILD)/bin/fraudgen demo --output $(BUILD)/fraud-report.html

test: build ## build, then run all tests; ARGS go to ctest (ARGS='-R swap')
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet test; fi
	@tools/run_tests.sh $(BUILD) $(JOBS) $(ARGS)

check: build ## format, clang-tidy, layers, licences, texts and links
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet check; fi
	@tools/check.sh $(BUILD) $(JOBS) $(ARGS)

tidy: build ## clang-tidy on the tests too, and with its analyzer: a quarter of an hour
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet check; fi
	@tools/tidy.py $(BUILD) $(JOBS)

bench: build ## measure what can be measured without a GPU
	@bench/run.sh $(BUILD)

mutate: build ## switch off one rule at a time: some test must notice
	@tests/mutation/run.sh $(ARGS)

fuzz: ## a minute of libFuzzer for each input that comes from outside
	@if [ "$(SETUP)" != no ]; then tools/setup.sh --quiet build fuzz; fi
	@JOBS=$(JOBS) tests/fuzz/run.sh $(ARGS)

install: build ## install to PREFIX (now /usr/local), below DESTDIR if it is set
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)" \
	  | sed -nE 's/^-- (Installing|Up-to-date): /  /p'

clean: ## remove what was built, but keep what setup fetched
	@if [ -d build ]; then find build -mindepth 1 -maxdepth 1 ! -name python ! -name servers ! -name charts -exec rm -rf {} +; fi
