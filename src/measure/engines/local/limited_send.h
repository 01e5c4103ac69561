// What one rank sends in a stage, where between nodes a rank sends and receives at most a rate:
// every part in chunks, a chunk only when the buckets of both ends are ready. Clock and copying are
// the caller's, so that a test plays a whole exchange in made-up time.
//
//   LimitedSend send(nic, rank, [&](int rank) -> Nic& { return nics[rank]; });
//   while (!parts.empty())
//     if (const auto next = send.round(parts, now, copy)) sleep_until(*next);
//   sleep_until(send.through_at(sent));
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/quantity.h"
#include "measure/engines/local/token_bucket.h"

namespace comm_probe::measure::local {

struct Nic {
  TokenBucket out;
  TokenBucket in;
};

struct SendPart {
  int to = 0;
  bool is_limited = false;  // to another node, and there is a limit
  const std::byte* from = nullptr;
  std::byte* into = nullptr;
  std::size_t left = 0;
};

template <class NicOf>
class LimitedSend {
 public:
  LimitedSend(core::Bandwidth nic, int rank, NicOf nic_of)
      : rate_(nic.in_bytes_per_second()), rank_(rank), nic_of_(nic_of) {}

  // A chunk of every part that may go. Nothing moved: when it is worth while to come again (ns).
  template <class Now, class Copy>
  std::optional<std::int64_t> round(std::vector<SendPart>& parts, Now now, Copy copy) {
    constexpr std::size_t kUnlimited = std::size_t{1} << 20;
    bool moved = false;
    std::optional<std::int64_t> next;
    for (SendPart& part : parts) {
      const std::size_t bytes = std::min(part.left, part.is_limited ? chunk_bytes() : kUnlimited);
      if (part.is_limited && !may_go(part.to, bytes, now(), next)) continue;
      copy(part, bytes);
      part.from += bytes;
      part.into += bytes;
      part.left -= bytes;
      moved = true;
    }
    std::erase_if(parts, [](const SendPart& part) { return part.left == 0; });
    return moved ? std::nullopt : next;
  }

  // When the last chunks are through, at both ends.
  std::int64_t through_at(const std::vector<SendPart>& sent) const {
    std::int64_t last = nic_of_(rank_).out.ready_at();
    for (const SendPart& part : sent)
      if (part.is_limited) last = std::max(last, nic_of_(part.to).in.ready_at());
    return last;
  }

 private:
  std::size_t chunk_bytes() const {
    constexpr double kSeconds = 0.0005;  // of the rate
    constexpr double kMost = 65536, kLeast = 4096;
    return static_cast<std::size_t>(std::clamp(rate_ * kSeconds, kLeast, kMost));
  }

  // Takes the bytes from both ends' buckets.
  bool may_go(int to, std::size_t bytes, std::int64_t now, std::optional<std::int64_t>& next) {
    const auto cost = static_cast<std::int64_t>(static_cast<double>(bytes) * 1e9 / rate_);
    TokenBucket& out = nic_of_(rank_).out;
    TokenBucket& in = nic_of_(to).in;
    if (out.ready_at() <= now && in.take(now, cost)) {
      out.take(now, cost);  // only this rank takes from it
      return true;
    }
    const std::int64_t when = std::max(out.ready_at(), in.ready_at());
    next = std::min(next.value_or(when), when);
    return false;
  }

  double rate_;
  int rank_;
  NicOf nic_of_;
};

}  // namespace comm_probe::measure::local
