// One call, two data types, in dumps of ranks that completed it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/finding_table.h"
#include "diagnose/hang_text.h"
#include "diagnose/wrong_numbers.h"

namespace comm_probe::diagnose {
namespace {

struct TypedCall {
  const torch::Lane* lane = nullptr;
  const torch::Work* work = nullptr;
};
// Ranks by what they passed.
using Sides = std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<TypedCall>>;

const torch::Arguments* arguments_of(const TypedCall& call) {
  const torch::Dump& dump = call.lane->digest->dump;
  return call.work->arguments < dump.arguments.size() ? &dump.arguments[call.work->arguments]
                                                      : nullptr;
}

// Empty where a member has not completed the call: then it is a question of hang.h.
Sides sides_of(const torch::Group& group, std::uint32_t seq) {
  Sides sides;
  for (const torch::Lane& lane : group.lanes) {
    if (lane.digest == nullptr) continue;
    const torch::Work* work = lane.find(seq);
    if (work == nullptr) continue;
    if (work->state == torch::Work::State::kPending) return {};
    const TypedCall call{&lane, work};
    const torch::Arguments* arguments = arguments_of(call);
    if (work->members > 0 || arguments == nullptr || arguments->tensors == 0) continue;
    sides[{arguments->in_types, arguments->out_types}].push_back(call);
  }
  return sides;
}

std::string side_text(const std::vector<TypedCall>& side) {
  std::vector<int> ranks;
  for (const TypedCall& call : side) ranks.push_back(call.lane->rank);
  const TypedCall& first = side.front();
  const std::string site = site_text(*first.lane->digest, *first.work);
  return fmt::format("{} {} {}{}", ranks_text(ranks), ranks.size() == 1 ? "passes" : "pass",
                     call_text(*first.lane->digest, *first.work),
                     site.empty() ? "" : fmt::format(" ({})", site));
}

core::Finding finding_of_sides(const torch::Group& group, std::uint32_t seq, const Sides& sides) {
  std::vector<const std::vector<TypedCall>*> by_size;
  for (const auto& [types, side] : sides) by_size.push_back(&side);
  std::sort(by_size.begin(), by_size.end(),
            [](const auto* a, const auto* b) { return a->size() > b->size(); });
  core::Finding finding = core::make_finding(
      "hang.types-differ",
      fmt::format("call {} of {} completed with different data types: {}; {}. NCCL does not "
                  "compare types: the sums are wrong",
                  seq, group_text(group), side_text(*by_size[1]), side_text(*by_size[0])));
  if (by_size[1]->size() < by_size[0]->size())
    for (const TypedCall& call : *by_size[1]) finding.ranks.push_back(call.lane->rank);
  for (const auto* side : {by_size[1], by_size[0]})
    finding.evidence.push_back({side->front().lane->digest->dump.file, {}, side_text(*side)});
  finding.confidence = core::Confidence::kCertain;
  finding.next = {"TORCH_DISTRIBUTED_DEBUG=DETAIL   (stops at the first call that differs)"};
  return finding;
}

std::optional<core::Finding> first_in(const torch::Group& group) {
  std::uint32_t last = 0;
  for (const torch::Lane& lane : group.lanes)
    if (lane.digest != nullptr && !lane.collectives().empty())
      last = std::max(last, lane.collectives().back().seq);
  const torch::Lane* longest = nullptr;  // whose calls are walked
  for (const torch::Lane& lane : group.lanes)
    if (lane.digest != nullptr &&
        (longest == nullptr || lane.collectives().size() > longest->collectives().size()))
      longest = &lane;
  if (longest == nullptr) return std::nullopt;
  for (const torch::Work& work : longest->collectives()) {
    const Sides sides = sides_of(group, work.seq);
    if (sides.size() > 1) return finding_of_sides(group, work.seq, sides);
  }
  return std::nullopt;
}

}  // namespace

Judgement judge_completed_types(const torch::Job& job) {
  Judgement judgement;
  if (job.has_one_counter()) return judgement;  // equal numbers need not be the same call
  for (const torch::Group& group : job.groups)
    if (auto finding = first_in(group)) {
      judgement.findings.push_back(std::move(*finding));
      break;
    }
  return judgement;
}

}  // namespace comm_probe::diagnose
