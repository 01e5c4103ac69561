#!/usr/bin/env bash
# Runs the benchmarks of a build folder one after the other; each prints rows "what ours peer ratio".
#   bench/run_all.sh build
set -eu
build=${1:?usage: bench/run_all.sh BUILD_FOLDER}
failed=0
run() { echo "== $*"; "$@" || failed=1; }

run "$build/bench/bench_curve_reader"
run "$build/bench/bench_log_reader"
run "$build/bench/bench_predicted_vs_measured"
run "$build/bench/bench_local_vs_mpi" 2 64M 7 gloo
run "$build/bench/bench_local_vs_mpi" 4 1M 7
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
if [ -x "$build/bench_mpi_loops" ]; then run mpirun -n 2 "$build/bench_mpi_loops"; fi
if [ -x "$build/bench_ucx_loops" ]; then run "$build/bench_ucx_loops"; fi
run "$build/bench/bench_hang" "$build/comm-probe" "${TMPDIR:-/tmp}/comm-probe-hang" full
run "$build/bench/bench_trace" "$build/comm-probe" ../shared/tools/gen_trace.py
run "$build/bench/bench_doctor" "$build/comm-probe" ../shared
run "$build/bench/bench_topology_paths"
run "$build/bench/bench_topology_live"
run "$build/bench/bench_moe_routing"
run "$build/bench/bench_moe_all_to_all"
run "$build/bench/bench_plan" ../shared
run "$build/bench/bench_sim" "$build/tests/simgrid_peer"
run "$build/bench/bench_oracle_score" ../shared

exit $failed
