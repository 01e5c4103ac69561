#include "measure/routed/session.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "core/check.h"
#include "measure/clock.h"

namespace comm_probe::measure {
namespace {

// Primes, so that a value that lands elsewhere differs.
constexpr std::int64_t kValues = 29, kWeights = 7;
constexpr std::uint16_t kShifts = 5;

TokenHeader header_at(const std::byte* record) {
  TokenHeader header;
  std::memcpy(&header, record, sizeof header);
  return header;
}

// The picks of a dispatched record: the first in the header, the others behind it.
void read_picks(const std::byte* record, const TokenHeader& header, std::vector<Pick>& picks) {
  picks.resize(header.picks);
  if (header.picks == 0) return;
  picks[0] = header.first;
  std::memcpy(picks.data() + 1, record + sizeof header, (picks.size() - 1) * sizeof(Pick));
}

void write_dispatch(std::byte* record, std::size_t room, TokenHeader header,
                    const std::vector<Pick>& picks, const std::uint8_t* values, std::size_t bytes) {
  header.picks = static_cast<std::uint16_t>(picks.size());
  header.first = picks[0];
  std::memcpy(record, &header, sizeof header);
  std::memcpy(record + sizeof header, picks.data() + 1, (picks.size() - 1) * sizeof(Pick));
  std::memcpy(record + room - bytes, values, bytes);
}

void add_to(std::int16_t* sum, const std::byte* answers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::int16_t value;
    std::memcpy(&value, answers + i * sizeof value, sizeof value);
    sum[i] = static_cast<std::int16_t>(sum[i] + value);
  }
}

}  // namespace

std::uint8_t token_value(std::int64_t token, std::size_t index) {
  return static_cast<std::uint8_t>((token * 13 + static_cast<std::int64_t>(index) * 7) % kValues);
}
std::uint16_t pick_weight(std::int64_t token, int slot) {
  return static_cast<std::uint16_t>(1 + (token * 3 + slot * 5) % kWeights);
}
std::int16_t expert_shift(std::uint16_t expert) {
  return static_cast<std::int16_t>(expert % kShifts);
}

RoutedSession::RoutedSession(const model::Routing& routing, const RoutedShape& shape,
                             const RoutedStages& stages, RoutedTransport& transport)
    : routing_(routing),
      shape_(shape),
      stages_(stages),
      transport_(transport),
      share_(routing.experts / shape.ranks) {
  std::tie(first_, end_) = tokens_of(routing, shape, transport.rank());
  const auto own = static_cast<std::size_t>(end_ - first_);
  values_.resize(own * shape.dispatch_bytes);
  for (std::size_t token = 0; token < own; ++token)
    for (std::size_t i = 0; i < shape.dispatch_bytes; ++i)
      values_[token * shape.dispatch_bytes + i] =
          token_value(first_ + static_cast<std::int64_t>(token), i);
  results_.resize(own * answers());
  returned_.resize(own);
  twice_.resize(own);
  if (!is_flat()) gate_place_.resize(static_cast<std::size_t>(routing.tokens()));
}

const StageBytes& RoutedSession::stage(int slot) const {
  const auto at = static_cast<std::size_t>(slot);
  const std::size_t dispatched = stages_.dispatch.size();
  return at < dispatched ? stages_.dispatch[at] : stages_.combine[at - dispatched];
}

std::vector<Pick> RoutedSession::picks_of(std::int64_t token) const {
  std::vector<Pick> picks;
  for (int slot = 0; slot < routing_.topk; ++slot) {
    const auto expert = routing_.picks[static_cast<std::size_t>(token * routing_.topk + slot)];
    if (expert != model::kNoExpert)
      picks.push_back({expert, pick_weight(token, slot), static_cast<std::uint16_t>(slot), 0});
  }
  return picks;
}

// Flat: a record per pick, at the rank of its expert. Dedup: one per node with its picks there.
void RoutedSession::pack() {
  const int self = transport_.rank();
  std::vector<std::uint64_t> next(static_cast<std::size_t>(shape_.ranks));
  for (int to = 0; to < shape_.ranks; ++to)
    next[static_cast<std::size_t>(to)] = stage(0).send_offset(self, to);
  std::byte* out = transport_.send_buffer(0);
  std::vector<Pick> part;
  for (std::int64_t token = first_; token < end_; ++token) {
    std::vector<Pick> picks = picks_of(token);
    const auto key = [this](const Pick& pick) {
      return is_flat() ? 0 : shape_.node_of(rank_of(pick.expert));
    };
    std::stable_sort(picks.begin(), picks.end(),
                     [&](const Pick& a, const Pick& b) { return key(a) < key(b); });
    for (std::size_t at = 0; at < picks.size();) {
      std::size_t behind = at + 1;
      while (!is_flat() && behind < picks.size() && key(picks[behind]) == key(picks[at])) ++behind;
      part.assign(picks.begin() + static_cast<std::ptrdiff_t>(at),
                  picks.begin() + static_cast<std::ptrdiff_t>(behind));
      const int to = is_flat() ? rank_of(part[0].expert) : shape_.gate(key(part[0]), self);
      std::uint64_t& offset = next[static_cast<std::size_t>(to)];
      TokenHeader header{};
      header.token = static_cast<std::uint32_t>(token);
      header.source = static_cast<std::uint16_t>(self);
      write_dispatch(
          out + offset, stages_.record, header, part,
          values_.data() + static_cast<std::size_t>(token - first_) * shape_.dispatch_bytes,
          shape_.dispatch_bytes);
      offset += stages_.record;
      at = behind;
    }
  }
}

// A gate hands every record to each rank of its node that has one of its experts.
void RoutedSession::pass_on() {
  const int self = transport_.rank();
  std::vector<std::uint64_t> next(static_cast<std::size_t>(shape_.ranks));
  for (int to = 0; to < shape_.ranks; ++to)
    next[static_cast<std::size_t>(to)] = stage(1).send_offset(self, to);
  const std::byte* in = transport_.receive_buffer(0);
  std::byte* out = transport_.send_buffer(1);
  std::vector<Pick> picks;
  std::vector<int> ranks;
  const std::uint64_t records = stage(0).received_by(self) / stages_.record;
  for (std::uint64_t at = 0; at < records; ++at) {
    const std::byte* record = in + at * stages_.record;
    const TokenHeader header = header_at(record);
    if (header.token >= gate_place_.size()) continue;  // damaged: its source misses it
    gate_place_[header.token] = static_cast<std::uint32_t>(at);
    read_picks(record, header, picks);
    ranks.clear();
    for (const Pick& pick : picks) ranks.push_back(rank_of(pick.expert));
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    for (const int rank : ranks) {
      std::memcpy(out + next[static_cast<std::size_t>(rank)], record, stages_.record);
      next[static_cast<std::size_t>(rank)] += stages_.record;
    }
  }
}

// The experts of this rank: (value + the expert's number) times the weight, summed over the picks.
void RoutedSession::answer() {
  const int last = dispatch_stages() - 1;
  const std::byte* in = transport_.receive_buffer(last);
  std::byte* out = transport_.send_buffer(last + 1);
  const std::size_t record = combine_record(shape_);
  const std::uint64_t records = stage(last).received_by(transport_.rank()) / stages_.record;
  std::vector<Pick> picks;
  std::vector<std::int16_t> sums(answers());
  for (std::uint64_t at = 0; at < records; ++at) {
    const std::byte* from = in + at * stages_.record;
    TokenHeader header = header_at(from);
    read_picks(from, header, picks);
    const std::byte* values = from + stages_.record - shape_.dispatch_bytes;
    std::fill(sums.begin(), sums.end(), std::int16_t{0});
    header.mask = 0;
    for (const Pick& pick : picks) {
      if (rank_of(pick.expert) != transport_.rank()) continue;
      header.mask |= std::uint64_t{1} << pick.slot;
      const auto shift = expert_shift(pick.expert);
      std::size_t value = 0;
      for (std::int16_t& sum : sums) {
        sum = static_cast<std::int16_t>(
            sum + pick.weight * (static_cast<std::int16_t>(values[value]) + shift));
        if (++value == shape_.dispatch_bytes) value = 0;
      }
    }
    std::memcpy(out + at * record, &header, sizeof header);
    std::memcpy(out + at * record + sizeof header, sums.data(), sums.size() * sizeof sums[0]);
  }
}

// A gate adds up what the ranks of its node answered, in the order in which the tokens came.
void RoutedSession::add_up_at_gate() {
  const std::size_t record = combine_record(shape_);
  std::byte* out = transport_.send_buffer(3);
  std::memset(out, 0, stage(3).sent_by(transport_.rank()));
  const std::byte* in = transport_.receive_buffer(2);
  const std::uint64_t records = stage(2).received_by(transport_.rank()) / record;
  for (std::uint64_t at = 0; at < records; ++at) {
    const std::byte* from = in + at * record;
    const TokenHeader part = header_at(from);
    if (part.token >= gate_place_.size()) continue;
    std::byte* to = out + gate_place_[part.token] * record;
    TokenHeader sum = header_at(to);
    sum.token = part.token;
    sum.source = part.source;
    sum.mask ^= part.mask;  // a slot that came twice disappears, and is missed
    std::memcpy(to, &sum, sizeof sum);
    add_to(reinterpret_cast<std::int16_t*>(to + sizeof sum), from + sizeof part, answers());
  }
}

void RoutedSession::take(const std::byte* records, std::uint64_t bytes) {
  const std::size_t record = combine_record(shape_);
  for (std::uint64_t at = 0; at < bytes; at += record) {
    const TokenHeader header = header_at(records + at);
    const std::int64_t token = std::int64_t{header.token} - first_;
    if (token < 0 || token >= end_ - first_) continue;  // its own source misses it
    const auto own = static_cast<std::size_t>(token);
    if ((returned_[own] & header.mask) != 0) ++twice_[own];
    returned_[own] |= header.mask;
    add_to(results_.data() + own * answers(), records + at + sizeof header, answers());
  }
}

void RoutedSession::check_token(std::int64_t token, RoutedCheck& check) const {
  const auto own = static_cast<std::size_t>(token - first_);
  const std::int16_t* result = results_.data() + own * answers();
  std::uint64_t wanted = 0;
  std::int64_t weights = 0, shifts = 0;
  const std::vector<Pick> picks = picks_of(token);
  for (const Pick& pick : picks) {
    wanted |= std::uint64_t{1} << pick.slot;
    weights += pick.weight;
    shifts += std::int64_t{pick.weight} * expert_shift(pick.expert);
  }
  std::uint64_t wrong = 0;
  std::size_t value = 0;
  for (std::size_t i = 0; i < answers(); ++i) {
    if (result[i] != weights * token_value(token, value) + shifts) ++wrong;
    if (++value == shape_.dispatch_bytes) value = 0;
  }
  const auto missing = static_cast<std::uint64_t>(__builtin_popcountll(wanted & ~returned_[own]));
  check.missing += missing;
  check.twice += twice_[own];
  check.wrong += wrong;
  if (wrong == 0 && twice_[own] == 0) check.picks += picks.size() - missing;
}

void RoutedSession::check(RoutedCheck& check) const {
  for (std::int64_t token = first_; token < end_; ++token) check_token(token, check);
}

void RoutedSession::exchange(int slot, NicLimit limit) {
  transport_.exchange(stage(slot), slot, limit);
}

RoutedSample RoutedSession::run_once(NicLimit limit, RoutedCheck& found) {
  RoutedSample sample;
  std::fill(results_.begin(), results_.end(), std::int16_t{0});
  std::fill(returned_.begin(), returned_.end(), 0);
  std::fill(twice_.begin(), twice_.end(), 0);
  transport_.barrier();
  double start = now_seconds();
  pack();
  exchange(0, limit);
  if (!is_flat()) {
    pass_on();
    exchange(1, limit);
  }
  sample.dispatch = transport_.moved_seconds().value_or(now_seconds() - start);
  answer();
  transport_.barrier();
  start = now_seconds();
  exchange(dispatch_stages(), limit);
  if (!is_flat()) {
    add_up_at_gate();
    exchange(3, limit);
  }
  const int last = 2 * dispatch_stages() - 1;
  take(transport_.receive_buffer(last), stage(last).received_by(transport_.rank()));
  sample.combine = transport_.moved_seconds().value_or(now_seconds() - start);
  check(found);
  return sample;
}

}  // namespace comm_probe::measure
