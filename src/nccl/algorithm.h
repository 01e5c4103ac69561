// NCCL's own names and numbers for what a collective can run as: functions, algorithms, protocols
// (NCCL 2.28.9 src/include/{nccl_common,device}.h). They index its tuning table and are what
// NCCL_ALGO, NCCL_PROTO and the debug log say; model/collective.h has the words of calc.
//
//   table_name(Algorithm::kNvlsTree) == "NVLSTree"    in the table and in NCCL_ALGO
//   call_name(Algorithm::kNvlsTree)  == "NVLS_TREE"   in the TUNING line of a call
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "model/collective.h"

namespace comm_probe::nccl {

enum class Function { kBroadcast, kReduce, kAllGather, kReduceScatter, kAllReduce };
enum class Algorithm { kTree, kRing, kCollNetDirect, kCollNetChain, kNvls, kNvlsTree, kPat };
enum class Protocol { kLl, kLl128, kSimple };

inline constexpr std::array kAllFunctions = {Function::kBroadcast, Function::kReduce,
                                             Function::kAllGather, Function::kReduceScatter,
                                             Function::kAllReduce};
inline constexpr std::array kAllAlgorithms = {
    Algorithm::kTree,         Algorithm::kRing, Algorithm::kCollNetDirect,
    Algorithm::kCollNetChain, Algorithm::kNvls, Algorithm::kNvlsTree,
    Algorithm::kPat};
inline constexpr std::array kAllProtocols = {Protocol::kLl, Protocol::kLl128, Protocol::kSimple};
inline constexpr std::size_t kFunctions = kAllFunctions.size();
inline constexpr std::size_t kAlgorithms = kAllAlgorithms.size();
inline constexpr std::size_t kProtocols = kAllProtocols.size();

// One value per algorithm and protocol.
template <class T>
using PerMethod = std::array<std::array<T, kProtocols>, kAlgorithms>;

template <class Enum>
constexpr std::size_t index_of(Enum value) {
  return static_cast<std::size_t>(value);
}

const char* function_name(Function function);  // "AllReduce"
const char* table_name(Algorithm algorithm);   // "CollNetDirect"
const char* call_name(Algorithm algorithm);    // "COLLNET_DIRECT"
const char* table_name(Protocol protocol);     // "Simple"
const char* call_name(Protocol protocol);      // "SIMPLE"

// Ignoring case, as NCCL_ALGO and NCCL_PROTO are read.
std::optional<Function> function_from_name(std::string_view name);
std::optional<Algorithm> algorithm_from_name(std::string_view name);
std::optional<Protocol> protocol_from_name(std::string_view name);

// Nothing for all_to_all and send_recv, which NCCL runs without this choice.
std::optional<Function> function_of(model::Op op);
model::Op op_of(Function function);

// Both send a part per rank; their size is the total over all ranks.
constexpr bool is_gathering(Function function) {
  return function == Function::kAllGather || function == Function::kReduceScatter;
}
// The others only copy.
constexpr bool is_reduction(Function function) {
  return function != Function::kAllGather && function != Function::kBroadcast;
}
constexpr bool is_collnet(Algorithm algorithm) {
  return algorithm == Algorithm::kCollNetDirect || algorithm == Algorithm::kCollNetChain;
}
constexpr bool is_nvls(Algorithm algorithm) {
  return algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree;
}

}  // namespace comm_probe::nccl
