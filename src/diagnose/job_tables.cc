#include "diagnose/job_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/bonds.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using core::Finding;
using topology::PathType;
using topology::Road;
using topology::Survey;
using topology::SurveyDevice;

constexpr double kSlotGBps = 64;  // PCIe gen5 x16, one direction, nominal

// GPUs that NVLink joins, the smallest group first; empty where a pair is not shown.
std::vector<std::vector<int>> nvlink_groups(const Survey& survey) {
  const std::vector<int> gpus = survey.of(SurveyDevice::Kind::kGpu);
  Bonds bonds(gpus.size());
  for (std::size_t a = 0; a < gpus.size(); ++a)
    for (std::size_t b = a + 1; b < gpus.size(); ++b) {
      const Road* road = survey.road(gpus[a], gpus[b]);
      if (road == nullptr) return {};
      if (road->type == PathType::kNvl) bonds.bind(static_cast<int>(a), static_cast<int>(b));
    }
  std::map<int, std::vector<int>> groups;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    groups[bonds.root(static_cast<int>(i))].push_back(gpus[i]);
  std::vector<std::vector<int>> list;
  for (auto& [root, group] : groups) list.push_back(std::move(group));
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return list;
}

std::optional<double> most_busbw(model::Op op, double gpus, double smallest) {
  const double cut = smallest * kSlotGBps;
  if (op == model::Op::kAllReduce) return 2 * (gpus - 1) / gpus * cut;
  if (op == model::Op::kAllGather || op == model::Op::kReduceScatter)
    return (gpus - 1) / (gpus - smallest) * cut;
  return std::nullopt;
}

// A slot of PCIe gen6 carries twice as much.
bool may_have_wider_slots(const curve::Curve& curve) {
  return std::any_of(curve.devices.begin(), curve.devices.end(),
                     [](const auto& gpu) { return gpu.name.find("B300") != std::string::npos; });
}

Finding other_machine(const JudgedCurve& judged, const JobMachine& machine,
                      const std::vector<std::vector<int>>& groups, double most) {
  const curve::Curve& curve = *judged.curve;
  const Bandwidth reached = judged.analysis.shape.plateau->sustained;
  Finding finding = core::make_finding(
      "job.table-not-of-machine",
      fmt::format("{} on {} GPUs of one node reaches {}; on the machine of {} NVLink joins only {} "
                  "groups of GPUs, PCIe between them allows {} at most: the table is of another "
                  "machine, or the topology is",
                  model::op_name(*curve.op), *curve.ranks, core::format_bandwidth(reached),
                  machine.survey.source, groups.size(),
                  core::format_bandwidth(Bandwidth::from_GBps(most))));
  finding.expected = core::figure(Bandwidth::from_GBps(most), core::Basis::kComputed,
                                  "at most, slots of PCIe gen5 x16");
  finding.observed = core::figure(reached, core::Basis::kMeasured, curve.file);
  const int a = groups[0].front(), b = groups[1].front();
  finding.evidence = {
      {curve.file, curve.first_line, "plateau " + core::format_bandwidth(reached)},
      {machine.survey.source, machine.survey.device(a).line,
       fmt::format("{} - {}: {}", machine.survey.device(a).name, machine.survey.device(b).name,
                   machine.survey.road(a, b)->printed)}};
  finding.confidence = core::Confidence::kLikely;
  finding.next = {"nvidia-smi topo -m   (on the host of the table, in the same container)"};
  return finding;
}

void judge_table(const JudgedCurve& judged, const JobFacts& facts, Judgement& out) {
  const curve::Curve& curve = *judged.curve;
  if (!judged.analysis.shape.plateau || !curve.op || !curve.ranks || curve.nodes != 1 ||
      may_have_wider_slots(curve))
    return;
  for (const JobMachine& machine : facts.machines) {
    const auto gpus = machine.survey.of(SurveyDevice::Kind::kGpu).size();
    if (machine.is_stranger() || gpus != static_cast<std::size_t>(*curve.ranks)) continue;
    const auto groups = nvlink_groups(machine.survey);
    if (groups.size() < 2) continue;
    const auto most = most_busbw(*curve.op, *curve.ranks, static_cast<double>(groups[0].size()));
    if (!most || judged.analysis.shape.plateau->sustained.in_GBps() <= *most) continue;
    out.findings.push_back(other_machine(judged, machine, groups, *most));
    return;
  }
}

}  // namespace

Judgement judge_tables(const JobFacts& facts) {
  Judgement out;
  std::set<std::string> files;  // one finding for the tables of one file
  for (const JudgedReading& reading : facts.curves)
    for (const JudgedCurve& judged : reading.curves)
      if (!files.contains(judged.curve->file)) {
        const std::size_t before = out.findings.size();
        judge_table(judged, facts, out);
        if (out.findings.size() > before) files.insert(judged.curve->file);
      }
  return out;
}

}  // namespace comm_probe::diagnose
