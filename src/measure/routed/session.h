// What one rank does in a routed all_to_all: pack, exchange, pass on, answer, add up, check.
#pragma once

#include <vector>

#include "measure/routed/routed.h"
#include "measure/routed/transport.h"

namespace comm_probe::measure {

struct RoutedSample {
  double dispatch = 0;  // seconds
  double combine = 0;
};

class RoutedSession {
 public:
  RoutedSession(const model::Routing& routing, const RoutedShape& shape, const RoutedStages& stages,
                RoutedTransport& transport);
  // Every rank calls it. Adds what it found to `check`.
  RoutedSample run_once(NicLimit limit, RoutedCheck& check);

 private:
  struct Packing;
  void pack();
  void pass_on();
  void answer();
  void add_up_at_gate();
  void take(const std::byte* records, std::uint64_t bytes);
  void check(RoutedCheck& check) const;
  void check_token(std::int64_t token, RoutedCheck& check) const;
  void exchange(int slot, NicLimit limit);

  bool is_flat() const { return stages_.scheme == model::MoeScheme::kFlat; }
  int dispatch_stages() const { return static_cast<int>(stages_.dispatch.size()); }
  const StageBytes& stage(int slot) const;
  std::size_t answers() const { return shape_.combine_bytes / 2; }
  int rank_of(std::uint16_t expert) const { return expert / share_; }
  std::vector<Pick> picks_of(std::int64_t token) const;

  const model::Routing& routing_;
  const RoutedShape& shape_;
  const RoutedStages& stages_;
  RoutedTransport& transport_;
  int share_;                              // experts per rank
  std::int64_t first_ = 0, end_ = 0;       // own tokens
  std::vector<std::uint8_t> values_ = {};  // of them
  std::vector<std::int16_t> results_ = {};
  std::vector<std::uint64_t> returned_ = {};  // slots that came back, by token
  std::vector<std::uint32_t> twice_ = {};
  std::vector<std::uint32_t> gate_place_ = {};  // by token: its record at this gate
};

// The value number `index` of a token, and the weight of one of its picks.
std::uint8_t token_value(std::int64_t token, std::size_t index);
std::uint16_t pick_weight(std::int64_t token, int slot);
// What an expert adds to a value.
std::int16_t expert_shift(std::uint16_t expert);

}  // namespace comm_probe::measure
