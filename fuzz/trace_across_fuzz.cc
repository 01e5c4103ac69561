// Any bytes given as the trace of one rank and, in two halves swapped, as that of another, and as a
// log of NCCL Inspector: matching, waiting, clocks, rates and judgement. No crash, every index
// inside of its list, waiting never negative.
#include <cstdlib>

#include "diagnose/trace_across.h"
#include "torch/comm_backends.h"
#include "torch/readers/kineto.h"
#include "torch/steps.h"

namespace {

using namespace comm_probe;
using torch::AcrossRanks;

void require(bool promise) {
  if (!promise) std::abort();
}

void check(const AcrossRanks& across) {
  const auto ranks = static_cast<int>(across.job.ranks.size());
  require(across.waits.meetings.size() == across.matching.meetings.size());
  for (std::size_t i = 0; i < across.matching.meetings.size(); ++i) {
    const torch::Meeting& meeting = across.matching.meetings[i];
    require(!meeting.present.empty());
    require(static_cast<std::size_t>(meeting.group) < across.job.groups.size());
    const torch::MeetingTimes& times = across.waits.meetings[i];
    require(times.wait >= 0 && times.margin >= 0);
    require(times.counts() == (meeting.state == torch::MeetingState::kAccepted));
    require(!times.counts() || (times.blamed >= 0 && times.blamed < ranks));
    if (times.counts()) diagnose::meeting_line(across, i);
  }
}

void judge(const AcrossRanks& across) {
  check(across);
  diagnose::RateReference reference;
  if (const auto model = model::ClosedForm::create(
          {.link = {core::Duration::from_us(5), core::Bandwidth::from_GBps(45)}}))
    reference.given = *model;
  diagnose::judge_across(across, reference);
  diagnose::judge_across(across, {});
  torch::backends_of(across);
}

std::optional<torch::Trace> read(const std::string& bytes, int rank) {
  auto input = core::Input::from_memory("rank", bytes);
  auto trace = torch::read_trace(input, {});
  if (!trace) return std::nullopt;
  torch::find_steps(*trace, {});
  trace->rank = rank;
  return std::move(*trace);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto first = read(bytes, 0);
  const auto second = read(bytes.substr(size / 2) + bytes.substr(0, size / 2), 1);
  std::vector<const torch::Trace*> traces;
  if (first) traces.push_back(&*first);
  if (second) traces.push_back(&*second);
  auto third = read(bytes, 2);  // the same again: everything matches
  if (third) traces.push_back(&*third);
  if (!traces.empty()) judge(torch::across_ranks(traces, 4096));
  auto input = core::Input::from_memory("log", bytes);
  if (auto log = torch::read_inspector(input)) {
    auto other = *log;
    for (auto& record : other.records) record.rank ^= 1;
    judge(torch::across_ranks(torch::comm_job_of({*log, other}).job));
  }
  return 0;
}
