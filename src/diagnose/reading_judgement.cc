#include "diagnose/reading_judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>

#include "core/finding_table.h"
#include "core/parallel.h"
#include "core/units.h"
#include "diagnose/curve_judgement.h"
#include "diagnose/link_tests.h"
#include "nccl/call.h"
#include "nccl/price.h"

namespace comm_probe::diagnose {
namespace {

std::string key_of(const core::Finding& finding) { return finding.id + finding.summary; }
std::string key_of(const core::Caveat& caveat) { return caveat.id + caveat.missing; }

// Keeps what was not said before.
class Said {
 public:
  template <class Statement>
  void say_once(std::vector<Statement>& all, const std::vector<Statement>& more) {
    for (const Statement& statement : more)
      if (said_.insert(key_of(statement)).second) all.push_back(statement);
  }

 private:
  std::unordered_set<std::string> said_ = {};
};

bool any_has_times(const curve::Reading& reading) {
  const auto has = [](const curve::Row& row) {
    return curve::has_time(row.out_of_place) || curve::has_time(row.in_place);
  };
  return std::any_of(reading.curves.begin(), reading.curves.end(), [&](const curve::Curve& each) {
    return std::any_of(each.rows.begin(), each.rows.end(), has);
  });
}

// One of several tables without rows (an algorithm that NCCL refused) limits nothing.
core::Caveat no_rows(const curve::Curve& curve, bool others_have_times) {
  return core::make_caveat(
      "curve.no-rows",
      curve.rows.empty()
          ? fmt::format("{}:{}: {} has no row", curve.file, curve.first_line, name_of(curve))
          : fmt::format("{}:{}: none of the {} rows of {} has a time", curve.file, curve.first_line,
                        curve.rows.size(), name_of(curve)),
      "nothing can be said about it", !others_have_times);
}

core::Caveat times_of_turns(const curve::Curve& curve, const curve::Device& device) {
  const auto ranks =
      std::count_if(curve.devices.begin(), curve.devices.end(), [&](const curve::Device& other) {
        return other.host == device.host && other.bus_id == device.bus_id;
      });
  return core::make_caveat(
      "curve.shared-gpu",
      fmt::format("{}:{}: a GPU for each of the ranks of {}: {} of them ran on GPU {} of {}",
                  curve.file, curve.first_line, name_of(curve), ranks, device.bus_id, device.host),
      "ranks on one GPU take turns: its times and rates mean nothing and are not judged; sizes, "
      "results and NCCL's choices count");
}

constexpr std::size_t kMoreThanAQuotation = 4;  // rows; f14 of the field curves quotes one

// The header announces larger sizes, and neither a footer nor an error says why they are missing.
std::optional<core::Caveat> missing_end(const curve::Reading& reading, const curve::Curve& curve) {
  const bool has_end = curve.printed_avg_busbw_GBps || curve.printed_out_of_bounds ||
                       !curve.errors.empty() || !curve.misrun.empty();
  if (has_end || !curve.settings.max_bytes || curve.rows.size() < kMoreThanAQuotation)
    return std::nullopt;
  core::Bytes largest;
  for (const curve::Row& row : curve.rows) largest = std::max(largest, row.bytes);
  const bool is_said =
      std::any_of(reading.caveats.begin(), reading.caveats.end(), [](const core::Caveat& caveat) {
        return caveat.id == "input.truncated" || caveat.id == "input.lines-elided";
      });
  if (is_said || largest * 2 > *curve.settings.max_bytes) return std::nullopt;
  return core::make_caveat(
      "input.truncated",
      fmt::format("{}:{}: the rows end at {}, the header announces sizes up to {}", curve.file,
                  curve.last_line, core::format_bytes(largest),
                  core::format_bytes(*curve.settings.max_bytes)),
      "the larger sizes are missing: give the whole output");
}

// That each process ran alone is what the misrun says already.
void drop_single_ranks_of_misruns(const curve::Reading& reading, Judgement& judgement) {
  const bool misrun = std::any_of(reading.curves.begin(), reading.curves.end(),
                                  [](const curve::Curve& curve) { return !curve.misrun.empty(); });
  if (!misrun) return;
  std::erase_if(judgement.findings,
                [](const core::Finding& finding) { return finding.id == "curve.single-rank"; });
}

// NCCL's price on the machine takes the place of a band where the ring says nothing.
void add_plan(const CurveFacts& facts, const PlannedJob& job, const JobPricer& pricer,
              JudgedCurve& judged) {
  judged.plan = price_curve(facts.curve, facts.analysis, job, pricer);
  if (!judged.plan) return;
  std::erase_if(judged.judgement.caveats,
                [](const core::Caveat& caveat) { return caveat.id == "curve.not-priced"; });
  if (judged.expectation) {
    judged.expectation->is_priced = true;
    judged.expectation->trees_reach.reset();
  }
  const bool is_below_the_links =
      judged.judgement.has("curve.plateau-low") || judged.judgement.has("curve.plateau-below-band");
  if (!is_below_the_links) judged.judgement.add(judge_plan(facts, *judged.plan, job.nodes));
}

// The reference of nodes that add in the switch holds where NCCL's own plan does so.
void apply_plan(const curve::Curve& curve, const PlannedJob& job, const JobPricer& pricer,
                JudgedCurve& judged) {
  if (!judged.expectation) return;
  const auto plan = price_curve(curve, judged.analysis, job, pricer);
  const auto taken = plan ? nccl::algorithm_of(plan->plateau.algorithm) : std::nullopt;
  if (taken && !nccl::is_nvls(*taken)) drop_switch_adding(*judged.expectation);
}

JudgedCurve judge(const curve::Curve& curve, const Reference& reference, bool others_have_times) {
  JudgedCurve judged;
  judged.curve = &curve;
  if (shared_gpu(curve) == nullptr) judged.analysis = curve::analyse(curve);
  ReferenceChoice choice = choose_reference(curve, reference);
  judged.expectation = choice.expectation;
  judged.judgement.caveats = std::move(choice.caveats);
  if (choice.job && reference.pricer != nullptr)
    apply_plan(curve, *choice.job, *reference.pricer, judged);
  CurveFacts facts{curve, judged.analysis, judged.expectation};
  judged.judgement.add(judge_curve(facts));
  const bool name_is_wrong = judged.judgement.has("curve.file-name-contradicted");
  if (name_is_wrong) judged.expectation.reset();
  if (choice.job && reference.pricer != nullptr && !name_is_wrong && !has_wrong_results(curve))
    add_plan(facts, *choice.job, *reference.pricer, judged);
  if (const curve::Device* device = shared_gpu(curve))
    judged.judgement.caveats.push_back(times_of_turns(curve, *device));
  else if (judged.analysis.points.empty() && judged.judgement.findings.empty())
    judged.judgement.caveats.push_back(no_rows(curve, others_have_times));
  const bool was_asked = reference.machine != nullptr || reference.beta;
  if (was_asked && judged.expectation && judged.judgement.has("curve.not-saturated"))
    judged.judgement.caveats.push_back(core::make_caveat(
        "curve.level-undecided", fmt::format("{}: the plateau of {}", curve.file, name_of(curve)),
        "whether the links named carry what they should is not decided"));
  if (judged.judgement.has("curve.impossible") || judged.judgement.has("curve.misrun"))
    std::erase_if(judged.judgement.caveats,  // naming the hardware would not help
                  [](const core::Caveat& caveat) { return caveat.id == "curve.no-reference"; });
  return judged;
}

bool is_of(const curve::LinkTest& test, const KnownPort& port) {
  const bool is_this_port = test.dual_port || test.port.value_or(port.port) == port.port;
  return port.device == test.device && is_this_port;
}

// A test that names no device: any port could have run.
bool names_no_device(const curve::LinkTest& test) {
  return test.device.empty() && test.tool == curve::LinkTool::kPerftest;
}

// The port of the device that was tested. Where ports of this name differ (nodes that are built
// alike, a test without a name), which one ran is not known.
LinkReference reference_of_ports(const curve::LinkTest& test, const std::vector<KnownPort>& ports) {
  LinkReference link;
  for (const KnownPort& port : ports) {
    if (!is_of(test, port) && !names_no_device(test)) continue;
    if (link.port && *link.port != port.rate) return {};
    if (!link.port)
      link.slot = port.slot;
    else if (link.slot != port.slot)
      link.slot.reset();
    link.port = port.rate;
    if (link.source.empty()) link.source = port.source;
  }
  return link;
}

// As the user names it, else as the device itself is known, else as the catalog has the machine. A
// topology that was read speaks by its devices only (KnownPort): it has NICs of several kinds.
LinkReference link_reference_of(const curve::LinkTest& test, const Reference& reference) {
  LinkReference link;
  if (reference.beta) {
    link.port = reference.beta;
    link.source = "--beta";
    return link;
  }
  link = reference_of_ports(test, reference.ports);
  if (reference.machine == nullptr || reference.machine->nics == 0) return link;
  const catalog::Machine& machine = *reference.machine;
  if (machine.nic.port_rate.basis == core::Basis::kRead) return link;
  const bool is_another_nic = link.port && *link.port != machine.nic.port_rate.value;
  if (!link.slot && !is_another_nic && machine.nic.pcie.lanes > 0)
    link.slot = catalog::slot_link(machine.nic.pcie, machine.host_pcie);
  if (link.port) return link;
  link.port = machine.nic.port_rate.value;
  link.basis = core::Basis::kCatalog;
  link.source = machine.name;
  return link;
}

}  // namespace

JudgedReading judge_reading(const curve::Reading& reading, const Reference& reference) {
  JudgedReading result;
  result.reading = &reading;
  const bool some_have_times = any_has_times(reading);
  result.curves.resize(reading.curves.size());
  core::for_each_index(reading.curves.size(), [&](std::size_t i) {
    result.curves[i] = judge(reading.curves[i], reference, some_have_times);
    if (const auto caveat = missing_end(reading, reading.curves[i]))
      result.curves[i].judgement.caveats.push_back(*caveat);
  });
  Said said;
  for (const JudgedCurve& judged : result.curves) {
    said.say_once(result.judgement.findings, judged.judgement.findings);
    said.say_once(result.judgement.caveats, judged.judgement.caveats);
  }
  drop_single_ranks_of_misruns(reading, result.judgement);
  for (const curve::LinkTest& test : reading.links) {
    result.link_references.push_back(link_reference_of(test, reference));
    if (!reference.surveys.empty()) result.link_references.back().machine = reference.surveys[0];
    Judgement judgement = judge_link_test(test, result.link_references.back());
    if (reference.machine != nullptr)
      judgement.add(judge_against_machine(test, machine_reference_of(*reference.machine)));
    said.say_once(result.judgement.findings, judgement.findings);
    said.say_once(result.judgement.caveats, judgement.caveats);
  }
  return result;
}

}  // namespace comm_probe::diagnose
