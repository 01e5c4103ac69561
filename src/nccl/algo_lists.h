// NCCL_ALGO and NCCL_PROTO: what the user allows, per function (NCCL 2.28.9 src/graph/tuning.cc,
// parseList). From 2.24:
//
//   value = entry (';' entry)*    entry = [function ':'] ['^'] name (',' name)*
//   Only the first entry may lack the function: it holds for all. '^' means all but the listed.
//   Every entry sets its functions anew; later ones win; names in any case, no blanks.
//
// Before 2.24: one list for all functions, words that are no names are ignored.
//
//   "ring;allreduce:tree,nvlstree"   Ring everywhere, but AllReduce: Tree and NVLSTree
//   "^LL"                            LL128 forced on, Simple on: no "automatic" is left
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "nccl/algorithm.h"
#include "topology/nccl_link_rates.h"

namespace comm_probe::nccl {

// In the matrix that NCCL logs: 0, 1, 2.
enum class Allowed { kNo = 0, kYes = 1, kAutomatic = 2 };

struct MethodLists {
  std::array<std::array<Allowed, kAlgorithms>, kFunctions> algorithms = {};
  std::array<std::array<Allowed, kProtocols>, kFunctions> protocols = {};
  std::string algorithm_text = {};  // of NCCL_ALGO; empty where not set
  std::string protocol_text = {};
  std::vector<std::string> ignored = {};  // before 2.24: words that are no names

  Allowed of(Function function, Algorithm algorithm) const {
    return algorithms[index_of(function)][index_of(algorithm)];
  }
  Allowed of(Function function, Protocol protocol) const {
    return protocols[index_of(function)][index_of(protocol)];
  }
};

// Everything allowed, LL128 automatic.
MethodLists default_method_lists();
// Fails where NCCL's initialisation does ("Unrecognized element token", "Unrecognized prefix
// token", "All entries except the first must have a prefix"), with these words.
core::Result<MethodLists> parse_method_lists(const std::string& algorithms,
                                             const std::string& protocols,
                                             topology::NcclVersion version = {});

}  // namespace comm_probe::nccl
