#!/usr/bin/env bash
# The include graph of src/: a folder may include only itself and the folders to its left (design: "arrows may only
# point left"). Prints each violation as FILE:LINE and exits 1.   check_layers.sh [ROOT]
set -u
root=${1:-.}
cd "$root/src" || exit 2
grep -rnoE '^#include "[a-z_]+/' --include='*.h' --include='*.cc' . | awk '
BEGIN {
  allowed["core"] = "core"
  allowed["catalog"] = "core catalog"
  allowed["model"] = "core catalog model"
  allowed["topology"] = "core catalog model topology"
  allowed["nccl"] = "core catalog model topology nccl"
  allowed["curve"] = "core catalog model curve"
  allowed["torch"] = "core catalog model torch"
  allowed["serving"] = "core catalog model serving"
  allowed["measure"] = "core catalog model topology measure"
  allowed["sim"] = "core catalog model topology nccl torch sim"
  allowed["diagnose"] = "core catalog model topology nccl curve torch serving measure sim diagnose"
  allowed["report"] = "core report"
  allowed["cli"] = "core catalog model topology nccl curve torch serving measure sim diagnose report cli"
}
{
  split($0, part, ":")
  split(part[1], path, "/"); from = path[2]
  match($0, /"[a-z_]+\//); to = substr($0, RSTART + 1, RLENGTH - 2)
  if (!(from in allowed)) { print "src/" part[1] ": folder " from " is not in the house"; bad = 1; next }
  if ((" " allowed[from] " ") !~ (" " to " ")) {
    print "src" substr(part[1], 2) ":" part[2] ": " from " must not include " to " (arrows only point left)"; bad = 1
  }
}
END { exit bad }' || exit 1
outside=$(grep -rln 'CLI/\|CLI11' --include='*.h' --include='*.cc' . | grep -v '^\./cli/')
[ -z "$outside" ] || { echo "CLI11 is included outside cli/: $outside"; exit 1; }
