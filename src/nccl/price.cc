#include "nccl/price.h"

#include <fmt/format.h>

#include <utility>

#include "core/units.h"
#include "nccl/tuning_model.h"

namespace comm_probe::nccl {
namespace {

using core::Bandwidth;
using core::Bytes;
using core::Duration;
using core::Result;
using model::Collective;
using model::Ledger;
using model::Term;

constexpr std::array<std::pair<Algorithm, model::Algorithm>, kAlgorithms> kSameAlgorithms = {{
    {Algorithm::kTree, model::Algorithm::kNcclTree},
    {Algorithm::kRing, model::Algorithm::kRing},
    {Algorithm::kCollNetDirect, model::Algorithm::kCollNetDirect},
    {Algorithm::kCollNetChain, model::Algorithm::kCollNetChain},
    {Algorithm::kNvls, model::Algorithm::kNvls},
    {Algorithm::kNvlsTree, model::Algorithm::kNvlsTree},
    {Algorithm::kPat, model::Algorithm::kPat},
}};

// Sizes between which knee and plateau are looked for.
constexpr std::uint64_t kSmallest = 1;
constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;
constexpr double kPlateauShare = 0.9;

model::Algorithm model_algorithm(Algorithm algorithm) {
  for (const auto& [ours, theirs] : kSameAlgorithms)
    if (ours == algorithm) return theirs;
  return model::Algorithm::kRing;
}

model::Protocol model_protocol(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLl:
      return model::Protocol::kLl;
    case Protocol::kLl128:
      return model::Protocol::kLl128;
    case Protocol::kSimple:
      return model::Protocol::kSimple;
  }
  return model::Protocol::kSimple;
}

// A call of so many bytes, at least one element per rank.
Call call_for(const Collective& collective, const Tuning& tuning, Bytes bytes) {
  Call call = call_of(*function_of(collective.op), bytes.whole(), tuning.job.agreement.ranks);
  call.count = std::max<std::uint64_t>(call.count, 1);
  return call;
}

// The candidates of a call that the limits leave, fastest first, and the others.
struct Offer {
  std::vector<Candidate> allowed = {};
  std::vector<Candidate> excluded = {};
  std::vector<Declined> declined = {};
};

bool allows(const PriceLimits& limits, Algorithm algorithm, Protocol protocol) {
  return limits.algorithm.value_or(algorithm) == algorithm &&
         limits.protocol.value_or(protocol) == protocol;
}

Result<Offer> offer_of(const Tuning& tuning, const Call& call, const PriceLimits& limits) {
  auto choice = choose(tuning, call);
  if (!choice) return choice.error();
  Offer offer;
  offer.declined = std::move(choice->declined);
  choice->others.insert(choice->others.begin(), choice->taken);
  for (const Candidate& candidate : choice->others)
    (allows(limits, candidate.algorithm, candidate.protocol) ? offer.allowed : offer.excluded)
        .push_back(candidate);
  return offer;
}

std::string limits_text(const PriceLimits& limits) {
  std::string text = limits.algorithm ? table_name(*limits.algorithm) : "";
  if (limits.protocol)
    text += (text.empty() ? "" : " ") + std::string(table_name(*limits.protocol));
  return text;
}

core::Error nothing_allowed(const Collective& collective, const PriceLimits& limits,
                            const Offer& offer) {
  std::string why;
  for (const Declined& declined : offer.declined)
    if (why.empty() && allows(limits, declined.algorithm, declined.protocol))
      why = fmt::format(": {}", declined.reason);
  return core::input_error(fmt::format("NCCL has no {} for {} on this job{}", limits_text(limits),
                                       op_name(collective.op), why),
                           "comm-probe nccl choose lists what it has");
}

// Bytes over the wire that busbw counts.
Bytes bus_bytes(const Collective& collective, Bytes bytes) {
  return bytes * model::busbw_factor(collective.op, collective.ranks);
}

Term steps_term(const char* name, const LatencyParts::Part& part, const char* wire) {
  Term term;
  term.name = name;
  term.steps = part.steps;
  term.link.alpha = Duration::from_us(part.step_us);
  term.reason = fmt::format("{} x {} of NCCL's table{}", core::format_number(part.steps),
                            core::format_duration(term.link.alpha), wire);
  return term;
}

Term fixed_term(std::string name, Duration time, std::string reason) {
  Term term;
  term.name = std::move(name);
  term.steps = 1;
  term.link.alpha = time;
  term.reason = std::move(reason);
  return term;
}

// What NCCL adds to its table for this call: a ring whose every channel has work.
void add_surcharge(const Tuning& tuning, const Candidate& taken, const LatencyParts& parts,
                   std::vector<Term>& terms) {
  const double table = parts.total().us;
  if (taken.latency.us <= table) return;
  const std::string factor = core::format_number(taken.latency.us / table);
  terms.push_back(fixed_term("surcharge of a full ring",
                             Duration::from_us(taken.latency.us - table),
                             fmt::format("NCCL counts {} x the latency here: every channel of the "
                                         "{} ranks has work",
                                         factor, tuning.job.agreement.ranks)));
}

LatencyParts parts_of(const Tuning& tuning, const Collective& collective, const Candidate& taken) {
  const TuningConstants constants = tuning_constants(tuning.job.settings.version);
  return latency_parts(TuningFacts(tuning.job, constants),
                       {*function_of(collective.op), taken.algorithm, taken.protocol});
}

std::vector<Term> terms_of(const Tuning& tuning, const Collective& collective,
                           const Candidate& taken, const LatencyParts& parts) {
  const std::string method =
      fmt::format("{} {}", table_name(taken.algorithm), table_name(taken.protocol));
  std::vector<Term> terms;
  if (parts.base > 0)
    terms.push_back(fixed_term("start", Duration::from_us(parts.base),
                               fmt::format("what every call with {} costs", method)));
  if (parts.inside.us() > 0) terms.push_back(steps_term("steps inside the node", parts.inside, ""));
  if (parts.between.us() > 0)
    terms.push_back(steps_term("steps between nodes", parts.between, ", latency of the NIC in it"));
  if (parts.extra_us > 0)
    terms.push_back(fixed_term("peers", Duration::from_us(parts.extra_us), parts.extra_name));
  add_surcharge(tuning, taken, parts, terms);
  Term bytes;
  bytes.name = "bytes";
  bytes.bytes = bus_bytes(collective, collective.bytes);
  bytes.link.beta = bytes.bytes / taken.bandwidth.duration();
  bytes.reason =
      fmt::format("bus bytes of a rank over the bandwidth of {} in NCCL's table{}", method,
                  taken.algorithm == Algorithm::kTree ? ", corrected for the size" : "");
  for (Term& term : terms) term.link.beta = bytes.link.beta;
  terms.push_back(std::move(bytes));
  return terms;
}

// The best that the limits leave at a size.
std::optional<Candidate> best_at(const Collective& collective, const Tuning& tuning,
                                 const PriceLimits& limits, std::uint64_t size) {
  const Call call = call_for(collective, tuning, Bytes::of(size));
  std::optional<Candidate> best;
  for (const Algorithm algorithm : kAllAlgorithms)
    for (const Protocol protocol : kAllProtocols)
      if (allows(limits, algorithm, protocol))
        if (const auto candidate = candidate_of(tuning, call, algorithm, protocol))
          if (!best || candidate->time < best->time) best = candidate;
  return best;
}

// The first size for which `holds`, which once true stays true; bisection over powers of two, then
// between two of them.
template <class Predicate>
Bytes first_size(const Predicate& holds) {
  std::uint64_t above = kSmallest;
  while (above < kLargest && !holds(above)) above *= 2;
  std::uint64_t below = above / 2;
  while (above - below > std::max<std::uint64_t>(1, above / 1024)) {
    const std::uint64_t middle = below + (above - below) / 2;
    (holds(middle) ? above : below) = middle;
  }
  return Bytes::of(above);
}

void add_landmarks(Ledger& ledger, const Tuning& tuning, const PriceLimits& limits) {
  const Collective& collective = ledger.collective;
  const auto busbw = [&](std::uint64_t size, const Candidate& candidate) {
    return bus_bytes(collective, Bytes::of(size)) / candidate.time.duration();
  };
  const auto at_end = best_at(collective, tuning, limits, kLargest);
  if (!at_end) return;
  ledger.plateau_busbw = busbw(kLargest, *at_end);
  ledger.knee = first_size([&](std::uint64_t size) {
    const auto best = best_at(collective, tuning, limits, size);
    return best && !best->pays_latency();
  });
  ledger.plateau90 = first_size([&](std::uint64_t size) {
    const auto best = best_at(collective, tuning, limits, size);
    return best && busbw(size, *best) >= ledger.plateau_busbw * kPlateauShare;
  });
}

std::string ratio_text(const Candidate& other, const Candidate& taken) {
  return fmt::format(
      "{} x the time: it pays {}", core::format_number(other.time.us / taken.time.us),
      other.latency.us - taken.latency.us >= other.bandwidth.us - taken.bandwidth.us ? "latency"
                                                                                     : "bandwidth");
}

std::vector<model::Rejected> rejected_of(const Offer& offer) {
  const Candidate& taken = offer.allowed.front();
  std::vector<model::Rejected> rejected;
  for (const auto* list : {&offer.allowed, &offer.excluded})
    for (const Candidate& other : *list)
      if (&other != &taken)
        rejected.push_back({model_algorithm(other.algorithm),
                            model_protocol(other.protocol),
                            other.time.duration(),
                            {},
                            ratio_text(other, taken)});
  for (const Declined& declined : offer.declined)
    rejected.push_back({model_algorithm(declined.algorithm),
                        model_protocol(declined.protocol),
                        {},
                        {},
                        declined.reason});
  return rejected;
}

std::string source_of(const Tuning& tuning) {
  const topology::NcclVersion version = tuning.job.settings.version;
  const Agreement& all = tuning.job.agreement;
  return fmt::format("tuning model of NCCL {}.{}.{} for {} rank{} on {} node{}", version.major,
                     version.minor, version.patch, all.ranks, all.ranks == 1 ? "" : "s", all.nodes,
                     all.nodes == 1 ? "" : "s");
}

Ledger ledger_of(const Collective& collective, const Tuning& tuning, const Offer& offer) {
  const Candidate& taken = offer.allowed.front();
  Ledger ledger;
  ledger.collective = collective;
  ledger.algorithm = model_algorithm(taken.algorithm);
  ledger.protocol = model_protocol(taken.protocol);
  const LatencyParts parts = parts_of(tuning, collective, taken);
  ledger.terms = terms_of(tuning, collective, taken, parts);
  ledger.bytes_per_rank = bus_bytes(collective, collective.bytes);
  ledger.steps = parts.inside.steps + parts.between.steps;
  const Term* costliest = &ledger.terms.front();
  for (const Term& term : ledger.terms)
    if (term.latency() > costliest->latency()) costliest = &term;
  ledger.link = costliest->link;
  ledger.basis = core::Basis::kComputed;
  ledger.source = source_of(tuning);
  ledger.rejected = rejected_of(offer);
  return ledger;
}

Result<bool> check(const Collective& collective, const Tuning& tuning) {
  if (!function_of(collective.op))
    return core::input_error(fmt::format("NCCL has no model for {}: it runs sends and receives",
                                         op_name(collective.op)));
  const int ranks = tuning.job.agreement.ranks;
  if (collective.ranks != ranks)
    return core::input_error(
        fmt::format("{} ranks are asked about, the job has {}", collective.ranks, ranks));
  return true;
}

}  // namespace

std::optional<Algorithm> algorithm_of(model::Algorithm algorithm) {
  for (const auto& [ours, theirs] : kSameAlgorithms)
    if (theirs == algorithm) return ours;
  return std::nullopt;
}

Protocol protocol_of(model::Protocol protocol) {
  switch (protocol) {
    case model::Protocol::kLl:
      return Protocol::kLl;
    case model::Protocol::kLl128:
      return Protocol::kLl128;
    case model::Protocol::kSimple:
      return Protocol::kSimple;
  }
  return Protocol::kSimple;
}

Result<Ledger> price(const Collective& collective, const Tuning& tuning,
                     const PriceLimits& limits) {
  const auto checked = check(collective, tuning);
  if (!checked) return checked.error();
  if (collective.ranks <= 1) {
    Ledger free;
    free.collective = collective;
    return free;
  }
  const auto offer = offer_of(tuning, call_for(collective, tuning, collective.bytes), limits);
  if (!offer) return offer.error();
  if (offer->allowed.empty()) return nothing_allowed(collective, limits, *offer);
  Ledger ledger = ledger_of(collective, tuning, *offer);
  add_landmarks(ledger, tuning, limits);
  return ledger;
}

}  // namespace comm_probe::nccl
