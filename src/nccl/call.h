// One call of a collective as NCCL sees it: function, type, reduction, how many elements per rank.
//
// `bytes` is what the tuning model sees: the message of AllReduce, Broadcast and Reduce; ranks x
// the part of one rank for AllGather and ReduceScatter (what nccl-tests prints as size).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nccl/algorithm.h"

namespace comm_probe::nccl {

enum class DataType {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBfloat16,
  kFloat8
};
enum class Reduction { kSum, kProd, kMax, kMin, kAvg, kMulSum };

int size_of(DataType type);
const char* data_type_name(DataType type);  // as nccl-tests: "float", "bfloat16"
const char* nccl_data_type(DataType type);  // as in NCCL's messages: "ncclFloat32"
std::optional<DataType> data_type_from_name(std::string_view name);
std::vector<std::string_view> data_type_names();
const char* reduction_name(Reduction reduction);  // "sum"
std::optional<Reduction> reduction_from_name(std::string_view name);
std::vector<std::string_view> reduction_names();

struct Call {
  Function function = Function::kAllReduce;
  std::uint64_t count = 0;  // elements of one rank
  DataType type = DataType::kFloat32;
  Reduction reduction = Reduction::kSum;

  std::uint64_t rank_bytes() const { return count * static_cast<std::uint64_t>(size_of(type)); }
  std::uint64_t bytes(int ranks) const {
    return is_gathering(function) ? rank_bytes() * static_cast<std::uint64_t>(ranks) : rank_bytes();
  }
};
// The largest call of whole elements that is no larger than `bytes`; count 0 where none is.
Call call_of(Function function, std::uint64_t bytes, int ranks, DataType type = DataType::kFloat32,
             Reduction reduction = Reduction::kSum);

// NVLink SHARP can reduce it (NCCL 2.28.9 src/include/device.h, ncclNvlsSupported).
bool is_nvls_reducible(DataType type, Reduction reduction);

}  // namespace comm_probe::nccl
