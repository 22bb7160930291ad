# SPDX-License-Identifier: Apache-2.0
# `make run` and `make test` do all set-up by themselves. Everything is built below build/, tools
# live in .venv. Warnings are errors where CI is set (CI=true), as on the build machine.

BIN = .venv/bin
WITH = PATH="$(CURDIR)/$(BIN):$$PATH"
MESON = $(WITH) meson
NINJA = $(WITH) ninja
PIP = $(WITH) python -m pip --disable-pip-version-check
PYTEST = $(WITH) python -m pytest
WERROR = $(if $(CI),true,false)
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
FUZZ_RUNS ?=
SANITIZED = -Ddebug=true -Doptimization=1 -Db_ndebug=false -Db_lundef=false -Dpython=disabled

comma = ,
heading = @printf '\n== %s\n' "$(1)"

# $(call configure,FOLDER,ARGUMENTS): once, and again if src/meson.build names files that are new.
define configure
	@mkdir -p build
	@test -f build/$(1)/build.ninja || $(MESON) setup build/$(1) -Dwerror=$(WERROR) $(2) \
		> build/$(1).log || { cat build/$(1).log; exit 1; }
	@PATH="$(CURDIR)/$(BIN):$$PATH" ci/reconfigure.sh build/$(1)
endef
# $(call build,FOLDER,ARGUMENTS): configures, compiles what changed, and names the files that
# src/meson.build expects and that do not exist.
define build
	$(call configure,$(1),$(2))
	@$(NINJA) -C build/$(1) -j $(JOBS) --quiet
	@grep -o 'WARNING: .* is missing$$' build/$(1)/meson-logs/meson-log.txt || true
endef
# $(call ctest,FOLDER,ARGUMENTS)
define ctest
	@$(MESON) test -C build/$(1) --no-rebuild --print-errorlogs -j $(JOBS) $(2) \
		$(if $(LEVADA_TEST_LENGTH),--timeout-multiplier 40)
	@ci/left_files.sh build/$(1)/tests/empty
endef

.PHONY: all help tools setup build install run test test-c test-asan test-tsan-short test-minimal test-python
.NOTPARALLEL:
.PHONY: test-one mutate test-model test-oracle sanitize fuzz bench bench-peers lint format docs wheel exports generated ci-full clean

all: build

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/\1\t\2/p' Makefile | expand -t 14

tools:
	@ci/setup.sh

# Enough for an editor: the tools, and the commands that clangd reads.
setup: tools ## install the tools, and prepare the editor
	$(call configure,release)
	@ln -sfn build/release/compile_commands.json compile_commands.json

build: tools ## build the library, the command and the tests
	$(call heading,build: release)
	$(call build,release)
	@test "$(CI)" = true || $(BIN)/python ci/lint_generated.py build/release --update

# The package and the command into .venv, by the same way as `pip install .`
install: tools ## install the package and the command into .venv
	$(call heading,build: package)
	@$(PIP) install -qq --no-deps --no-build-isolation --force-reinstall \
		-Cbuild-dir=build/wheel -Csetup-args=-Dwerror=$(WERROR) .
	@test "$(CI)" = true || $(BIN)/python ci/lint_generated.py build/wheel --update --changed || \
		$(PIP) install -qq --no-deps --no-build-isolation --force-reinstall \
			-Cbuild-dir=build/wheel -Csetup-args=-Dwerror=$(WERROR) .

run: install ## run the main job, and show its result
	$(call heading,run)
	@$(WITH) bash examples/run_main.sh
	@$(WITH) python examples/result.py build/run

test: test-c test-minimal test-asan test-tsan-short test-model test-python ## build everything and run every test

test-c: build
	$(call heading,C tests: release)
	$(call ctest,release)

# make test-one NAME=every: the test programs of that name, and its part of the conformance suite.
test-one: tools ## NAME=take: run one test, and the conformance suite on that name
	@ls tests/*/test_$(NAME).c > /dev/null 2>&1 || { echo "make test-one: no test named '$(NAME)'; \
	write tests/stage/, tests/source/ or tests/decode/test_$(NAME).c"; exit 1; }
	$(call configure,release)
	@$(MESON) test -C build/release --print-errorlogs $(NAME)
ifneq ($(wildcard tests/stage/test_$(NAME).c tests/source/test_$(NAME).c tests/decode/test_$(NAME).c),)
	@$(NINJA) -C build/release -j $(JOBS) --quiet tests/test_conformance_conformance
	@build/release/tests/test_conformance_conformance $(NAME)
endif

# Every option off: names stay and answer EUNIMPLEMENTED, kernels are plain C.
test-minimal: tools
	$(call heading,C tests: all options off)
	$(call build,minimal,-Dauto_features=disabled -Dtests=enabled)
	$(call ctest,minimal,--no-suite fuzz)

test-asan: tools
	$(call heading,C tests and fuzz corpus: address and undefined behavior)
	$(call build,asan,-Db_sanitize=address$(comma)undefined $(SANITIZED))
	$(call ctest,asan,--timeout-multiplier 4)

test-tsan-short: tools
	$(call heading,C tests: threads)
	$(call build,tsan,-Db_sanitize=thread -Ddelays=true $(SANITIZED))
	$(call ctest,tsan,--timeout-multiplier 6 --suite stress)

LATE_TESTS = $(patsubst %,python/tests/test_%.py,golden_parse golden_bucket hostile_messages decoding \
	padding_model)

# A process for each core: one that has no test left takes some of another.
SPREAD = -n $(JOBS) --dist worksteal

# With torch, pyarrow and others where pip can install them; tests that need them skip elsewhere.
test-python: install
	@ci/setup.sh torch doors
	$(call heading,Python tests)
	@$(PYTEST) $(SPREAD) -rs $(wildcard python/tests tests/cli) ci
	$(call heading,Python tests: numbers of any column stay encoded until a batch is made)
	@LEVADA_TEST_LATE=random $(PYTEST) $(SPREAD) $(LATE_TESTS)
	@LEVADA_TEST_LATE=always $(PYTEST) $(SPREAD) $(LATE_TESTS)

# Protocols over all their states, where spin is installed.
test-model: tools
	$(call heading,models)
	@tests/model/run.sh || test $$? -eq 77

sanitize: test-asan ## run the C tests with sanitizers
	$(call heading,C tests: threads in full)
	$(call build,tsan,-Db_sanitize=thread -Ddelays=true $(SANITIZED))
	$(call ctest,tsan,--timeout-multiplier 6)

test-oracle: install ## compare with TensorFlow and pyarrow
	@ci/setup.sh oracle
	$(call heading,Tests against other readers)
	@$(PYTEST) -m oracle python/tests
	@LEVADA_TEST_LATE=random $(PYTEST) -m oracle python/tests

fuzz: tools ## run every fuzz target for FUZZ_SECONDS, or FUZZ_RUNS inputs; NAME=format_csv: one
	@ci/setup.sh clang
	$(call heading,fuzz: $(FUZZ_SECONDS) s for each target)
	@test -f build/fuzz/build.ninja || CC=clang CXX=clang++ $(MESON) setup build/fuzz \
		-Dfuzzers=true -Db_sanitize=address,undefined $(SANITIZED) -Doptimization=2 > /dev/null
	@$(NINJA) -C build/fuzz -j $(JOBS) --quiet $(addprefix fuzz/fuzz_,$(NAME))
	@ci/fuzz.sh build/fuzz/fuzz $(FUZZ_SECONDS) $(or $(FUZZ_RUNS),-1) $(NAME)

# make bench ROW=12: that row alone; the page stays as it is.
bench: install ## measure the speed; ROW=12: one row
	@$(BIN)/python bench/run.py $(if $(ROW),--only $(ROW))

# The same with the libraries that levada is compared with, in a virtual environment of their own.
bench-peers: install ## measure the speed together with other libraries
	@ci/setup.sh peers
	@test -x .venv-peers/bin/python || $(BIN)/python -m venv .venv-peers
	@grep -v '^#' bench/peers.txt | while read -r peer; do \
		.venv-peers/bin/python -m pip install -qq --disable-pip-version-check "$$peer" || \
		echo "bench: $$peer was not installed; its rows are left unmeasured"; \
	done
	@$(BIN)/python bench/run.py

# make mutate FILE=src/batch/pack.c: all lines of a file, in place of those that differ from SINCE.
mutate: tools ## change the code that changed since SINCE (HEAD~1), and see that tests fail
	$(call heading,mutate)
	@$(WITH) python ci/mutate.py --since $(or $(SINCE),HEAD~1) $(FILE)

lint: build ## check the rules of the code
	@ci/setup.sh types
	$(call heading,lint)
	@$(NINJA) -C build/release -j $(JOBS) --quiet $$($(NINJA) -C build/release -t targets all | \
		sed -n 's,^\(bench/[a-z_]*\): .*,\1,p') # nothing else builds them each time
	@ci/check build/release

# The documentation as a site. A broken link or reference fails it.
docs: install ## write the documentation as a site
	@ci/setup.sh docs
	$(call heading,docs)
	@$(BIN)/python -c 'import furo, hawkmoth, myst_parser' 2> /dev/null || { \
		echo "make docs: SKIPPED: pip could not install ci/requirements-docs.txt"; exit 0; } && \
		$(WITH) python -m sphinx -q -W --keep-going -c docs/site -d build/doctrees . build/docs && \
		echo "build/docs/index.html"

# dist/: a manylinux wheel with ISA-L and zstd inside, checked and tried without a compiler.
wheel: tools ## make a wheel in dist/
	@ci/setup.sh wheel
	$(call heading,wheel)
	@ci/wheel.sh

format: tools ## format C and Python
	@$(BIN)/python ci/format.py --fix
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format --quiet .

# Lists and files that are committed although a program writes them.
exports: build ## update the list of exported symbols
	@$(BIN)/python ci/lint_exports.py build/release --update

generated: install ## update the generated files
	@$(BIN)/python ci/lint_generated.py build/release --update
	@$(BIN)/python ci/lint_numbers.py --update
	@$(BIN)/python docs/images/first.py

ci-full: export LEVADA_TEST_LENGTH = 10
ci-full: lint test sanitize ## run all compilers, sanitizers and options
	@ci/full.sh

clean: ## remove build/
	rm -rf build

