#include "nccl/algorithm.h"

#include <algorithm>
#include <cctype>

namespace comm_probe::nccl {
namespace {

constexpr const char* kFunctionNames[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter",
                                          "AllReduce"};
constexpr const char* kTableAlgorithms[] = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
constexpr const char* kCallAlgorithms[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr const char* kTableProtocols[] = {"LL", "LL128", "Simple"};
constexpr const char* kCallProtocols[] = {"LL", "LL128", "SIMPLE"};

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

template <class Enum, std::size_t n>
std::optional<Enum> find(std::string_view name, const std::array<Enum, n>& all,
                         const char* (*name_of)(Enum)) {
  for (const Enum value : all)
    if (same_ignoring_case(name, name_of(value))) return value;
  return std::nullopt;
}

}  // namespace

const char* function_name(Function function) { return kFunctionNames[index_of(function)]; }
const char* table_name(Algorithm algorithm) { return kTableAlgorithms[index_of(algorithm)]; }
const char* call_name(Algorithm algorithm) { return kCallAlgorithms[index_of(algorithm)]; }
const char* table_name(Protocol protocol) { return kTableProtocols[index_of(protocol)]; }
const char* call_name(Protocol protocol) { return kCallProtocols[index_of(protocol)]; }

std::optional<Function> function_from_name(std::string_view name) {
  return find(name, kAllFunctions, function_name);
}
std::optional<Algorithm> algorithm_from_name(std::string_view name) {
  return find<Algorithm>(name, kAllAlgorithms, table_name);
}
std::optional<Protocol> protocol_from_name(std::string_view name) {
  return find<Protocol>(name, kAllProtocols, table_name);
}

std::optional<Function> function_of(model::Op op) {
  for (const Function function : kAllFunctions)
    if (op_of(function) == op) return function;
  return std::nullopt;
}

model::Op op_of(Function function) {
  switch (function) {
    case Function::kBroadcast:
      return model::Op::kBroadcast;
    case Function::kReduce:
      return model::Op::kReduce;
    case Function::kAllGather:
      return model::Op::kAllGather;
    case Function::kReduceScatter:
      return model::Op::kReduceScatter;
    case Function::kAllReduce:
      return model::Op::kAllReduce;
  }
  return model::Op::kAllReduce;
}

}  // namespace comm_probe::nccl
