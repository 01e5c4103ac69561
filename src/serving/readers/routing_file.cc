#include "serving/readers/routing_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "serving/readers/routing_picks.h"

namespace comm_probe::serving {

using core::Error;
using core::input_error;

RoutingPicks::RoutingPicks(const RoutingShape& shape, std::string name)
    : shape_(shape), name_(std::move(name)), routing_{shape.topk, shape.experts, {}} {
  values_.resize(static_cast<std::size_t>(shape.experts));
  order_.resize(values_.size());
}

Error RoutingPicks::outside(int slot, const std::string& id) {
  refused_at_ = slot;
  return input_error(
      fmt::format("token {} picks expert {}, outside 0 to {}", tokens(), id, shape_.experts - 1),
      "--experts says how many there are");
}

Error RoutingPicks::twice(int slot, std::uint16_t expert) {
  refused_at_ = slot;
  return input_error(fmt::format("token {} picks expert {} twice", tokens(), expert),
                     fmt::format("top-k picks {} different ones", shape_.topk));
}

core::Result<bool> RoutingPicks::take_largest() {
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (std::isnan(values_[i]) || values_[i] == INFINITY) {  // -inf masks an expert
      refused_at_ = static_cast<int>(i);
      return input_error(fmt::format("token {} has a logit that is {}", tokens(),
                                     std::isnan(values_[i]) ? "no number" : "infinite"));
    }
  const bool are_alike = std::all_of(values_.begin(), values_.end(),
                                     [this](double value) { return value == values_.front(); });
  if (are_alike && shape_.experts > shape_.topk) ++routing_.undecided;
  std::iota(order_.begin(), order_.end(), std::uint16_t{0});
  const auto end = order_.begin() + shape_.topk;
  std::partial_sort(order_.begin(), end, order_.end(), [this](std::uint16_t a, std::uint16_t b) {
    return values_[a] != values_[b] ? values_[a] > values_[b] : a < b;
  });
  routing_.picks.insert(routing_.picks.end(), order_.begin(), end);
  return true;
}

core::Result<model::Routing> RoutingPicks::finish() {
  if (routing_.picks.empty()) {
    Error error = input_error("holds no token", "one token per row: the experts it picked");
    error.where.file = name_;
    return error;
  }
  return std::move(routing_);
}

Error at_offset(Error error, const std::string& file, std::uint64_t offset) {
  error.where.file = file;
  error.where.offset = offset;
  return error;
}

Error at_line(Error error, const std::string& file, std::uint64_t line) {
  error.where.file = file;
  error.where.line = line;
  return error;
}

core::Result<model::Routing> read_routing(core::Input& input, const RoutingShape& shape) {
  if (auto error = input.unreadable()) return *error;
  const std::string_view head = input.head();
  if (head.starts_with("\x93NUMPY")) return read_npy_routing(input, shape);
  if (head.starts_with("PK\x03\x04"))
    return at_offset(input_error("a zip archive (numpy.savez, torch.save) is no routing",
                                 "expected .npy: numpy.save(FILE, ids.cpu().numpy())"),
                     input.name(), 0);
  switch (core::classify_content(head)) {
    case core::ContentClass::kEmpty:
      return at_offset(input_error("an empty file",
                                   "expected expert ids or logits, see "
                                   "docs/formats/routing.md"),
                       input.name(), 0);
    case core::ContentClass::kUtf16:
    case core::ContentClass::kXml:
    case core::ContentClass::kJson:
      return at_offset(input_error(fmt::format("{} is no routing", core::describe_content(head)),
                                   "expected .npy, numbers separated by commas, or int32"),
                       input.name(), 0);
    case core::ContentClass::kText:
      return read_text_routing(input, shape);
    case core::ContentClass::kZeros:
    case core::ContentClass::kBinary:
      break;
  }
  return read_binary_routing(input, shape);
}

}  // namespace comm_probe::serving
