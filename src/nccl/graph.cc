#include "nccl/graph.h"

namespace comm_probe::nccl {

const char* pattern_name(Pattern pattern) {
  switch (pattern) {
    case Pattern::kBalancedTree:
      return "BALANCED_TREE";
    case Pattern::kSplitTree:
      return "SPLIT_TREE";
    case Pattern::kTree:
      return "TREE";
    case Pattern::kRing:
      return "RING";
    case Pattern::kNvls:
      return "NVLS";
    case Pattern::kCollnetDirect:
      return "COLLNET_DIRECT";
  }
  return "";
}

}  // namespace comm_probe::nccl
