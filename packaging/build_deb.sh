#!/usr/bin/env bash
# comm-probe_VERSION_ARCH.deb from a finished build, for the Debian that it was built on. The libraries of the program are
# dependencies, those of the plug-ins only suggestions: a plug-in whose library is absent is not loaded.
#   packaging/build_deb.sh build [OUTPUT_FOLDER]
set -eu
build=$(cd "${1:?usage: packaging/build_deb.sh BUILD_FOLDER [OUTPUT_FOLDER]}" && pwd)
output=$(mkdir -p "${2:-$build}" && cd "${2:-$build}" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
arch=$(dpkg --print-architecture)
# Time stamps inside the package are those of the last commit, so that the same source gives the same package.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/debian/comm-probe

DESTDIR=$root cmake --install "$build" --prefix /usr --strip >/dev/null
doc=$root/usr/share/doc/comm-probe
install -D -m 644 "$source/packaging/copyright" "$doc/copyright"
rm -f "$doc/LICENSE"  # the copyright file names it, Debian carries the text
{
  echo "comm-probe ($version) unstable; urgency=medium"
  echo
  echo "  * Built from $(git -C "$source" rev-parse --short HEAD 2>/dev/null || echo 'a source without history')."
  echo
  echo " -- $(sed -n 's/^Maintainer: //p' "$source/packaging/control")  $(date -R -u -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9n >"$doc/changelog.gz"
"$source/packaging/from_help.sh" "$root/usr/bin/comm-probe" "$root/usr/share"
gzip -9n "$root"/usr/share/man/man1/*.1

# dpkg-shlibdeps reads debian/control of the folder it runs in.
cp "$source/packaging/control" "$stage/debian/control"
cd "$stage"
dpkg-shlibdeps -Tprogram debian/comm-probe/usr/bin/comm-probe 2>/dev/null
plugins=$(find debian/comm-probe/usr/lib -name '*.so')
: >plugins
# shellcheck disable=SC2086
[ -z "$plugins" ] || dpkg-shlibdeps -Tplugins -dSuggests $plugins 2>/dev/null
# what the program depends on already is no suggestion
sed -i 's/shlibs:Suggests=//; s/, /\n/g' plugins
sed -i -n '/^\(libc6\|libgcc-s1\|libstdc++6\) /!p' plugins
mkdir "$root/DEBIAN"
{
  sed -n '/^Package:/,$p' debian/control | sed "s/^Architecture:.*/Architecture: $arch/;/^Description:/,\$d"
  echo "Version: $version"
  echo "Maintainer: $(sed -n 's/^Maintainer: //p' debian/control)"
  echo "Section: $(sed -n 's/^Section: //p' debian/control)"
  echo "Priority: optional"
  echo "Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)"
  sed -n 's/^shlibs:Depends=/Depends: /p' program
  [ ! -s plugins ] || echo "Suggests: $(paste -sd, plugins | sed 's/,/, /g')"
  sed -n '/^Description:/,$p' debian/control
} >"$root/DEBIAN/control"
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
chmod -R u=rwX,go=rX "$root"

dpkg-deb --root-owner-group --build "$root" "$output/comm-probe_${version}_$arch.deb" >/dev/null
echo "$output/comm-probe_${version}_$arch.deb"
