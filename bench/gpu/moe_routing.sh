#!/usr/bin/env bash
# A routed all_to_all by NCCL between the GPUs of this host, beside the same by processes: does every token come back,
# and does the order of flat and dedup follow the bytes? docs/measured/h200-acceptance.md has two H200.
#   bench/gpu/moe_routing.sh COMM_PROBE [RANKS]
set -eu
program=${1:?usage: moe_routing.sh COMM_PROBE [RANKS]}
ranks=${2:-$(nvidia-smi -L | wc -l)}
for skew in 0 0.8 1.2; do
  for tokens in 128 4096; do
    echo "== zipf:$skew, $tokens tokens per rank, NCCL on $ranks GPUs, emulated nodes of $((ranks / 2))"
    "$program" bench all_to_all --backend nccl --ranks "$ranks" --ranks-per-node $((ranks / 2)) \
      --routing "zipf:$skew" --tokens "$tokens"
  done
done
