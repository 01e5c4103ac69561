#include "torch/state_track.h"

#include <algorithm>
#include <array>

namespace comm_probe::torch {
namespace {

using core::TimelinePiece;
using core::TimelineState;

constexpr std::size_t kStates = 5;

// Walks one union in step with time.
class Walker {
 public:
  explicit Walker(const Intervals& intervals) : intervals_(intervals) {}
  bool is_in(std::int64_t time) {
    while (at_ < intervals_.size() && intervals_[at_].end <= time) ++at_;
    return at_ < intervals_.size() && intervals_[at_].start <= time;
  }
  // After is_in(time).
  std::int64_t next_change(std::int64_t time, std::int64_t end) const {
    if (at_ == intervals_.size()) return end;
    return std::min(end,
                    intervals_[at_].start <= time ? intervals_[at_].end : intervals_[at_].start);
  }

 private:
  const Intervals& intervals_;
  std::size_t at_ = 0;
};

TimelineState state_of(bool computes, bool communicates, bool works) {
  if (computes) return communicates ? TimelineState::kHidden : TimelineState::kCompute;
  if (communicates) return TimelineState::kExposed;
  return works ? TimelineState::kCopy : TimelineState::kIdle;
}

void append(std::vector<TimelinePiece>& pieces, TimelineState state, std::int64_t length) {
  if (length <= 0) return;
  if (!pieces.empty() && pieces.back().state == state)
    pieces.back().length += length;
  else
    pieces.push_back({state, length});
}

std::vector<TimelinePiece> all_pieces(const DeviceTime& time) {
  Walker compute(time.compute);
  Walker communication(time.communication);
  Walker any(time.any);
  std::vector<TimelinePiece> pieces;
  for (std::int64_t at = time.extent.start; at < time.extent.end;) {
    const TimelineState state = state_of(compute.is_in(at), communication.is_in(at), any.is_in(at));
    std::int64_t next = time.extent.end;
    for (const Walker* walker : {&compute, &communication, &any})
      next = walker->next_change(at, next);
    append(pieces, state, next - at);
    at = next;
  }
  return pieces;
}

std::vector<TimelinePiece> put_together(const std::vector<TimelinePiece>& pieces,
                                        std::int64_t part) {
  std::vector<TimelinePiece> sorted;
  std::array<std::int64_t, kStates> sums = {};
  std::int64_t room = part;
  const auto flush = [&] {
    for (std::size_t state = 0; state < kStates; ++state)
      append(sorted, static_cast<TimelineState>(state), sums[state]);
    sums = {};
    room = part;
  };
  for (const TimelinePiece& piece : pieces)
    for (std::int64_t left = piece.length; left > 0;) {
      const std::int64_t taken = std::min(left, room);
      sums[static_cast<std::size_t>(piece.state)] += taken;
      left -= taken;
      room -= taken;
      if (room == 0) flush();
    }
  flush();
  return sorted;
}

}  // namespace

StateTrack state_track(const DeviceTime& time, std::size_t most) {
  StateTrack track{.start = time.extent.start, .pieces = all_pieces(time)};
  if (track.pieces.size() <= most) return track;
  const auto parts = static_cast<std::int64_t>(std::max<std::size_t>(1, most / kStates));
  track.summed = time.extent.length() / parts + 1;
  track.pieces = put_together(track.pieces, track.summed);
  return track;
}

}  // namespace comm_probe::torch
