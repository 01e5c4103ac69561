#!/usr/bin/env bash
# The oldest glibc that programs start on: the highest GLIBC_x.y among the symbols they import.
#   packaging/glibc_floor.sh FILE...     prints "2.36"; -v: also which symbols ask for it
set -eu
verbose=
if [ "${1:-}" = -v ]; then verbose=1; shift; fi
[ $# -gt 0 ] || { echo "usage: packaging/glibc_floor.sh [-v] FILE..." >&2; exit 2; }
symbols=$(objdump -T "$@" | sed -n 's/.*[( ]GLIBC_\([0-9.]*\))\{0,1\}  *\(.*\)/\1 \2/p')
[ -n "$symbols" ] || { echo "glibc_floor.sh: no symbol of glibc in $*" >&2; exit 1; }
floor=$(printf '%s\n' "$symbols" | cut -d' ' -f1 | sort -V | tail -1)
echo "$floor"
[ -z "$verbose" ] || printf '%s\n' "$symbols" | sed -n "s/^$floor /  /p" | sort -u >&2
