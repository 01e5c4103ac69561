// How fast are flows that share links? Max-min fair: every flow has a bottleneck, a link that is
// full and on which no other flow is faster, so no flow can gain without a slower or equal one
// losing (Bertsekas and Gallager, Data Networks, section 6.5.2: progressive filling).
//
// When flows begin or end only those whose share can change are filled again: the flows that were
// held up at the links concerned, and, as long as the result is not fair, those that stand in the
// way. The result is the same as filling all of them (tests/property/flow_sharing_test.cc).
//
// Worked example (tests/unit/model/flow_sharing_test.cc): link 0 of 10 B/s and link 1 of 4 B/s, one
// flow over both, one over each: 2, 8 and 2 B/s.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/quantity.h"

namespace comm_probe::model {

using LinkId = std::uint32_t;

// The links that a message crosses, in any order, each once.
class Path {
 public:
  static constexpr std::size_t kMost = 12;
  void add(LinkId link);
  std::span<const LinkId> links() const { return {links_.data(), count_}; }

 private:
  std::array<LinkId, kMost> links_ = {};
  std::size_t count_ = 0;
};

class FlowSharing {
 public:
  explicit FlowSharing(std::span<const core::Bandwidth> capacity);

  using Flow = std::uint32_t;
  // A flow over at least one link, from now on; its number is free again when it has ended.
  Flow begin(const Path& path, core::Bytes bytes);
  std::size_t active() const { return active_.size(); }
  core::Duration now() const { return core::Duration::from_seconds(now_); }
  // When the next flow ends; there must be one. Shares are settled first.
  core::Duration next_end();
  // Moves the time on, at most to next_end(), and returns the flows that end then: valid until the
  // next call.
  std::span<const Flow> advance(core::Duration to);

  core::Bandwidth rate(Flow flow);
  // The link that holds the flow up.
  LinkId bottleneck(Flow flow);
  // What the links have done so far.
  struct Use {
    core::Bytes bytes = {};
    core::Duration held_up = {};  // summed over the flows that the link held up
    int most_flows = 0;           // at once
  };
  Use use(LinkId link) const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct State {
    Path path = {};
    std::array<std::uint32_t, Path::kMost> place = {};  // in the list of each link
    double bytes = 0, left = 0, rate = 0, old_rate = 0, since = 0;
    LinkId bottleneck = kNone;
    std::uint32_t at = 0;  // in active_
    bool is_in_set = false, is_frozen = false;
  };
  struct Line {
    double capacity = 0, used = 0, bytes = 0, held_up = 0;
    std::vector<Flow> flows = {};
    std::vector<Flow> set = {};  // those that are filled again
    double level = 0;            // at which it became full; 0: it did not
    double fastest = 0;          // of `set`
    std::uint32_t open = 0;      // flows of `set` that have no rate yet
    int most_flows = 0;
    bool is_touched = false, is_changed = false;
  };

  void leave(Flow flow);
  void change(LinkId link);
  void take(Flow flow);
  void settle();
  void gather();
  void touch();
  void fill();
  void freeze(LinkId link, double share);
  bool widen();
  bool widen_at(const Line& line, LinkId id);
  void store();
  void account(Flow flow);

  std::vector<State> flows_ = {};
  std::vector<Flow> free_ = {}, active_ = {}, ended_ = {}, set_ = {};
  std::vector<double> end_ = {};  // beside active_
  std::vector<Line> lines_ = {};
  std::vector<LinkId> changed_ = {}, touched_ = {};
  struct Share {
    double share = 0;
    LinkId link = 0;
    bool operator<(const Share& other) const { return share > other.share; }
  };
  std::vector<Share> heap_ = {};
  double now_ = 0;
  bool is_settled_ = true;
};

}  // namespace comm_probe::model
