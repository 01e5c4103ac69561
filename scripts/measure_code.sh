#!/usr/bin/env bash
# Sizes of functions and files of src/ against our targets: functions median <= 8, p90 <= 35,
# p99 <= 80, none over 120 lines; files none over 600 lines (tables excepted). Exits 1 where a
# target is missed, 3 where universal-ctags is absent.   measure_code.sh [FOLDER...]
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- src
if ! ctags --version 2>/dev/null | grep -q 'Universal Ctags'; then
  echo "measure_code.sh: needs universal-ctags (scripts/setup.sh lint)" >&2
  exit 3
fi

status=0
# path:line:lines of every function, from its first to its last line
functions=$(ctags -R --languages=C++ --langmap=C++:+.h --kinds-C++=f --fields=+ne -f - "$@" |
  awk -F'\t' '!/^!/ { line = end = 0
    for (i = 4; i <= NF; i++) {
      if ($i ~ /^line:/) line = substr($i, 6)
      if ($i ~ /^end:/) end = substr($i, 5)
    }
    if (end >= line && line > 0) print end - line + 1 "\t" $2 ":" line "\t" $1 }' | sort -n)
echo "$functions" | awk -F'\t' '
  { length_of[NR] = $1 }
  function at(share,  i) { i = int(NR * share + 0.999999); return length_of[i < 1 ? 1 : i] }
  END {
    printf "functions %d: median %d, p90 %d, p99 %d, max %d lines\n",
           NR, at(0.5), at(0.9), at(0.99), length_of[NR]
    exit at(0.5) > 8 || at(0.9) > 35 || at(0.99) > 80 || length_of[NR] > 120
  }' || { echo "over the targets: median 8, p90 35, p99 80, max 120"; status=1; }
echo "longest:"
echo "$functions" | tail -n 5 | sort -rn | awk -F'\t' '{ printf "  %4d  %s %s\n", $1, $2, $3 }'

files=$(find "$@" -name '*.cc' -o -name '*.h' | xargs wc -l | grep -v ' total$' | sort -n)
echo "$files" | awk '{ lines[NR] = $1 } END {
  printf "files %d: median %d, max %d lines\n", NR, lines[int((NR + 1) / 2)], lines[NR] }'
large=$(echo "$files" | awk '$1 > 600 && $2 !~ /table/ { printf "  %4d  %s\n", $1, $2 }')
[ -z "$large" ] || { echo "files over 600 lines:"; echo "$large"; status=1; }
exit $status
