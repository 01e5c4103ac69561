#!/usr/bin/env bash
# comm-probe-VERSION-linux-ARCH.tar.gz from a portable build (cmake --preset portable): the program with everything but
# glibc and libgcc linked in, its plug-ins, catalog and documentation. What was packed is unpacked elsewhere and run before it counts.
#   packaging/build_tarball.sh build-portable [OUTPUT_FOLDER]
set -eu
build=$(cd "${1:?usage: packaging/build_tarball.sh BUILD_FOLDER [OUTPUT_FOLDER]}" && pwd)
output=$(mkdir -p "${2:-$build}" && cd "${2:-$build}" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
name=comm-probe-$version-linux-$(uname -m)
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct 2>/dev/null || date +%s)}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

cmake --install "$build" --prefix "$stage/$name" --strip >/dev/null
program=$stage/$name/bin/comm-probe
"$source/packaging/from_help.sh" "$program" "$stage/$name/share"
# shellcheck disable=SC2046
floor=$("$source/packaging/glibc_floor.sh" "$program" $(find "$stage/$name/lib" -name '*.so'))
needed=$(objdump -p "$program" | sed -n 's/^ *NEEDED *//p' | grep -vE '^(libc|libm|libdl|librt|libpthread|libgcc_s|ld-linux[-a-z0-9_]*)\.so' || true)
[ -z "$needed" ] || { echo "build_tarball.sh: the program still needs" $needed >&2; exit 1; }
stated=$(sed -n 's/.*glibc \([0-9.]*[0-9]\) or later.*/\1/p' "$source/docs/install.md" | head -1)
[ "$floor" = "$stated" ] || { echo "build_tarball.sh: needs glibc $floor, docs/install.md says ${stated:-nothing}" >&2; exit 1; }

archive=$output/$name.tar.gz
tar -C "$stage" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9n >"$archive"
mkdir "$stage/elsewhere"
tar -C "$stage/elsewhere" -xzf "$archive"
"$source/packaging/try.sh" "$stage/elsewhere/$name/bin/comm-probe"
echo "$archive"
echo "needs glibc $floor or later"
