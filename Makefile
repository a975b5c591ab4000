# The front door: `make help` lists what it opens.
#
# The library itself needs CMake and a C compiler only. What else a target needs, tools/bootstrap.sh
# puts into .venv, which is why that folder comes first in PATH.

BUILD  ?= build
# What users get, built without tests
RELEASE ?= $(BUILD)/release
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
# The example that `make demo` runs
DEMO   ?= vector_add
EXAMPLES = $(sort $(basename $(notdir $(wildcard examples/*.c examples/*/*_train.c))))
# The C tests that quick and test-busy run,
TESTS  ?= .
# For clang-tidy: --checks=-clang-analyzer-* leaves out what takes nearly all of its time
TIDY_FLAGS ?=
# For configuring, such as CMAKE_FLAGS=-DCMAKE_C_COMPILER=clang
CMAKE_FLAGS ?=

export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# A recipe's shell finds ninja only after the environment was made; it is asked there, not here.
CHOOSE_NINJA = CMAKE_GENERATOR=$$(command -v ninja >/dev/null && echo Ninja || echo 'Unix Makefiles')
CONFIGURE = $(CHOOSE_NINJA) cmake -S . $(CMAKE_FLAGS)
COMPILE   = cmake --build
GENERATOR = python -m generator
C_FILES   = $(shell find $(wildcard bench examples include src tests tools) -name '*.[ch]' -o -name '*.[ch]pp')

.DEFAULT_GOAL := all
.PHONY: all amalgamation bench c-tools check-generated clean client-programs clients cmake deb demo dist docs environment fmt fuzz-ptx generate help install lint lint-c lint-python lock new-toolkit ptx-corpus ptx-python ptx-random \
	quick structure test test-all test-build test-busy test-gpu toolkits

all: cmake ## build the library
	@$(CONFIGURE) -B $(RELEASE)
	@$(COMPILE) $(RELEASE)

demo: cmake ## run an example, on a GPU or simulated: DEMO=vector_add
	@test -n '$(filter $(DEMO),$(EXAMPLES))' || { echo "error: there is no example '$(DEMO)'; there are $(EXAMPLES)" >&2; exit 2; }
	@echo 'Building anycuda … (a minute or two; $(BUILD)/demo.log)'
	@mkdir -p $(BUILD)
	@{ $(CONFIGURE) -B $(RELEASE) && $(COMPILE) $(RELEASE) --target example_$(DEMO); } >$(BUILD)/demo.log 2>&1 || \
		{ tail -n 30 $(BUILD)/demo.log >&2; exit 1; }
	@$(RELEASE)/examples/$(DEMO)

docs: ## make the reference from the headers (needs doxygen)
	@tools/docs.sh $(BUILD)/docs

# Configured for PREFIX, because the folder of libraries depends on it: Debian's is lib/x86_64-linux-gnu in /usr only.
install: cmake ## install it: PREFIX=/usr/local, DESTDIR=
	@$(CONFIGURE) -B $(RELEASE) -DCMAKE_INSTALL_PREFIX=$(abspath $(PREFIX))
	@$(COMPILE) $(RELEASE)
	@cmake --install $(RELEASE)

amalgamation: ## make one source file and one header of it
	@python3 tools/amalgamate.py $(BUILD)/amalgamation

deb: cmake ## make a package for Debian and Ubuntu
	@$(CONFIGURE) -B $(BUILD)/deb -DCMAKE_INSTALL_PREFIX=/usr
	@$(COMPILE) $(BUILD)/deb
	@cd $(BUILD)/deb && cpack

# Of what is committed; the same bytes each time, because a commit has one time.
dist: ## make an archive of the sources
	@mkdir -p $(BUILD)
	@name=anycuda-$$(cat VERSION) && git archive --prefix=$$name/ HEAD | gzip -9n >$(BUILD)/$$name.tar.gz && \
		sha256sum $(BUILD)/$$name.tar.gz

quick: c-tools ## build, run the C tests that need no toolkit: TESTS=regex
	@$(CONFIGURE) -B $(BUILD)/quick -DANYCUDA_TESTS=ON -DANYCUDA_DEV=ON -DCMAKE_BUILD_TYPE=Debug >/dev/null
	@$(COMPILE) $(BUILD)/quick
	@ctest --test-dir $(BUILD)/quick --output-on-failure --progress --parallel $(JOBS) \
		--label-exclude 'slow|long|toolkit' --tests-regex '$(TESTS)'

test: test-build ## run every test that needs no GPU; ends with one count
	@$(CHOOSE_NINJA) python tools/run_tests.py $(BUILD)/test  # tests that build something do it faster with ninja

test-all: ## make test, and what it leaves out for its length
	@ANYCUDA_TEST_ALL=1 $(MAKE) --no-print-directory test

# The library as it is released, so that pytest builds none of its own; `make quick` builds one to step through.
test-build: toolkits
	@$(CONFIGURE) -B $(BUILD)/test -DANYCUDA_TESTS=ON -DANYCUDA_BENCH=ON -DANYCUDA_DEV=ON -DCMAKE_BUILD_TYPE=Release
	@$(COMPILE) $(BUILD)/test

test-busy: test-build ## run the C tests on a busy machine: ROUNDS=10 TESTS=regex
	@TESTS='$(TESTS)' tools/test_busy.sh $(BUILD)/test

test-gpu: ## test every real libcudart on a GPU; print a report
	@tools/test_gpu.sh

clients: toolkits ## compile public projects: CHECKOUTS=folder
	@test -n "$(CHECKOUTS)" || { echo 'error: say where the checkouts of tools/clients.yaml are: CHECKOUTS=folder' >&2; exit 2; }
	@python tools/clients.py '$(CHECKOUTS)' $(FLAGS)

client-programs: all environment ## run public projects simulated: CHECKOUTS=…
	@test -n "$(CHECKOUTS)" || { echo 'error: say where the checkouts of tools/clients.yaml are: CHECKOUTS=folder' >&2; exit 2; }
	@python tools/client_programs.py '$(CHECKOUTS)' $(RELEASE) $(FLAGS)

# Without PROGRAMS it runs what it builds itself, for which there must be nvcc.
ptx-corpus: all environment ## run CUDA programs on the simulator: PROGRAMS=…
	@test -n "$(PROGRAMS)" || python tests/ptx_corpus/build.py $(BUILD)/ptx-corpus || { \
		echo 'error: say where the programs of tests/ptx_corpus/programs.yaml are: PROGRAMS=folder' >&2; exit 2; }
	@python tests/ptx_corpus/run.py '$(or $(PROGRAMS),$(BUILD)/ptx-corpus)' --library $(RELEASE)/libanycuda-sim.so $(FLAGS)

ptx-random: all ## simulate random CUDA programs of nvcc: SEED=1 COUNT=10
	@python tests/ptx_corpus/run_random.py $(BUILD)/ptx-random --library $(RELEASE)/libanycuda-sim.so \
		--seed $(or $(SEED),1) --programs $(or $(COUNT),10) $(FLAGS) || test $$? -eq 77

# Seeds are the texts of the tests, and a kernel for each instruction of tests/ptx/cells.txt.
fuzz-ptx: ## feed clang's libFuzzer to the reader of PTX: SECONDS=600
	@command -v clang >/dev/null || { echo 'error: fuzz-ptx needs clang, whose libFuzzer it uses' >&2; exit 2; }
	@$(CONFIGURE) -B $(BUILD)/fuzz -DCMAKE_C_COMPILER=clang -DANYCUDA_TESTS=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DCMAKE_C_FLAGS='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined' >/dev/null
	@$(COMPILE) $(BUILD)/fuzz --target ptx_fuzzer
	@python -m tests.ptx.seeds $(BUILD)/fuzz/seeds
	@cd $(BUILD)/fuzz && ASAN_OPTIONS=allocator_may_return_null=1 tests/sim/ptx_fuzzer -max_total_time=$(or $(SECONDS),600) \
		-timeout=60 -max_len=8192 -malloc_limit_mb=1000000000 seeds

ptx-python: all ## simulate Numba, Triton, …: PYTHON=… that has them
	@python tests/ptx_corpus/python_packages.py $(RELEASE)/libanycuda-sim.so $(BUILD)/ptx-python \
		--python $(or $(PYTHON),python) || test $$? -eq 77

bench: toolkits ## measure, and print the figures
	@tools/bootstrap.sh bench
	@$(CONFIGURE) -B $(BUILD)/bench -DANYCUDA_BENCH=ON
	@$(COMPILE) $(BUILD)/bench --target bench

toolkits: environment ## fetch the pinned toolkits: ANYCUDA_TOOLKITS=folder
	@$(GENERATOR) fetch

generate: toolkits ## extract the facts and render generated/
	@$(GENERATOR) extract
	@$(GENERATOR) render

check-generated: environment ## fail if generated/ is not what spec/ renders to
	@$(GENERATOR) check

new-toolkit: environment ## pin, fetch, extract, compare, render: VERSION=13.6
	@test -n "$(VERSION)" || { echo 'error: say which: make new-toolkit VERSION=13.6' >&2; exit 2; }
	@$(GENERATOR) fetch --pin $(VERSION)
	@$(GENERATOR) extract
	@$(GENERATOR) diff $$(sed -n 's/^  - version: "\(.*\)"/\1/p' spec/toolkits.yaml | grep -xB1 '$(VERSION)')
	@$(GENERATOR) render  # last: where it stops for a decision, the report stands above the reason

fmt: environment ## format C and Python
	@ruff format --quiet
	@ruff check --silent --fix --exit-zero
	@echo $(C_FILES) | xargs --no-run-if-empty clang-format -i

lint: lint-python lint-c ## check: ruff, mypy, clang-format, clang-tidy

lint-python: environment
	@ruff format --check --quiet
	@ruff check --quiet
	@mypy

lint-c: test-build
	@echo $(C_FILES) | xargs --no-run-if-empty clang-format --dry-run -Werror
	@echo $(filter %.c,$(C_FILES)) | xargs --no-run-if-empty --max-procs=$(JOBS) --max-args=4 \
		clang-tidy --quiet $(TIDY_FLAGS) -p $(BUILD)/test

structure: ## show what each folder of src/ includes
	@python3 tools/structure.py

environment: ## set up .venv, CMake, Ninja, cmocka, doxygen
	@tools/bootstrap.sh

lock: environment ## pin the newest Python packages (needs uv)
	@for name in requirements requirements-bench requirements-cmake requirements-packages; do \
		uv pip compile --quiet --upgrade --universal --python-version 3.10 --generate-hashes \
			--custom-compile-command 'make lock' $$name.in -o $$name.lock || exit; done

clean: ## remove what was built; .venv and the toolkits stay
	@rm -rf $(BUILD)

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

cmake:
	@tools/bootstrap.sh cmake

c-tools:
	@tools/bootstrap.sh c
