# comm-probe: `make build`, `make run`, `make test`. What they need is installed by scripts/setup.sh
# (Debian 12; `apt-get install make` is all that has to be there before).
JOBS ?= 2
PREFIX ?= /usr/local
CCACHE_BASEDIR := $(CURDIR)
export CCACHE_BASEDIR
export CCACHE_NOHASHDIR := 1
# A third of the time from nothing; who edits and builds all day configures without it (CONTRIBUTING.md).
UNITY ?= ON
CONFIGURE = cmake -DCOMM_PROBE_UNITY=$(UNITY) --preset
SOURCES = $(shell find src plugins tests bench fuzz -name '*.cc' -o -name '*.h' 2>/dev/null)

.PHONY: build run test test-web check-web web test-asan test-tsan test-clang bench fuzz format check-format docs accuracy lint install deb tarball clean
build: build/build.ninja
	@$(CONFIGURE) release >/dev/null
	@cmake --build build -j $(JOBS)

build/build.ninja: CMakeLists.txt CMakePresets.json cmake/modules.cmake
	@scripts/setup.sh
	@$(CONFIGURE) release >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
	@rm -f build-configure.log

# A finding (1) or a limited conclusion (5) is a result, not a failure of make.
# The program alone: who only wants to run it does not wait for the tests.
run: build/build.ninja
	@cmake --build build -j $(JOBS) --target comm-probe
	@build/comm-probe run || { status=$$?; [ $$status = 1 ] || [ $$status = 5 ]; }

# Configured again: what was installed meanwhile makes another plug-in.
test: check-format
	@scripts/setup.sh test
	@$(CONFIGURE) release >/dev/null
	@cmake --build build -j $(JOBS)
	@cd build && ctest --output-on-failure -j $(JOBS)

# The page of --html: web/prebuilt/page.html out of web/src; the program embeds it, so that only those who change it need
# Node.
web/node_modules: web/package-lock.json
	@scripts/setup.sh npm
	@cd web && npm ci --silent --no-audit --no-fund
	@touch $@

web: web/node_modules
	@cd web && npm run --silent check && npm run --silent build

# is the prebuilt page what web/src gives, byte for byte
check-web: web/node_modules
	@cd web && npm run --silent check && npm run --silent fresh

# the same, then every kind of page in Chromium
test-web: build web/node_modules
	@scripts/setup.sh web
	@cd web && npm run --silent check && npm test

check-format:
	@scripts/setup.sh
	@clang-format-14 --dry-run -Werror $(SOURCES)

format:
	@clang-format-14 -i $(SOURCES)

test-asan test-tsan: test-%:
	@scripts/setup.sh
	@$(CONFIGURE) $* >/dev/null
	@cmake --build build-$* -j $(JOBS)
	@cd build-$* && ctest --output-on-failure -j $(JOBS)

# clang 14 with the same warnings as errors
test-clang:
	@scripts/setup.sh fuzz
	@cmake --preset clang >/dev/null
	@cmake --build build-clang -j $(JOBS)

bench:
	@scripts/setup.sh bench
	@$(CONFIGURE) bench >/dev/null
	@cmake --build build -j $(JOBS)
	@bench/run_all.sh build

FUZZ_SECONDS ?= 60
fuzz:
	@scripts/setup.sh fuzz
	@cmake --preset fuzz >/dev/null
	@cmake --build build-fuzz -j $(JOBS)
	@fuzz/run_all.sh build-fuzz $(FUZZ_SECONDS)

# the pages of docs/ that come from tables in the code
docs: build
	@build/comm-probe explain --markdown findings >docs/findings.md
	@build/comm-probe explain --markdown terms >docs/terms.md
	@build/comm-probe explain --markdown misconceptions >docs/misconceptions.md

# predictions beside the public curves of ../shared
CURVES ?= ../shared/data/field/curves
accuracy: build
	@scripts/accuracy.py build/comm-probe $(CURVES) >docs/accuracy.md

# sizes of functions and files against our targets, then clang-tidy
lint: build
	@scripts/setup.sh lint
	@scripts/measure_code.sh
	@find src -name '*.cc' | xargs -P $(JOBS) -n 4 clang-tidy-14 --quiet -p build --extra-arg=-Wno-unknown-warning-option 2>/dev/null

install: build
	@cmake --install build --prefix $(PREFIX)

# build/comm-probe_VERSION_ARCH.deb, for the Debian that it is built on; lintian has nothing to say about it
deb:
	@scripts/setup.sh package
	@$(CONFIGURE) release >/dev/null
	@cmake --build build -j $(JOBS) --target comm-probe
	@lintian --fail-on error,warning "$$(packaging/build_deb.sh build | tee /dev/stderr)"

# build-portable/comm-probe-VERSION-linux-ARCH.tar.gz: runs on every Linux with the glibc that it prints, or a later one
tarball:
	@scripts/setup.sh package
	@cmake --preset portable >/dev/null
	@cmake --build build-portable -j $(JOBS) --target comm-probe
	@packaging/build_tarball.sh build-portable

clean:
	@rm -rf build build-portable build-asan build-tsan build-clang build-fuzz
