#!/usr/bin/env bash
# Runs every fuzz target of a build folder for some seconds; stops at the first failure.
#   fuzz/run_all.sh build-fuzz 60
# Seeds: fuzz/seeds/NAME/ and, where ../shared stands beside the checkout, the folders of its line
# in `seeds`. What a run finds of interest stays in BUILD/corpus/NAME for the next run.
set -euo pipefail
build=${1:?usage: fuzz/run_all.sh BUILD_FOLDER SECONDS}
seconds=${2:-60}
root=$(cd "$(dirname "$0")/.." && pwd)
shared=$root/../shared/data

seeds() { # the folders of real inputs for a target
  case "$1" in
    curve_reader_fuzz) echo "$shared/field/curves" ;;
    flight_recorder_fuzz) echo "$shared/field/flight-recorder/nvrx_gpu_error_1st $shared/hang/01_size_mismatch/pickle $shared/hang/16_ring_wrap_truncated_file/json $shared/hang/15_gpu_error_only_active/pickle" ;;
    job_lines_fuzz) echo "$shared/field/logs $shared/hang/01_size_mismatch/log $shared/hang/07_rank_exited_no_dump/log $shared/h200/logs" ;;
    kineto_fuzz) echo "$shared/h200/traces/ok" ;; # longer than -max_len: their beginnings
    deepep_fuzz) echo "$shared/field/perftest" ;;
    trace_across_fuzz) echo "$shared/trace/public/inspector" ;;
    trace_killers_fuzz) echo "$root/fuzz/seeds/kineto_fuzz" ;;
    debug_log_fuzz) echo "$shared/field/logs $shared/h200/logs $shared/h200/logs/tuning" ;;
    topology_fuzz) echo "$shared/field/topo $shared/oracle/dgxh100 $shared/oracle/gb200-tray" ;;
  esac
}

for target in "$build"/fuzz/*_fuzz; do
  name=$(basename "$target")
  corpus=$build/corpus/$name
  mkdir -p "$corpus"
  folders=
  for folder in "$root/fuzz/seeds/$name" $(seeds "$name"); do
    [ -d "$folder" ] && folders="$folders $folder"
  done
  echo "== $name ($seconds s)"
  # shellcheck disable=SC2086
  "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
    -artifact_prefix="$build/corpus/$name-" "$corpus" $folders >"$build/corpus/$name.log" 2>&1 || {
    tail -n 40 "$build/corpus/$name.log"
    echo "fuzz: $name found a failure; its input is named above"
    exit 1
  }
  tail -n 1 "$build/corpus/$name.log"
done
