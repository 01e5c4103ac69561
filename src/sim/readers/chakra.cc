#include "sim/readers/chakra.h"

#include <fmt/format.h>

#include <unordered_set>

#include "core/number.h"
#include "sim/readers/protobuf_wire.h"

namespace comm_probe::sim {
namespace {

using Kind = ChakraNode::Kind;
constexpr const char* kHint =
    "expected a Chakra execution trace: lengths and messages of et_def.proto, GlobalMetadata first";

Kind kind_of(std::uint64_t type) {
  constexpr Kind kKinds[] = {Kind::kOther,   Kind::kOther, Kind::kMemory,  Kind::kMemory,
                             Kind::kCompute, Kind::kSend,  Kind::kReceive, Kind::kCollective};
  return type < std::size(kKinds) ? kKinds[type] : Kind::kOther;
}

struct Attribute {
  std::string_view name = {}, text = {};
  std::optional<std::uint64_t> number = {};
};

std::optional<Attribute> attribute_of(std::string_view bytes) {
  constexpr std::uint32_t kName = 1, kInt32 = 7, kInt64 = 9, kUint32 = 11, kUint64 = 13, kBool = 27,
                          kString = 29;
  Attribute attribute;
  WireReader reader(bytes);
  WireField field;
  while (reader.next(field)) {
    const bool is_text = field.kind == WireField::Kind::kBytes;
    if (field.number == kName && is_text) attribute.name = field.bytes;
    if (field.number == kString && is_text) attribute.text = field.bytes;
    for (const std::uint32_t number : {kInt32, kInt64, kUint32, kUint64, kBool})
      if (field.number == number && !is_text) attribute.number = field.value;
  }
  if (reader.is_broken()) return std::nullopt;
  return attribute;
}

void take_attribute(const Attribute& one, ChakraNode& node) {
  const auto number = one.number.value_or(0);
  const bool is_rank = number <= 0x7fffffff;
  if (one.name == "pg_name") node.group = one.text;
  if (!one.number) return;
  if (one.name == "is_cpu_op") node.is_cpu = number != 0;
  if (one.name == "comm_type") node.comm_type = number;
  if (one.name == "comm_size") node.bytes = number;
  if (one.name == "comm_tag") node.tag = static_cast<std::uint32_t>(number & 0x7fffffffU);
  if (one.name == "comm_dst" && node.kind == Kind::kSend && is_rank)
    node.peer = static_cast<int>(number);
  if (one.name == "comm_src" && node.kind == Kind::kReceive && is_rank)
    node.peer = static_cast<int>(number);
}

// The type stands before the attributes in files, but need not.
std::optional<ChakraNode> node_of(std::string_view bytes) {
  constexpr std::uint32_t kId = 1, kType = 3, kControl = 4, kData = 5, kMicros = 7, kAttribute = 10;
  ChakraNode node;
  std::vector<Attribute> attributes;
  WireReader reader(bytes);
  WireField field;
  while (reader.next(field)) {
    const bool is_number = field.kind == WireField::Kind::kVarint;
    if (field.number == kId && is_number) node.id = field.value;
    if (field.number == kType && is_number) node.kind = kind_of(field.value);
    if (field.number == kMicros && is_number) node.micros = field.value;
    if ((field.number == kControl || field.number == kData) && !take_varints(field, node.needs))
      return std::nullopt;
    if (field.number == kAttribute && field.kind == WireField::Kind::kBytes) {
      const auto attribute = attribute_of(field.bytes);
      if (!attribute) return std::nullopt;
      attributes.push_back(*attribute);
    }
  }
  if (reader.is_broken()) return std::nullopt;
  for (const Attribute& one : attributes) take_attribute(one, node);
  return node;
}

std::optional<std::string> version_of(std::string_view bytes) {
  constexpr std::uint32_t kVersion = 1, kAttribute = 2;
  std::string version;
  WireReader reader(bytes);
  WireField field;
  while (reader.next(field)) {
    if (field.kind != WireField::Kind::kBytes) return std::nullopt;
    if (field.number == kVersion) version = field.bytes;
    if (field.number != kVersion && field.number != kAttribute) return std::nullopt;
  }
  if (reader.is_broken()) return std::nullopt;
  return version;
}

core::Error broken(const std::string& name, std::size_t offset, std::string message) {
  core::Error error = core::input_error(std::move(message), kHint);
  error.where = {name, std::nullopt, offset};
  return error;
}

}  // namespace

std::optional<int> chakra_rank(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  for (const std::string_view packed : {".gz", ".zst"})
    if (name.ends_with(packed)) name.resize(name.size() - packed.size());
  if (!name.ends_with(".et")) return std::nullopt;
  name.resize(name.size() - 3);
  const std::size_t from = name.find_last_not_of("0123456789");
  const auto rank = core::whole_number<int>(name.substr(from == std::string::npos ? 0 : from + 1));
  return rank;
}

core::Result<ChakraTrace> read_chakra(core::Input& input, int rank) {
  ChakraTrace trace{.name = input.name(), .rank = rank};
  const auto text = input.read_all(kLargestChakra);
  if (!text) return text.error();
  WireReader messages(*text);
  const auto head = messages.take_message();
  const auto version = head ? version_of(*head) : std::nullopt;
  if (!version) return broken(trace.name, 0, "no Chakra trace: its first message is no metadata");
  trace.version = *version;
  std::unordered_set<std::uint64_t> ids;
  while (messages.offset() < text->size()) {
    const std::size_t offset = messages.offset();
    const auto bytes = messages.take_message();
    if (!bytes) return broken(trace.name, offset, "a node is cut: the file ends inside of it");
    auto node = node_of(*bytes);
    if (!node) return broken(trace.name, offset, "a message is no node");
    if (!ids.insert(node->id).second)
      return broken(trace.name, offset, fmt::format("node {} comes twice", node->id));
    if (trace.nodes.size() >= kMostChakraNodes)
      return broken(trace.name, offset,
                    fmt::format("more than the {} nodes that are read", kMostChakraNodes));
    trace.nodes.push_back(*std::move(node));
  }
  if (trace.nodes.empty()) return broken(trace.name, 0, "a Chakra trace without a node");
  return trace;
}

}  // namespace comm_probe::sim
