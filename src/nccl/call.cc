#include "nccl/call.h"

namespace comm_probe::nccl {
namespace {

struct TypeEntry {
  DataType type;
  const char* name;
  const char* nccl;
  int size;
};
// In the order of the enumeration.
constexpr TypeEntry kTypes[] = {
    {DataType::kInt8, "int8", "ncclInt8", 1},
    {DataType::kUint8, "uint8", "ncclUint8", 1},
    {DataType::kInt32, "int32", "ncclInt32", 4},
    {DataType::kUint32, "uint32", "ncclUint32", 4},
    {DataType::kInt64, "int64", "ncclInt64", 8},
    {DataType::kUint64, "uint64", "ncclUint64", 8},
    {DataType::kFloat16, "half", "ncclFloat16", 2},
    {DataType::kFloat32, "float", "ncclFloat32", 4},
    {DataType::kFloat64, "double", "ncclFloat64", 8},
    {DataType::kBfloat16, "bfloat16", "ncclBfloat16", 2},
    {DataType::kFloat8, "f8e4m3", "ncclFloat8e4m3", 1},
};
constexpr const char* kReductions[] = {"sum", "prod", "max", "min", "avg", "mulsum"};

}  // namespace

int size_of(DataType type) { return kTypes[index_of(type)].size; }
const char* data_type_name(DataType type) { return kTypes[index_of(type)].name; }
const char* nccl_data_type(DataType type) { return kTypes[index_of(type)].nccl; }
std::optional<DataType> data_type_from_name(std::string_view name) {
  for (const TypeEntry& entry : kTypes)
    if (name == entry.name) return entry.type;
  if (name == "f8e5m2") return DataType::kFloat8;
  return std::nullopt;
}

std::vector<std::string_view> data_type_names() {
  std::vector<std::string_view> names;
  for (const TypeEntry& entry : kTypes) names.emplace_back(entry.name);
  names.emplace_back("f8e5m2");
  return names;
}

const char* reduction_name(Reduction reduction) { return kReductions[index_of(reduction)]; }
std::optional<Reduction> reduction_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kReductions); ++i)
    if (name == kReductions[i]) return static_cast<Reduction>(i);
  return std::nullopt;
}

std::vector<std::string_view> reduction_names() {
  return {std::begin(kReductions), std::end(kReductions)};
}

Call call_of(Function function, std::uint64_t bytes, int ranks, DataType type,
             Reduction reduction) {
  const auto size = static_cast<std::uint64_t>(size_of(type));
  const std::uint64_t parts = is_gathering(function) ? static_cast<std::uint64_t>(ranks) : 1;
  return {function, bytes / (parts * size), type, reduction};
}

bool is_nvls_reducible(DataType type, Reduction reduction) {
  const bool is_order =
      reduction == Reduction::kSum || reduction == Reduction::kMin || reduction == Reduction::kMax;
  switch (type) {
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return is_order;
    case DataType::kFloat32:
    case DataType::kFloat64:
      return reduction == Reduction::kSum;
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kFloat8:
      return false;
  }
  return false;
}

}  // namespace comm_probe::nccl
