# comm-probe: `make build`, `make run`, `make test`. Everything needed is installed by scripts/setup.sh (Debian 12).
JOBS ?= 2
PREFIX ?= /usr/local
CCACHE_BASEDIR := $(CURDIR)
export CCACHE_BASEDIR
export CCACHE_NOHASHDIR := 1
SOURCES = $(shell git ls-files --cached --others --exclude-standard '*.cc' '*.h')

.PHONY: build run test test-asan test-tsan test-clang bench fuzz format check-format install clean
build: build/build.ninja
	@cmake --build build -j $(JOBS)

build/build.ninja: CMakeLists.txt CMakePresets.json cmake/modules.cmake
	@scripts/setup.sh
	@cmake --preset release >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
	@rm -f build-configure.log

run: build
	@build/comm-probe run

test: check-format build
	@cd build && ctest --output-on-failure -j $(JOBS)

check-format:
	@scripts/setup.sh
	@clang-format-14 --dry-run -Werror $(SOURCES)

format:
	@clang-format-14 -i $(SOURCES)

test-asan test-tsan: test-%:
	@scripts/setup.sh
	@cmake --preset $* >/dev/null
	@cmake --build build-$* -j $(JOBS)
	@cd build-$* && ctest --output-on-failure -j $(JOBS)

# clang 14 with the same warnings as errors
test-clang:
	@scripts/setup.sh fuzz
	@cmake --preset clang >/dev/null
	@cmake --build build-clang -j $(JOBS)

bench:
	@scripts/setup.sh bench
	@cmake --preset bench >/dev/null
	@cmake --build build -j $(JOBS)
	@bench/run_all.sh build

FUZZ_SECONDS ?= 60
fuzz:
	@scripts/setup.sh fuzz
	@cmake --preset fuzz >/dev/null
	@cmake --build build-fuzz -j $(JOBS)
	@fuzz/run_all.sh build-fuzz $(FUZZ_SECONDS)

install: build
	@cmake --install build --prefix $(PREFIX)

clean:
	@rm -rf build build-asan build-tsan build-clang build-fuzz
