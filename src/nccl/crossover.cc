#include "nccl/crossover.h"

namespace comm_probe::nccl {
namespace {

constexpr int kMostBetween = 8;  // crossovers between two neighbouring sizes

bool same_method(const Candidate& a, const Candidate& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol;
}

std::optional<Candidate> taken_at(const Tuning& tuning, Call call, std::uint64_t count) {
  call.count = count;
  const auto choice = choose(tuning, call);
  if (!choice) return std::nullopt;
  return choice->taken;
}

// The first count above `low` (whose choice is `from`) with another choice; `high` has another one.
std::uint64_t first_other(const Tuning& tuning, const Call& call, std::uint64_t low,
                          std::uint64_t high, const Candidate& from) {
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto taken = taken_at(tuning, call, middle);
    (taken && same_method(*taken, from) ? low : high) = middle;
  }
  return high;
}

template <class Matches>
std::optional<Forced> best_of(const Choice& choice, Matches matches) {
  if (matches(choice.taken)) return compared(choice, choice.taken);
  for (const Candidate& other : choice.others)  // fastest first
    if (matches(other)) return compared(choice, other);
  return std::nullopt;
}

}  // namespace

std::vector<Crossover> crossovers(const Tuning& tuning, const Call& call,
                                  const std::vector<std::uint64_t>& sizes) {
  const int ranks = tuning.job.agreement.ranks;
  std::vector<Crossover> all;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    std::uint64_t low = call_of(call.function, sizes[i - 1], ranks, call.type).count;
    const std::uint64_t high = call_of(call.function, sizes[i], ranks, call.type).count;
    const auto last = taken_at(tuning, call, high);
    auto from = taken_at(tuning, call, low);
    for (int found = 0; from && last && !same_method(*from, *last) && found < kMostBetween;
         ++found) {
      low = first_other(tuning, call, low, high, *from);
      Call at = call;
      at.count = low;
      const auto to = taken_at(tuning, call, low);
      if (!to) break;
      all.push_back({at.bytes(ranks), *from, *to});
      from = to;
    }
  }
  return all;
}

Forced compared(const Choice& choice, const Candidate& candidate) {
  const float latency = candidate.latency.us - choice.taken.latency.us;
  const float bandwidth = candidate.bandwidth.us - choice.taken.bandwidth.us;
  const double ratio =
      choice.taken.time.us > 0 ? double{candidate.time.us} / choice.taken.time.us : 1;
  return {candidate, ratio, latency >= bandwidth};
}

std::optional<Forced> forced(const Choice& choice, Algorithm algorithm) {
  return best_of(choice, [&](const Candidate& one) { return one.algorithm == algorithm; });
}
std::optional<Forced> forced(const Choice& choice, Protocol protocol) {
  return best_of(choice, [&](const Candidate& one) { return one.protocol == protocol; });
}

}  // namespace comm_probe::nccl
