#include <algorithm>
#include <cmath>

#include "model/flow_schedule.h"

namespace comm_probe::model {
namespace {

constexpr std::uint32_t kUp = 0, kDown = 1;

}  // namespace

using core::Bytes;

TreeSchedule::TreeSchedule(Shape shape, Bytes bytes, Bytes chunk)
    : shape_(std::move(shape)), bytes_(bytes), chunk_(chunk), states_(shape_.parent.size()) {
  COMM_PROBE_CHECK(chunk.count() > 0, "a chunk has bytes");
  chunks_ = std::max(1u, static_cast<std::uint32_t>(std::ceil(bytes / chunk)));
  for (int rank = 0; rank < ranks(); ++rank)
    if (const int parent = shape_.parent[static_cast<std::size_t>(rank)]; parent >= 0)
      at(parent).children.push_back(rank);
}

Bytes TreeSchedule::size_of(std::uint32_t chunk) const {
  return chunk + 1 < chunks_ ? chunk_ : bytes_ - chunk_ * (chunks_ - 1.0);
}

// How many chunks the rank has from all its children.
std::uint32_t TreeSchedule::reduced(int rank) {
  std::uint32_t least = chunks_;
  for (const int child : at(rank).children) least = std::min(least, at(child).raised);
  return least;
}

void TreeSchedule::move_up(int rank, std::vector<Send>& next) {
  State& state = at(rank);
  if (!state.has_begun || !shape_.goes_up) return;
  const std::uint32_t has = reduced(rank);
  const int parent = shape_.parent[static_cast<std::size_t>(rank)];
  if (parent < 0) {
    state.here = shape_.overlaps || has == chunks_ ? has : 0;
    return;
  }
  for (; state.sent_up < has; ++state.sent_up)
    next.push_back({rank, parent, size_of(state.sent_up), kUp});
}

void TreeSchedule::move_down(int rank, std::vector<Send>& next) {
  State& state = at(rank);
  if (!state.has_begun || !shape_.goes_down) return;
  for (; state.sent_down < state.here; ++state.sent_down)
    for (const int child : state.children)
      next.push_back({rank, child, size_of(state.sent_down), kDown});
}

void TreeSchedule::begin(int rank, std::vector<Send>& next) {
  State& state = at(rank);
  state.has_begun = true;
  if (!shape_.goes_up && shape_.parent[static_cast<std::size_t>(rank)] < 0) state.here = chunks_;
  move_up(rank, next);
  move_down(rank, next);
}

void TreeSchedule::delivered(const Send& send, std::vector<Send>& next) {
  if (send.mark == kUp) {
    ++at(send.from).raised;
    move_up(send.to, next);
  } else {
    ++at(send.to).here;
  }
  move_down(send.to, next);
}

}  // namespace comm_probe::model
