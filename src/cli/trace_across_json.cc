#include <map>
#include <optional>
#include <tuple>

#include "cli/ledger_view.h"
#include "cli/trace_across_view.h"
#include "core/json.h"
#include "diagnose/trace_merge.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using core::json_number;
using torch::AcrossRanks;

Json us(std::int64_t ns) { return json_number(static_cast<double>(ns) / 1e3); }
Json optional_rate(const std::optional<core::Bandwidth>& rate) {
  return rate ? json_number(rate->in_GBps()) : Json(nullptr);
}
template <class T>
Json optional_number(const std::optional<T>& number) {
  return number ? Json(*number) : Json(nullptr);
}
Json step_json(std::int64_t step) { return step < 0 ? Json(nullptr) : Json(step); }

const char* state_name(torch::MeetingState state) {
  switch (state) {
    case torch::MeetingState::kAccepted:
      return "accepted";
    case torch::MeetingState::kEndsApart:
      return "ends apart";
    case torch::MeetingState::kMismatch:
      return "mismatch";
    case torch::MeetingState::kOneSided:
      return "one-sided";
    case torch::MeetingState::kAlone:
      break;
  }
  return "one rank only";
}

// A token-routing job has as many sizes as calls.
class RateIndex {
 public:
  explicit RateIndex(const std::vector<diagnose::PricedRate>& rates) {
    for (const diagnose::PricedRate& priced : rates)
      of_[{priced.rate.group, priced.rate.kind, priced.rate.bytes, priced.rate.dtype}] = &priced;
  }
  const diagnose::PricedRate* find(const torch::CommCall& call) const {
    const auto found = of_.find({call.group, call.kind, call.bytes, call.dtype});
    return found == of_.end() ? nullptr : found->second;
  }

 private:
  using Key = std::tuple<int, torch::CollectiveClass, std::optional<std::uint64_t>, int>;
  std::map<Key, const diagnose::PricedRate*> of_ = {};
};

// The transfer where somebody can have been last; else the longest kernel, waiting included.
std::int64_t time_of(const torch::Meeting& meeting, const torch::MeetingTimes& times) {
  if (times.counts()) return times.transfer;
  std::int64_t longest = 0;
  for (const torch::Attendance& one : meeting.present) longest = std::max(longest, one.duration);
  return longest;
}

Json collective_json(const AcrossView& view, const RateIndex& rates, std::size_t index) {
  const AcrossRanks& across = view.across;
  const torch::Meeting& meeting = across.matching.meetings[index];
  const torch::MeetingTimes& times = across.waits.meetings[index];
  const torch::CommCall& call = torch::call_of(across.job, meeting.present.front());
  const torch::CommGroup& group = across.group_of(meeting);
  Json json = {
      {"group", group.name},
      {"seq", optional_number(call.seq)},
      {"step", step_json(torch::step_of(across.job, meeting))},
      {"op", torch::class_name(call.kind)},
      {"kernel", across.job.kernels[static_cast<std::size_t>(call.kernel)]},
      {"bytes", optional_number(call.bytes)},
      {"dtype", call.dtype < 0 ? Json(nullptr)
                               : Json(across.job.dtypes[static_cast<std::size_t>(call.dtype)])},
      {"ranks", group.size},
      {"state", state_name(meeting.state)}};
  Json durations = Json::object();
  for (const torch::Attendance& one : meeting.present)
    durations[std::to_string(across.rank_number(one.rank))] = one.duration;
  json["duration_ns"] = std::move(durations);
  const std::int64_t time = time_of(meeting, times);
  const auto algbw = torch::algbw_of(call.bytes, time);
  if (times.counts()) {
    json["last"] = across.rank_number(times.shortest);
    json["blamed"] = across.rank_number(times.blamed);
    json["together"] = times.together;
    json["excused"] = times.excused;
    json["transfer_ns"] = times.transfer;
    json["wait_ns"] = times.wait;
    json["margin_ns"] = times.margin;
    json["end_spread_ns"] = meeting.end_spread;
  } else {
    json["includes_waiting"] = true;
  }
  json["algbw_GBps"] = optional_rate(algbw);
  const diagnose::PricedRate* priced = rates.find(call);
  if (priced == nullptr || priced->rate.ranks < 2) return json;
  if (algbw)
    json["busbw_GBps"] =
        json_number((*algbw * torch::busbw_factor(call.kind, priced->rate.ranks)).in_GBps());
  if (priced->predicted) {
    json["predicted_us"] = json_number(priced->predicted->in_us());
    json["ledger"] = priced->ledger_side();
  }
  return json;
}

Json waiting_json(const AcrossRanks& across, std::size_t rank, const torch::RankWaits& waits) {
  Json json = {{"rank", across.rank_number(static_cast<int>(rank))},
               {"collectives", waits.meetings},
               {"transfer_ns", waits.transfer},
               {"wait_ns", waits.wait}};
  if (!across.activities.empty()) {
    json["exposed_transfer_ns"] = waits.exposed_transfer;
    json["exposed_wait_ns"] = waits.exposed_wait;
  }
  json["caused_wait_ns"] = waits.caused;
  json["caused_at_entry_ns"] = waits.caused_excused;
  json["last_in"] = waits.last_in;
  return json;
}

Json rate_json(const AcrossRanks& across, const diagnose::PricedRate& priced) {
  const torch::Rate& rate = priced.rate;
  Json json = {{"group", across.job.groups[static_cast<std::size_t>(rate.group)].name},
               {"op", torch::class_name(rate.kind)},
               {"bytes", optional_number(rate.bytes)},
               {"ranks", rate.ranks},
               {"count", rate.count},
               {"best_us", us(rate.best)},
               {"median_us", us(rate.median)},
               {"worst_us", us(rate.worst)},
               {"total_us", us(rate.total)},
               {"includes_waiting", rate.includes_waiting},
               {"algbw_GBps", optional_rate(rate.algbw())},
               {"busbw_GBps", optional_rate(rate.busbw())}};
  if (const auto saving = diagnose::merge_saving_per_step(across, priced))
    json["merged"] = {{"calls_per_step", saving->calls},
                      {"calls_left", saving->merged},
                      {"latency_us", json_number(saving->latency.in_us())},
                      {"saved_us", json_number(saving->saved.in_us())}};
  if (!priced.predicted) return json;
  json["predicted_us"] = json_number(priced.predicted->in_us());
  json["basis"] = diagnose::rate_basis_name(priced.basis);
  json["efficiency"] = priced.efficiency() ? json_number(*priced.efficiency()) : Json(nullptr);
  json["ledger_side"] = priced.ledger_side();
  if (priced.ledger) json["ledger"] = to_json(*priced.ledger);
  if (priced.fit)
    json["fit"] = {{"alpha_us", json_number(priced.fit->alpha.in_us())},
                   {"beta_GBps", json_number(priced.fit->beta.in_GBps())},
                   {"knee_bytes", core::json_bytes(priced.fit->knee)}};
  return json;
}

Json straggler_json(const AcrossRanks& across, const diagnose::Straggler& one) {
  Json json = {
      {"rank", across.rank_number(one.rank)},  {"step", step_json(one.step)},
      {"caused_wait_us", us(one.caused)},      {"of_it_at_entry_us", us(one.caused_excused)},
      {"all_waiting_us", us(one.all_waiting)}, {"last_in", one.last_in},
      {"collectives", one.meetings},           {"kind", diagnose::late_kind_name(one.kind)}};
  if (across.activities.empty()) return json;
  const torch::WindowParts more = one.why.more();
  json["more_than_others_us"] = {{"compute", us(more.compute)},
                                 {"idle", us(more.idle)},
                                 {"copies", us(more.memory)},
                                 {"other_groups", us(more.communication)}};
  return json;
}

// A rank that is late together with others.
Json late_member_json(const AcrossRanks& across, const diagnose::LateSet& set, int rank) {
  const torch::RankWaits& waits = across.waits.ranks[static_cast<std::size_t>(rank)];
  Json together = Json::array();
  for (const int member : set.ranks) together.push_back(across.rank_number(member));
  return {{"rank", across.rank_number(rank)},      {"step", nullptr},
          {"caused_wait_us", us(waits.caused)},    {"of_it_at_entry_us", us(waits.caused_excused)},
          {"all_waiting_us", us(set.all_waiting)}, {"last_in", waits.last_in},
          {"collectives", waits.meetings},         {"kind", diagnose::late_kind_name(set.kind)},
          {"together_with", std::move(together)}};
}

Json clock_json(const AcrossRanks& across, const torch::ClockOffset& clock) {
  return {{"rank", across.rank_number(clock.rank)},
          {"reference", across.rank_number(clock.reference)},
          {"offset_us", us(clock.offset)},
          {"residual_us", us(clock.residual)},
          {"error_us", us(clock.error)},
          {"drift_ppm", json_number(clock.drift * 1e6)},
          {"collectives", clock.meetings}};
}

Json backend_json(const torch::BackendUse& use) {
  return {{"backend", torch::backend_name(use.kernel.backend)},
          {"op", torch::class_name(use.kernel.kind)},
          {"algorithm", use.kernel.algorithm},
          {"protocol", use.kernel.protocol},
          {"kernel", use.name},
          {"count", use.count},
          {"bytes", optional_number(use.bytes)},
          {"least_us", us(use.least)},
          {"median_us", us(use.median)},
          {"p95_us", us(use.p95)},
          {"most_us", us(use.most)},
          {"total_us", us(use.total)}};
}

}  // namespace

void add_across_json(const AcrossView& view, Json& result) {
  const AcrossRanks& across = view.across;
  Json collectives = Json::array();
  const RateIndex index(view.judged.rates);
  for (std::size_t i = 0; i < across.matching.meetings.size(); ++i)
    collectives.push_back(collective_json(view, index, i));
  result["collectives"] = std::move(collectives);
  Json waiting = Json::array();
  for (std::size_t rank = 0; rank < across.waits.ranks.size(); ++rank)
    waiting.push_back(waiting_json(across, rank, across.waits.ranks[rank]));
  result["waiting"] = std::move(waiting);
  Json rates = Json::array();
  for (const auto& priced : view.judged.rates) rates.push_back(rate_json(across, priced));
  result["rates"] = std::move(rates);
  Json stragglers = Json::array();
  for (const auto& one : view.judged.stragglers) stragglers.push_back(straggler_json(across, one));
  if (view.judged.late_set)
    for (const int rank : view.judged.late_set->ranks)
      stragglers.push_back(late_member_json(across, *view.judged.late_set, rank));
  result["stragglers"] = std::move(stragglers);
  Json clock = Json::array();
  if (across.job.has_clock)
    for (const auto& one : across.matching.clocks) clock.push_back(clock_json(across, one));
  result["clock"] = std::move(clock);
  Json backends = Json::array();
  for (const auto& use : view.backends) backends.push_back(backend_json(use));
  result["backends"] = std::move(backends);
  result["matching"] = {{"accepted", across.matching.accepted},
                        {"rejected", across.matching.rejected},
                        {"one_rank_only", across.matching.unpaired}};
}

}  // namespace comm_probe::cli
