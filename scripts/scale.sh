#!/usr/bin/env bash
# The tables of docs/scale.md: scripts/scale.sh [PATH_OF_comm-probe]. Needs jq. Under a minute.
set -eu
probe=${1:-build/comm-probe}
ranks="8 64 512 1024 4096 16384 65536 131072"
fabrics="rail-optimised:nodes_per_leaf=32,routing=spread
fat-tree:nodes_per_leaf=4,oversubscription=2,routing=spread
dragonfly:nodes_per_switch=4,switches_per_group=8"

# microseconds of one call: op, ranks, bytes, fabric
us() { "$probe" sim "$1" --machine dgx-h100 -n "$2" -s "$3" --fabric "$4" --json | jq .result.time_us; }

# size at which what grows with bytes is as long as what does not
row() {
  local smallest=$2 small large  # one byte for each rank: next to nothing but alpha
  small=$(us "$1" "$2" "$smallest" "$4")
  large=$(us "$1" "$2" "$3" "$4")
  awk -v n="$2" -v small="$small" -v large="$large" -v bytes="$3" '
    function scaled(value, names,   name, i) {
      split(names, name, " ")
      for (i = 1; value >= 999.5 && i < length(name); ++i) value /= 1e3
      return sprintf("%.3g %s", value, name[i])
    }
    BEGIN {
      printf "| %d | %s | %s | %.3g %% | %s |\n", n, scaled(large, "us ms s"),
             scaled(small, "us ms s"), 100 * small / large,
             scaled(small / (large - small) * bytes / 1e3, "KB MB GB TB")
    }'
}

table() {  # title, op, bytes
  for fabric in $fabrics; do
    printf '\n%s, `%s`\n\n| ranks | time | of it alpha | share | knee |\n|---:|---:|---:|---:|---:|\n' "$1" "$fabric"
    for n in $ranks; do row "$2" "$n" "$3" "$fabric"; done
  done
}

table "all_reduce of 1 GiB" all_reduce 1073741824
table "all_gather of 1 GiB" all_gather 1073741824
table "all_to_all of 1 GiB" all_to_all 1073741824
table "MoE dispatch of 224 MiB" all_to_all 234881024
