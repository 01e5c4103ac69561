#include "measure/engines/mpi/price.h"

#include <algorithm>

namespace comm_probe::measure::mpi {
namespace {

using core::Bytes;
using core::Duration;

// More messages than this are not played: a prediction must not cost more than the run.
constexpr std::size_t kMostPlayed = 2'000'000;

constexpr const char* kKinds[] = {kInside, kBetween};

model::TimeCurve curve_of(const std::vector<model::FitPoint>& points) {
  std::vector<model::TimeCurve::Point> found;
  for (const model::FitPoint& point : points) found.push_back({point.bytes, point.time});
  return model::TimeCurve(found);
}

void add_steps(model::Ledger& ledger, double steps, Duration time, const std::string& kind) {
  if (steps == 0) return;
  model::Term term;
  term.name = "messages " + kind;
  term.steps = steps;
  term.link = {time / steps, core::Bandwidth::from_GBps(1)};
  term.reason = "messages that follow each other, each as long as one of 8 B";
  ledger.terms.push_back(std::move(term));
}

}  // namespace

Prices::Prices(std::vector<int> hosts, const std::vector<Level>& levels, const LoopCosts& loops)
    : hosts_(std::move(hosts)), reduce_(curve_of(loops.reduce)), copy_(curve_of(loops.copy)) {
  for (const Level& level : levels) {
    const int kind = level.name == kKinds[0] ? 0 : 1;
    fresh_[kind] = {curve_of(level.fresh.one_way), curve_of(level.fresh.exchange)};
    resent_[kind] = {curve_of(level.resent.one_way), curve_of(level.resent.exchange)};
  }
}

int Prices::kind_between(int a, int b) const {
  return hosts_[static_cast<std::size_t>(a)] == hosts_[static_cast<std::size_t>(b)] ? 0 : 1;
}

// A message out and one in share a step while there are both; then all ranks send what they send.
bool Prices::move(int kind, const std::vector<Message>& out, const std::vector<Message>& in,
                  Tally& tally) const {
  const std::size_t steps = std::max(out.size(), in.size());
  if (steps > 0 && !fresh_[kind].is_known()) return false;
  for (std::size_t i = 0; i < steps; ++i) {
    const bool is_both = i < out.size() && i < in.size();
    Message message = i < out.size() ? out[i] : in[i];
    if (is_both) message.bytes = std::max(out[i].bytes, in[i].bytes);
    const Way& way = message.is_resent ? resent_[kind] : fresh_[kind];
    const model::TimeCurve& curve = is_both ? way.exchange : way.one_way;
    const Duration time = curve.at(message.bytes), least = curve.points().front().time;
    tally.time += time;
    tally.steps[kind] += 1;
    tally.bytes[kind] += message.bytes;
    tally.waiting[kind] += least;
    tally.moving[kind] += time - least;
  }
  return true;
}

// Of a rank that only receives.
bool Prices::is_resent(const std::vector<Schedule>& ranks, const Moment& now, int from) const {
  if (now.all_fresh) return false;
  const Slot& slot = ranks[static_cast<std::size_t>(from)].slots[now.slot];
  for (const Transfer& sent : slot.sends)
    if (sent.peer == now.rank) return sent.at.place == Place::kInput;
  return false;
}

bool Prices::spend(const std::vector<Schedule>& ranks, const Moment& now, Tally& tally) const {
  const auto bytes = [&](std::size_t count) {
    return Bytes::of(static_cast<std::uint64_t>(count * now.element));
  };
  const Slot& slot = ranks[static_cast<std::size_t>(now.rank)].slots[now.slot];
  for (const int kind : {0, 1}) {
    std::vector<Message> out, in;
    for (const Transfer& sent : slot.sends)
      if (kind_between(now.rank, sent.peer) == kind)
        out.push_back({bytes(sent.count), !now.all_fresh && sent.at.place == Place::kInput});
    for (const Transfer& received : slot.receives)
      if (kind_between(now.rank, received.peer) == kind)
        in.push_back(
            {bytes(received.count), slot.sends.empty() && is_resent(ranks, now, received.peer)});
    if (!move(kind, out, in, tally)) return false;
  }
  for (const Work& work : slot.work) {
    const Bytes size = bytes(work.count);
    const Duration time = (work.b ? reduce_ : copy_).at(size);
    tally.time += time;
    (work.b ? tally.reduced : tally.copied) += size;
    (work.b ? tally.reducing : tally.copying) += time;
  }
  return true;
}

std::optional<Prices::Tally> Prices::play(const std::vector<Schedule>& ranks, Moment now) const {
  std::vector<Tally> tallies(ranks.size());
  std::size_t slots = 0;
  for (const Schedule& rank : ranks) slots = std::max(slots, rank.slots.size());
  for (now.slot = 0; now.slot < slots; ++now.slot) {
    const std::vector<Tally> before = tallies;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (now.slot >= ranks[rank].slots.size()) continue;
      const Slot& slot = ranks[rank].slots[now.slot];
      const auto wait_for = [&](int peer) {
        const Tally& theirs = before[static_cast<std::size_t>(peer)];
        if (theirs.time > tallies[rank].time) tallies[rank] = theirs;
      };
      for (const Transfer& sent : slot.sends) wait_for(sent.peer);
      for (const Transfer& received : slot.receives) wait_for(received.peer);
      now.rank = static_cast<int>(rank);
      if (!spend(ranks, now, tallies[rank])) return std::nullopt;
    }
  }
  return *std::max_element(tallies.begin(), tallies.end(),
                           [](const Tally& a, const Tally& b) { return a.time < b.time; });
}

model::Ledger Prices::ledger_of(const Tally& tally) const {
  model::Ledger ledger;
  ledger.basis = core::Basis::kComputed;
  ledger.source = "messages between pairs of ranks, measured before";
  for (const int kind : {0, 1}) {
    add_steps(ledger, tally.steps[kind], tally.waiting[kind], kKinds[kind]);
    add_bytes(ledger,
              {.name = std::string("bytes ") + kKinds[kind],
               .bytes = tally.bytes[kind],
               .reason = "beyond the first 8 B of every message, at the time of messages of their "
                         "size"},
              tally.moving[kind]);
    ledger.steps += tally.steps[kind];
    ledger.bytes_per_rank += tally.bytes[kind];
  }
  add_bytes(ledger,
            {.name = "reductions", .bytes = tally.reduced, .reason = "our loop on this memory"},
            tally.reducing);
  add_bytes(ledger, {.name = "copies", .bytes = tally.copied, .reason = "from buffer to buffer"},
            tally.copying);
  if (!ledger.terms.empty()) ledger.link.alpha = ledger.terms.front().link.alpha;
  if (ledger.bandwidth().in_seconds() > model::kNoTime)
    ledger.link.beta = ledger.bytes_per_rank / ledger.bandwidth();
  return ledger;
}

std::optional<model::Ledger> Prices::price(const Plan& plan, const Amount& amount,
                                           model::Algorithm algorithm) const {
  return price(plan, amount, algorithm, false);
}

std::optional<model::Ledger> Prices::price(const Plan& plan, const Amount& amount,
                                           model::Algorithm algorithm, bool all_fresh) const {
  const Builder build = find_builder(plan.op, algorithm);
  if (build == nullptr || plan.ranks < 2 || amount.count == 0) return std::nullopt;
  std::vector<Schedule> ranks;
  std::size_t played = 0;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    ranks.push_back(build(case_of(plan, rank, amount.count)));
    for (const Slot& slot : ranks.back().slots)
      played += 1 + slot.sends.size() + slot.receives.size();
    if (played > kMostPlayed) return std::nullopt;
  }
  const auto tally = play(ranks, {.element = element_bytes(plan.element), .all_fresh = all_fresh});
  if (!tally) return std::nullopt;
  model::Ledger ledger = ledger_of(*tally);
  ledger.collective = {plan.op, plan.ranks, amount.bytes};
  ledger.algorithm = algorithm;
  return ledger;
}

std::optional<model::Ledger> Prices::cheapest(const Plan& plan, const Amount& amount) const {
  std::optional<model::Ledger> best;
  for (const model::Algorithm algorithm : algorithms_for(plan.op)) {
    auto ledger = price(plan, amount, algorithm, true);
    if (ledger && (!best || ledger->time() < best->time())) best = std::move(ledger);
  }
  return best;
}

}  // namespace comm_probe::measure::mpi
