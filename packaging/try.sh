#!/usr/bin/env bash
# Does a packed program work where it was unpacked? Runs calc, curve and explain, and reads a machine of the catalog.
#   packaging/try.sh PROGRAM
set -eu
program=${1:?usage: packaging/try.sh PROGRAM}
fail() { echo "try.sh: $program $1" >&2; exit 1; }
has() { printf '%s\n' "$1" | grep -qF "$2" || fail "$3"; }

has "$("$program" --version)" "comm-probe " "--version names no version"
has "$("$program" calc all_reduce -n 8 -s 1GB --alpha 10us --beta 25GB/s)" "70.14 ms" "calc does not give 70.14 ms"
has "$("$program" machines dgx-h100)" "H100" "machines does not know dgx-h100"
has "$("$program" explain busbw)" "algbw" "explain does not say what busbw is"
# a ring of 8 ranks, 10 us a step, 25 GB/s
table='#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong
8 2 float sum -1 140.0 0.00 0.00 0 140.0 0.00 0.00 0
1048576 262144 float sum -1 213.4 4.91 8.60 0 213.4 4.91 8.60 0
67108864 16777216 float sum -1 4837.6 13.87 24.28 0 4837.6 13.87 24.28 0
1073741824 268435456 float sum -1 75301.9 14.26 24.95 0 75301.9 14.26 24.95 0'
has "$(printf '%s\n' "$table" | "$program" curve - --beta 25GB/s)" "healthy" "curve does not call a ring healthy"
