#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "diagnose/trace_killer_rules.h"

namespace comm_probe::diagnose {
namespace {

using torch::KillerHit;
using torch::kNone;
using torch::OverlapFacts;
using torch::Trace;

constexpr std::size_t kExamples = 2;
constexpr std::size_t kMostPlaces = 1000;
constexpr std::size_t kLongestName = 60;

// "void (anonymous namespace)::multimem_all_reduce_kernel<...>(...)" without what a reader skips.
std::string short_name(std::string_view name) {
  for (const std::string_view skipped : {"void ", "(anonymous namespace)::", "at::native::"})
    if (name.starts_with(skipped)) name.remove_prefix(skipped.size());
  if (const std::size_t open = name.find_first_of("(<"); open != name.npos && open > 0)
    name = name.substr(0, open);
  return name.size() <= kLongestName ? std::string(name)
                                     : std::string(name.substr(0, kLongestName - 3)) + "...";
}

// As the file writes it, without the base time: what a viewer and a text search find.
std::string time_in_file(const Trace& trace, std::int64_t time) {
  const std::int64_t relative = time - trace.base_time;
  if (trace.resolution >= 1000) return fmt::format("ts {}", relative / 1000);
  return fmt::format("ts {}.{:03}", relative / 1000, std::abs(relative % 1000));
}

std::string duration_text(std::int64_t ns) {
  return core::format_duration(core::Duration::from_ns(static_cast<double>(ns)));
}

std::string call_text(const OverlapFacts& facts, const KillerHit& hit) {
  const Trace& trace = *facts.trace;
  const torch::HostCall& call = trace.calls[hit.call];
  std::string text =
      fmt::format("{} blocks {}", trace.name_of(call), duration_text(hit.at.length()));
  if (hit.host_op != kNone)
    text += fmt::format(" in {}", short_name(trace.names.text(trace.host_ops[hit.host_op].name)));
  text += fmt::format(", thread {}", trace.threads[call.thread].id);
  if (const std::string place = facts.place_of(hit); !place.empty()) text += ", at " + place;
  return text;
}

}  // namespace

std::string ms_text(double ns) {
  const double ms = ns / 1e6;
  return fmt::format("{} ms", core::format_number(ms, ms >= 0.1 ? 3 : 2));
}

bool matters(const OverlapFacts& facts, std::int64_t lost) {
  return static_cast<double>(lost) >=
         torch::kKillerLimits.worth_a_warning * static_cast<double>(facts.extent.length());
}

std::string count_text(const Strike& strike, const std::string& one, const std::string& many) {
  const KillerUse& use = strike.use;
  const auto text = [&](std::size_t count) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
  };
  if (strike.facts->trace->steps.empty()) return text(use.count);
  const bool are_alike =
      std::all_of(use.per_step.begin(), use.per_step.end(),
                  [&use](const auto& step) { return step.second == use.per_step.begin()->second; });
  const std::size_t steps = strike.facts->steps;
  if (are_alike && !use.per_step.contains(-1) && use.per_step.size() == steps)
    return text(use.per_step.begin()->second) + " per step";
  return fmt::format("{} in {} step{}", text(use.count), steps, steps == 1 ? "" : "s");
}

std::string hit_text(const OverlapFacts& facts, const KillerHit& hit) {
  const Trace& trace = *facts.trace;
  std::string text = fmt::format("rank {}", trace.rank.value_or(0));
  if (const std::int64_t step = torch::step_of(trace, hit); step >= 0)
    text += fmt::format(", step {}", step);
  const torch::GpuOp* op = hit.gpu_op == kNone ? nullptr : &trace.gpu_ops[hit.gpu_op];
  // A block of the host is looked up on its thread, the others on the stream of their kernel.
  if (hit.call != kNone && (op == nullptr || op->kind == torch::GpuKind::kCopy) &&
      hit.at.start == trace.calls[hit.call].start)
    return text + fmt::format(", {}: {}", time_in_file(trace, hit.at.start), call_text(facts, hit));
  text += fmt::format(", {}: ", time_in_file(trace, hit.at.start));
  if (op == nullptr) return text + duration_text(hit.at.length());
  const std::string name =
      fmt::format("{}, stream {}", short_name(trace.name_of(*op)), trace.streams[op->stream].id);
  if (hit.at.end == op->start)
    return text +
           fmt::format("nothing runs for {} before {}", duration_text(hit.at.length()), name);
  return text + fmt::format("{} of {}", duration_text(op->duration()), name);
}

Strike strike_of(const OverlapFacts& facts, std::string id, const torch::KillerHits& hits) {
  Strike strike{.facts = &facts};
  strike.use.id = std::move(id);
  strike.use.rank = facts.trace->rank.value_or(0);
  strike.use.count = hits.hits.size();
  strike.use.per_step = torch::hits_per_step(*facts.trace, hits);
  strike.use.lost = hits.lost;
  for (std::size_t i = 0; i < std::min(kMostPlaces, hits.hits.size()); ++i)
    strike.use.where.push_back(hits.hits[i].at);
  std::vector<const KillerHit*> longest;
  for (const KillerHit& hit : hits.hits) longest.push_back(&hit);
  const std::size_t shown = std::min(kExamples, longest.size());
  // The first one, then the one that costs most of the others.
  if (longest.size() > 1)
    std::partial_sort(longest.begin() + 1, longest.begin() + static_cast<std::ptrdiff_t>(shown),
                      longest.end(), [](const KillerHit* a, const KillerHit* b) {
                        return a->lost.length() != b->lost.length()
                                   ? a->lost.length() > b->lost.length()
                                   : a->at.start < b->at.start;
                      });
  for (std::size_t i = 0; i < shown; ++i) strike.examples.push_back({*longest[i]});
  return strike;
}

}  // namespace comm_probe::diagnose
