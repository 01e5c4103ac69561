// What the readers of routing share: tokens come in one by one, as ids or as logits, and are
// checked.
#pragma once

#include <string>

#include "core/result.h"
#include "serving/readers/routing_file.h"

namespace comm_probe::serving {

class RoutingPicks {
 public:
  RoutingPicks(const RoutingShape& shape, std::string name);

  // One token; `where` of what is wrong is the caller's. `ids` and `logits` have topk and experts
  // values.
  template <class Value>
  core::Result<bool> add_ids(const Value* ids) {
    for (int i = 0; i < shape_.topk; ++i) {
      const auto id = ids[i];
      const bool none = std::is_signed_v<Value> && id == static_cast<Value>(-1);
      const bool is_one =
          id >= 0 && static_cast<std::uint64_t>(id) < static_cast<std::uint64_t>(shape_.experts);
      if (!is_one && !none) return outside(i, std::to_string(id));
      if (const auto added = add(i, none ? model::kNoExpert : static_cast<std::uint16_t>(id));
          !added)
        return added;
    }
    return true;
  }
  template <class Value>
  core::Result<bool> add_logits(const Value* logits) {
    const auto experts = static_cast<std::size_t>(shape_.experts);
    for (std::size_t i = 0; i < experts; ++i) values_[i] = static_cast<double>(logits[i]);
    return take_largest();
  }
  core::Result<model::Routing> finish();
  std::int64_t tokens() const { return routing_.tokens(); }
  const RoutingShape& shape() const { return shape_; }
  const std::string& name() const { return name_; }
  // Which of a token's values the last refusal is about.
  int refused_at() const { return refused_at_; }

 private:
  core::Result<bool> add(int slot, std::uint16_t expert) {
    const std::size_t first = routing_.picks.size() - static_cast<std::size_t>(slot);
    if (expert != model::kNoExpert)
      for (std::size_t at = first; at < routing_.picks.size(); ++at)
        if (routing_.picks[at] == expert) return twice(slot, expert);
    routing_.picks.push_back(expert);
    return true;
  }
  core::Error outside(int slot, const std::string& id);
  core::Error twice(int slot, std::uint16_t expert);
  core::Result<bool> take_largest();

  RoutingShape shape_;
  std::string name_;
  model::Routing routing_;
  std::vector<double> values_ = {};
  std::vector<std::uint16_t> order_ = {};
  int refused_at_ = 0;
};

// An error with the file and the offset of a byte, or a line.
core::Error at_offset(core::Error error, const std::string& file, std::uint64_t offset);
core::Error at_line(core::Error error, const std::string& file, std::uint64_t line);

core::Result<model::Routing> read_npy_routing(core::Input& input, const RoutingShape& shape);
core::Result<model::Routing> read_text_routing(core::Input& input, const RoutingShape& shape);
core::Result<model::Routing> read_binary_routing(core::Input& input, const RoutingShape& shape);

}  // namespace comm_probe::serving
