#!/usr/bin/env bash
# Installs what the build and the tests need on a bare Debian 12. Needs root (or sudo); safe to repeat.
#   scripts/setup.sh         what `make build` and `make run` need
#   scripts/setup.sh test    also what the plug-ins are built with, so that all of `make test` runs
#   scripts/setup.sh bench   also the peers that `make bench` measures against
#   scripts/setup.sh fuzz    also clang and its fuzzer runtime
#   scripts/setup.sh lint    also what `make lint` needs
#   scripts/setup.sh package also what `make deb` and `make tarball` need
#   scripts/setup.sh npm     also Node and npm, for `make web` and `make check-web`
#   scripts/setup.sh web     these and Chromium, for `make test-web`
# Elsewhere than on Debian it installs nothing and says what is needed.
set -eu

build_packages="g++ cmake ninja-build ccache make pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev
  libtomlplusplus-dev libpugixml-dev zlib1g-dev libzstd-dev libsqlite3-dev libboost-dev libgtest-dev libgmock-dev jq clang-format-14 git ca-certificates"
test_packages="openmpi-bin libopenmpi-dev libucx-dev libibverbs-dev libsimgrid-dev"
bench_packages="libbenchmark-dev libgloo-dev python3-numpy $test_packages"
fuzz_packages="clang-14 libclang-rt-14-dev"
lint_packages="clang-tidy-14 universal-ctags"
package_packages="dpkg-dev lintian openmpi-bin libopenmpi-dev libucx-dev libibverbs-dev"
npm_packages="nodejs npm"
command -v npm >/dev/null && npm_packages=  # a Node from elsewhere brings its own npm
web_packages="$npm_packages chromium fonts-dejavu-core"

packages=$build_packages
for extra in "$@"; do
  case "$extra" in
    test) packages="$packages $test_packages" ;;
    bench) packages="$packages $bench_packages" ;;
    fuzz) packages="$packages $fuzz_packages" ;;
    lint) packages="$packages $lint_packages" ;;
    package) packages="$packages $package_packages" ;;
    npm) packages="$packages $npm_packages" ;;
    web) packages="$packages $web_packages" ;;
    *) echo "setup.sh: unknown part '$extra' (known: test, bench, fuzz, lint, package, npm, web)" >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  command -v cmake >/dev/null && command -v ninja >/dev/null && exit 0
  echo "setup.sh: not a Debian; install what these packages hold:" $packages >&2
  exit 3
fi

missing=
for package in $packages; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup.sh: needs root (or sudo) to install:$missing" >&2; exit 3; }
  as_root=sudo
fi
echo "setup.sh: installing$missing" >&2
$as_root apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
