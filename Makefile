# The one door for people and for CI. Every target works from a clean clone.
# Variables: JOBS (parallel compilers), FUZZ_SECONDS (per fuzzer), GENSCOPE_SKIP_SETUP=1.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test test-torch test-peer wheel bench-python web web-e2e bench-web dev asan asan-python tsan release bench bench-gate fuzz fuzz-short format check check-fast docs docs-site clean

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 300
# g++ 12's tsan cannot place its shadow when the kernel randomizes addresses widely.
NO_ASLR := $(shell setarch -R true 2>/dev/null && echo setarch -R)

export JOBS
# $(call build,preset[,targets]): configures only once, one line of progress. tools/phase notes the time.
build = @tools/phase "build $(1)" tools/build $(1) $(2)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install the Debian packages we need (no network if they are there)
	@tools/phase setup tools/setup

demo: ## build the command and the Python package (about 4 min on 2 cores), profile the workload that ships with them
	@tools/setup build
	$(call build,release,demo_programs)
	build/release/bin/genscope demo

test: setup check-fast web dev web-e2e asan fuzz-short tsan ## checks, then tests plain, in a browser, under asan+ubsan with the fuzzers, under tsan
	@echo "What needs torch, diffusers and their like is apart: make test-torch (7 GB of packages)."

test-torch: setup ## the Python package with the real torch, diffusers, transformers, ... from PyPI; CI runs it after `test`
	$(call build,dev,genscope_python genscope_cli)
	@tools/phase "test-torch packages" tools/torch python >/dev/null
	@tools/phase "test-torch" tools/torch test

test-peer: ## our files and runs beside the real Slurm, Ray, Dask, ...; CI runs it after `test`
	@tools/phase "setup peer" tools/setup peer
	$(call build,dev,genscope_cli genscope_python)
	@tools/phase "test-peer packages" sh -ec "tools/peer python; tools/venv notebook" >/dev/null
	@tools/phase "test-peer" tools/peer test

wheel: release ## a wheel in build/dist that needs no compiler: CPython 3.10 and later
	tools/wheel build/release build/dist --repair

bench-python: release ## what spans, wrapped modules, hooks and genscope.compat cost in Python; needs what test-torch installs
	PYTHONPATH=build/release/python $$(tools/torch python) benchmarks/python/spans.py
	PYTHONPATH=build/release/python $$(tools/torch python) benchmarks/python/compat.py
	GENSCOPE_BIN=build/release/bin/genscope $$(tools/torch python) benchmarks/python/pipeline.py

web: setup ## types, lint and unit tests of the web page; web/dist is what web/src builds to
	@tools/phase "web checks" tools/web check

web-e2e: setup # the page in Chromium, after `dev`
	@tools/phase "web e2e" tools/web e2e

bench-web: setup ## sizes and speed of the page, in Chromium
	tools/web bench

dev: setup ## build and test, the daily way
	$(call build,dev)
	@tools/phase "test dev" tools/ctest dev

asan: setup ## build and test under AddressSanitizer and UBSan
	$(call build,asan)
	@tools/phase "test asan" tools/ctest asan

# pymalloc would hide what is wrong with an object's memory; leaks of the interpreter are its own.
# The quarantine is small because one test bounds the memory of the process, in which it counts.
asan-python: setup ## the tests of the Python package with the extension under AddressSanitizer and UBSan
	$(call build,asan,genscope_python genscope_cli)
	@set -e; for test in python/tests/*_test.py; do \
	  case $$test in *wheel_test.py|*memory_test.py) continue;; esac; echo "== $$test"; \
	  LD_PRELOAD="$$(clang++ -print-file-name=libclang_rt.asan-x86_64.so) $$(g++ -print-file-name=libstdc++.so)" PYTHONMALLOC=malloc \
	  ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16 PYTHONPATH=$(CURDIR)/build/asan/python GENSCOPE_BIN=$(CURDIR)/build/asan/bin/genscope \
	  python3 $$test; \
	done

tsan: setup ## build and test under ThreadSanitizer
	$(call build,tsan)
	@tools/phase "test tsan" $(NO_ASLR) tools/ctest tsan

release: ## build what users get
	@tools/setup build
	$(call build,release)

bench: setup release ## run every benchmark; JSON rows in build/release/bench/
	@mkdir -p build/release/bench
	@set -e; for program in build/release/bin/bench_*; do \
	  test -x "$$program" || { echo "no benchmarks yet"; break; }; \
	  echo "== $$program"; \
	  "$$program" --json "build/release/bench/$$(basename "$$program").json"; \
	done

bench-gate: setup ## is HEAD slower than the last tag (or BASE=REF)? Both built in build/gate and run in turns
	tools/bench_gate $(BASE)

fuzz: setup ## run each fuzzer FUZZ_SECONDS; new inputs and crashes in build/fuzz/
	$(call build,asan,fuzzers)
	tools/fuzz $(FUZZ_SECONDS)

fuzz-short: setup # each fuzzer for 10 s, part of `test`
	$(call build,asan,fuzzers)
	@tools/phase "fuzz, 10 s each" tools/fuzz 10 1

format: ## rewrite our sources with clang-format
	@tools/format

check-fast: setup # the part of `check` that takes seconds
	@tools/phase "format, layers, docs" sh -ec "tools/format --check; tools/check_layers; tools/house --check docs/img/modules.svg; tools/check_docs"

check: check-fast ## format, layers, docs, clang-tidy
	@tools/tidy

docs: ## links resolve, samples and options in pages are those that exist; after `dev`: tools/check_docs --run
	@tools/check_docs

docs-site: ## the documentation as a searchable site in build/docs-site (MkDocs, from PyPI)
	@tools/phase "docs site" tools/docs_site

clean: ## remove build/
	rm -rf build
