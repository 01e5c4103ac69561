#include "model/collective.h"

#include <algorithm>
#include <string>
#include <utility>

namespace comm_probe::model {
namespace {

constexpr std::array<std::pair<Op, std::string_view>, 7> kOpNames = {{
    {Op::kAllReduce, "all_reduce"},
    {Op::kAllGather, "all_gather"},
    {Op::kReduceScatter, "reduce_scatter"},
    {Op::kBroadcast, "broadcast"},
    {Op::kReduce, "reduce"},
    {Op::kAllToAll, "all_to_all"},
    {Op::kSendRecv, "send_recv"},
}};
constexpr std::array<std::pair<Algorithm, std::string_view>, 15> kAlgorithmNames = {{
    {Algorithm::kRing, "ring"},
    {Algorithm::kTree, "tree"},
    {Algorithm::kNcclTree, "nccl-tree"},
    {Algorithm::kDoubleTree, "double-tree"},
    {Algorithm::kRecursiveDoubling, "recursive-doubling"},
    {Algorithm::kOneShot, "one-shot"},
    {Algorithm::kTwoShot, "two-shot"},
    {Algorithm::kHierarchical, "hierarchical"},
    {Algorithm::kNvls, "nvls"},
    {Algorithm::kNvlsTree, "nvls-tree"},
    {Algorithm::kCollNetDirect, "collnet-direct"},
    {Algorithm::kCollNetChain, "collnet-chain"},
    {Algorithm::kPat, "pat"},
    {Algorithm::kDirect, "direct"},
    {Algorithm::kBruck, "bruck"},
}};
constexpr std::array<std::pair<Protocol, std::string_view>, 3> kProtocolNames = {{
    {Protocol::kSimple, "simple"},
    {Protocol::kLl, "ll"},
    {Protocol::kLl128, "ll128"},
}};

template <class Key, std::size_t N>
const char* name_of(const std::array<std::pair<Key, std::string_view>, N>& names, Key key) {
  for (const auto& [value, name] : names)
    if (value == key) return name.data();
  return "?";
}

template <class Key, std::size_t N>
std::optional<Key> value_of(const std::array<std::pair<Key, std::string_view>, N>& names,
                            std::string_view name) {
  for (const auto& [value, known] : names)
    if (known == name) return value;
  return std::nullopt;
}

// "all_reduce_perf", "AllReduce" and "alltoall" name the same operations as "all_reduce" and
// "all_to_all".
std::string squeezed(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (c != '_' && c != '-') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (plain.ends_with("perf")) plain.resize(plain.size() - 4);
  return plain;
}

}  // namespace

double busbw_factor(Op op, int ranks) {
  const double n = ranks;
  switch (op) {
    case Op::kAllReduce:
      return ranks > 0 ? 2 * (n - 1) / n : 0;
    case Op::kAllGather:
    case Op::kReduceScatter:
    case Op::kAllToAll:
      return ranks > 0 ? (n - 1) / n : 0;
    case Op::kBroadcast:
    case Op::kReduce:
    case Op::kSendRecv:
      return 1;
  }
  return 1;
}

const char* op_name(Op op) { return name_of(kOpNames, op); }
std::optional<Op> op_from_name(std::string_view name) {
  for (const auto& [op, known] : kOpNames)
    if (squeezed(known) == squeezed(name)) return op;
  return std::nullopt;
}

const char* algorithm_name(Algorithm algorithm) { return name_of(kAlgorithmNames, algorithm); }
std::optional<Algorithm> algorithm_from_name(std::string_view name) {
  return value_of(kAlgorithmNames, name);
}

const char* protocol_name(Protocol protocol) { return name_of(kProtocolNames, protocol); }
std::optional<Protocol> protocol_from_name(std::string_view name) {
  return value_of(kProtocolNames, name);
}

}  // namespace comm_probe::model
