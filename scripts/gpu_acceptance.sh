#!/usr/bin/env bash
# Everything that is measured on a machine with GPUs, in one call: the raw material of docs/measured/.
#
#   scripts/gpu_acceptance.sh PROGRAM FOLDER [first|all|lab]
#
#   first  what one GPU or more must show, some three minutes: run --quick (timed), run, the probe under settings that
#          take its overlap away, link, NCCL against plan, our all_reduce, the tests of the kernels (TEST_HW=file)
#   all    `first`, and what needs several GPUs: every collective from 8 B to 8 GiB, NCCL beside a plain loop and
#          PyTorch, small all_reduces every way there is, routed all_to_alls, the page of `run`
#   lab    six hangs and seven slow jobs of real NCCL, diagnosed
#
# ONLY=REGEX takes the steps whose names match. Every step has a time limit and leaves FOLDER/NAME.txt; one line each
# says NAME, its status and its seconds. Nothing is judged here. NCCL is found as `bench --backend nccl` finds it; NVLink
# multicast stays off.
set -u
program=$(realpath "$1") || exit 2
beside=$(realpath "$(dirname "$0")/../bench/gpu") || exit 2
mkdir -p "$2" && cd "$2" || exit 2
what=${3:-first}
export NCCL_NVLS_ENABLE=0
if [ -z "${COMM_PROBE_NCCL:-}" ]; then
  found=$(timeout 20 python3 -c 'import nvidia.nccl; print(list(nvidia.nccl.__path__)[0])' 2>/dev/null)
  [ -z "$found" ] || export COMM_PROBE_NCCL=$found/lib/libnccl.so.2
fi
gpus=$(nvidia-smi -L 2>/dev/null | wc -l)

# step SECONDS NAME COMMAND...
step() {
  local limit=$1 name=$2 begin=$EPOCHREALTIME status=0
  shift 2
  [[ $name =~ ${ONLY:-.} ]] || return 0
  timeout -k 5 "$limit" "$@" > "$name.txt" 2> "$name.err" || status=$?
  [ -s "$name.err" ] || rm -f "$name.err"
  awk -v n="$name" -v s="$status" -v a="$begin" -v b="$EPOCHREALTIME" \
    'BEGIN { printf "%-24s status %3d  %6.1f s\n", n, s, b - a }' | tee -a steps.txt
}
probe() { step "$1" "$2" "$program" "${@:3}"; }

# Ranks of NCCL: one per GPU, or four that share the only one (decisions count, times do not).
shared=()
[ "$gpus" -gt 1 ] || shared=(--one-gpu-ranks 4)

# Each in a process of its own, as ctest runs them: who has used the driver cannot fork ranks.
hardware_tests() {
  local test
  for test in $("$TEST_HW" --gtest_list_tests | awk '/^[^ ]/ { suite = $1 } /^ / { print suite $1 }'); do
    step 60 "hw-$test" env COMM_PROBE_TESTED="$program" "$TEST_HW" --gtest_filter="$test"
  done
}

first() {
  nvidia-smi > nvidia-smi.txt 2>&1
  nvidia-smi topo -m > nvidia-smi-topo.txt 2>&1
  probe 90 run-quick run --quick
  probe 90 run-quick-json run --quick --json
  # The finding link.no-overlap, made on purpose.
  CUDA_DEVICE_MAX_CONNECTIONS=1 probe 90 run-one-queue run --quick
  CUDA_LAUNCH_BLOCKING=1 probe 120 run-blocking run --quick
  probe 90 link-quick link --only pcie,p2p --quick
  probe 300 link link --only pcie,p2p --json
  probe 120 nccl-all_reduce bench all_reduce --backend nccl "${shared[@]}" -b 8 -e 16M -f 8 --timeout 20s
  probe 60 nccl-all_reduce-json bench all_reduce --backend nccl "${shared[@]}" -b 8 -e 16M -f 64 --timeout 20s --json
  probe 60 cuda-one-shot bench all_reduce --backend cuda --algo one-shot -b 8K -e 256K -G 10 -n 100
  probe 60 cuda-two-shot bench all_reduce --backend cuda --algo two-shot -b 8K -e 8M -G 10 -n 50
  [ -z "${TEST_HW:-}" ] || hardware_tests
  probe 400 run run --json --html run.html
}

several() {
  if [ "$gpus" -lt 2 ]; then
    echo "one GPU: nothing crosses a link" | tee -a steps.txt
    return
  fi
  for op in all_reduce all_gather reduce_scatter broadcast reduce all_to_all send_recv; do
    probe 200 "nccl-$op-large" bench "$op" --backend nccl -b 8 -e 8G -f 4 --timeout 60s --keep "nccl-$op-log"
    tar -C . -czf "nccl-$op-log.tgz" "nccl-$op-log" 2>/dev/null && rm -rf "nccl-$op-log"
  done
  probe 120 nccl-graph bench all_reduce --backend nccl -b 1K -e 8M -f 2 -G 20
  probe 120 nccl-window bench all_reduce --backend nccl -b 1K -e 8M -f 2 -R 2 --keep nccl-window-log
  tar -czf nccl-window-log.tgz nccl-window-log 2>/dev/null && rm -rf nccl-window-log
  step 400 nccl-peers python3 "$beside/nccl_peers.py" "$program" 5
  step 300 decode-peers python3 "$beside/decode_peers.py" "$program" 2
  step 200 moe-routing bash "$beside/moe_routing.sh" "$program"
  probe 120 accept run --quick --accept
}

lab() {
  for class in param_mismatch count_mismatch p2p_unpaired comm_order_inversion rank_dead_or_stuck network_or_hardware; do
    probe 90 "hang-$class" lab hang --class "$class" --folder "hang-$class-left"
    probe 20 "hang-$class-said" hang "hang-$class-left"
    tar -czf "hang-$class-left.tgz" "hang-$class-left" 2>/dev/null && rm -rf "hang-$class-left"
  done
  for class in forced_algorithm one_channel p2p_off; do
    probe 60 "slow-$class" lab slow --class "$class" --folder "slow-$class-left" --patience 50s
    probe 20 "slow-$class-said" doctor "slow-$class-left/planted"
    tar -czf "slow-$class-left.tgz" "slow-$class-left" 2>/dev/null && rm -rf "slow-$class-left"
  done
  for class in healthy tiny_collectives item_sync straggler; do
    probe 60 "slow-$class" lab slow --class "$class" --folder "slow-$class-left" --patience 45s
    probe 20 "slow-$class-said" trace "slow-$class-left"
    tar -czf "slow-$class-left.tgz" "slow-$class-left" 2>/dev/null && rm -rf "slow-$class-left"
  done
}

case $what in
  first) first ;;
  all) first && several ;;
  lab) lab ;;
  *) echo "gpu_acceptance.sh: '$what' is none of first, all, lab" >&2; exit 2 ;;
esac
