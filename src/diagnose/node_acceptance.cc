#include "diagnose/node_acceptance.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/units.h"
#include "diagnose/expectation.h"
#include "diagnose/machine_links.h"
#include "diagnose/machine_of_topology.h"
#include "diagnose/topo.h"
#include "diagnose/topo_nic_rules.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using topology::Survey;
using topology::SurveyDevice;
using Outcome = Check::Outcome;

// The rules of topo.h that decide a line; the names are those that `topo check` shows.
struct Line {
  const char* name;
  std::vector<const char*> rules;
  std::string (*expected)(const Survey&);
  bool is_of_rdma = false;            // nothing to accept without an RDMA NIC
  bool needs_the_first_rule = false;  // the others alone do not make a pass
};

std::vector<int> gpus(const Survey& survey) { return survey.of(SurveyDevice::Kind::kGpu); }
std::vector<int> nics(const Survey& survey) { return survey.of(SurveyDevice::Kind::kNic); }

std::string near_nics(const Survey& survey) {
  return gpus(survey).empty()
             ? "own NIC per GPU at PIX or PXB"
             : fmt::format("own NIC at PIX or PXB for each of {} GPUs", gpus(survey).size());
}

// "ports of 50 GB/s in slots of 56.4 GB/s"; 78 % of the nominal slot is the match of every
// generation.
std::string fitting_slots(const Survey& survey) {
  std::set<std::string> pairs;
  for (const int nic : nics(survey)) {
    const SurveyDevice& device = survey.device(nic);
    if (device.port && device.slot_effective)
      pairs.insert(fmt::format("port {} within slot {}", core::format_bandwidth(*device.port),
                               core::format_bandwidth(*device.slot_effective)));
  }
  return pairs.empty() ? "port within its slot (78 % nominally)" : *pairs.begin();
}

std::string all_nvlinks(const Survey& survey) {
  int most = 0;
  for (const int gpu : gpus(survey)) most = std::max(most, survey.device(gpu).nvlinks);
  return most > 0
             ? fmt::format("{} links on every GPU, all active, P2P allowed, fabric ready", most)
             : std::string("no NVLink here; P2P allowed by the driver");
}

std::string open_switches(const Survey&) { return "no ACS redirect or IOMMU, GDR module loaded"; }

std::string good_ports(const Survey& survey) {
  std::optional<Bandwidth> best;
  for (const int nic : nics(survey))
    if (survey.device(nic).port && (!best || *survey.device(nic).port > *best))
      best = survey.device(nic).port;
  return fmt::format("all active{}; RoCE with PFC and ECN",
                     best ? " at " + core::format_bandwidth(*best) : std::string());
}

std::string locked_memory(const Survey&) { return "unlimited"; }

const std::vector<Line>& lines() {
  static const std::vector<Line> all = {
      {"NIC near each GPU",
       {"every GPU reaches a NIC", "a NIC without a CPU in between (PXB or nearer)",
        "a NIC of its own for every GPU"},
       near_nics,
       true},
      {"NIC fits its slot",
       {"NIC ports fit their slots", "PCIe links run at what both ends can do",
        "GPUs have slots alike"},
       fitting_slots,
       true,
       true},
      {"NVLink",
       {"every GPU has the NVLinks that the others have",
        "every NVLink pair has the same number of links", "all NVLinks are active",
        "the driver allows P2P", "the NVLink fabric is ready"},
       all_nvlinks},
      {"direct paths",
       {"switches pass peer traffic (ACS)", "the IOMMU does not translate",
        "GPUDirect RDMA has its kernel module"},
       open_switches},
      {"network ports",
       {"RDMA ports are active", "NIC ports run at the rate of the others",
        "RoCE is lossless or backs off (PFC, ECN)", "the GID of RoCE is routable"},
       good_ports,
       true},
      {"locked memory", {"memory can be locked for RDMA"}, locked_memory, true},
  };
  return all;
}

// The worst of what the rules of a line say, in words.
struct Said {
  std::vector<std::string> wrong = {};
  std::vector<std::string> unknown = {};
  std::size_t fine = 0;
  bool is_first_fine = false;
};

Said said_of(const Line& line, const TopoJudgement& judgement) {
  Said said;
  for (const CheckedRule& rule : judgement.rules) {
    if (std::none_of(line.rules.begin(), line.rules.end(),
                     [&](const char* name) { return rule.what == name; }))
      continue;
    constexpr std::string_view kUnknown = "not known from this source: ";
    if (rule.outcome == "wrong")
      said.wrong.push_back(rule.what);
    else if (rule.outcome.starts_with(kUnknown))
      said.unknown.push_back(rule.outcome.substr(kUnknown.size()));
    else if (!rule.outcome.starts_with("does not apply"))
      ++said.fine, said.is_first_fine |= rule.what == line.rules.front();
  }
  return said;
}

// Known not to be there; a text without NICs leaves it open.
bool lacks_rdma(const Survey& survey) {
  return rdma_nics(survey).empty() && (survey.is_whole_machine() || !nics(survey).empty());
}

Check check_of(const Line& line, const Survey& survey, const TopoJudgement& judgement) {
  Check check{line.name, line.expected(survey), "", Outcome::kPass};
  if (line.is_of_rdma && lacks_rdma(survey))
    return {line.name, line.expected(survey), "no RDMA NIC", Outcome::kNotHere};
  const Said said = said_of(line, judgement);
  if (!said.wrong.empty()) {
    check.outcome = Outcome::kFail;
    check.observed = "not so";
    check.why = said.wrong.front() + "; comm-probe topo check";
  } else if (said.fine == 0 || (line.needs_the_first_rule && !said.is_first_fine)) {
    check.outcome = said.unknown.empty() ? Outcome::kNotHere : Outcome::kUndecided;
    check.observed = said.unknown.empty() ? "nothing of the kind" : "not known";
    if (!said.unknown.empty()) check.why = said.unknown.front();
  } else {
    check.observed = said.unknown.empty() ? "so" : "so, partly known";
    if (!said.unknown.empty()) check.why = said.unknown.front();
  }
  return check;
}

// With one NUMA node nothing is far from anything, whatever the firmware says of the devices.
bool has_one_numa_node(const Survey& survey) {
  if (!survey.facts.numa_nodes.empty()) return survey.facts.numa_nodes.size() == 1;
  return survey.is_whole_machine() && survey.of(SurveyDevice::Kind::kCpu).size() == 1;
}

Check affinity(const Survey& survey) {
  std::size_t known = 0, all = 0;
  for (const SurveyDevice& device : survey.devices) {
    if (device.kind == SurveyDevice::Kind::kCpu) continue;
    ++all;
    known += device.numa.value_or(-1) >= 0 || !device.cpu_affinity.empty() ? 1 : 0;
  }
  Check check{"NUMA affinity", fmt::format("the CPUs of all {} GPUs and NICs are known", all),
              fmt::format("{} of {}", known, all), known == all ? Outcome::kPass : Outcome::kFail};
  if (check.outcome == Outcome::kPass) return check;
  if (has_one_numa_node(survey)) {
    check.outcome = Outcome::kPass;
    check.observed = "one NUMA node";
  } else if (known == 0 && !survey.is_whole_machine()) {
    check.outcome = Outcome::kNotHere;
    check.observed = "not readable";
  } else {
    check.why = "the firmware names no NUMA node of the others (/sys/bus/pci/devices/*/numa_node)";
  }
  return check;
}

// "at least 350 GB/s busbw": what healthy runs reach on these links.
auto expected_range(const catalog::Machine& machine, int nodes) {
  return expect_from_links({model::Op::kAllReduce, machine.gpus * nodes, nodes},
                           links_of_machine(machine, machine.gpus));
}

std::optional<std::string> expected_plateau(const catalog::Machine& machine, int nodes) {
  const int ranks = machine.gpus * nodes;
  const auto expected = expected_range(machine, nodes);
  if (!expected) return std::nullopt;
  return fmt::format("{} to {} busbw on {} GPUs", core::format_bandwidth(expected->low),
                     core::format_bandwidth(expected->high), ranks);
}

// Of a rate that is assumed or unknown nothing can be expected. Management ports do not count where
// the node has RDMA.
bool knows_network(const Survey& survey) {
  const std::vector<int> used = rdma_nics(survey);
  return !used.empty() && std::all_of(used.begin(), used.end(),
                                      [&](int nic) { return survey.device(nic).port.has_value(); });
}

Check two_nodes(const Survey& survey, const catalog::Machine& machine) {
  constexpr const char* kName = "all_reduce, two nodes";
  if (!knows_network(survey))
    return {kName, "none without a known rate of the NICs", "no RDMA NIC of known rate",
            Outcome::kNotHere};
  const auto two = expected_plateau(machine, 2);
  if (!two) return {kName, "none: no way between nodes", "-", Outcome::kNotHere};
  return {kName, *two, "not measured", Outcome::kUndecided,
          "the same on two nodes, comm-probe curve FILE --topo FILE --nodes 2"};
}

Check one_node(const std::string& expected, core::Bandwidth low,
               const std::optional<MeasuredAllReduce>& measured, int gpus) {
  Check check{"all_reduce, one node", expected, "not measured", Outcome::kUndecided,
              "all_reduce_perf -b 8 -e 8G -f 2 -g N | comm-probe curve -"};
  if (!measured || measured->ranks != gpus) return check;
  check.observed = fmt::format("{} at {}", core::format_bandwidth(measured->busbw),
                               core::format_bytes(measured->bytes));
  if (measured->busbw >= low) {
    check.outcome = Outcome::kPass;
    check.why.clear();
  } else if (measured->bytes.count() >= kPlateauBytes) {
    check.outcome = Outcome::kFail;
    check.why = "comm-probe bench all_reduce --backend nccl -b 8 -e 8G -f 2";
  } else {
    check.why = "a larger message: run --accept without --quick goes up to 1 GiB";
  }
  return check;
}

// What to measure and what it should give here; gpu_acceptance.h has what `run` measures itself.
std::vector<Check> to_measure(const Survey& survey,
                              const std::optional<MeasuredAllReduce>& all_reduce) {
  std::vector<Check> checks;
  const auto add = [&checks](const char* name, std::string expected, const char* how) {
    checks.push_back({name, std::move(expected), "not measured", Outcome::kUndecided, how});
  };
  if (!survey.machine) return checks;
  const auto machine = machine_of(*survey.machine, "this host");
  if (!machine) return checks;
  if (const auto one = expected_plateau(*machine, 1))
    checks.push_back(one_node(*one, expected_range(*machine, 1)->low, all_reduce, machine->gpus));
  checks.push_back(two_nodes(survey, *machine));
  std::optional<Bandwidth> port;
  for (const int nic : rdma_nics(survey))
    if (survey.device(nic).port) port = survey.device(nic).port;
  if (port)
    add("one NIC", fmt::format("near {} from GPU memory", core::format_bandwidth(*port)),
        "ib_write_bw -d DEV --use_cuda=0 --report_gbits between two nodes");
  return checks;
}

// The fabric around the host, which a host cannot show.
Check rails() {
  return {"rails of the network", "equal NIC numbers under one leaf switch", "-", Outcome::kNotHere,
          "a host does not see the switches; comm-probe topo diff over the nodes shows unlike "
          "mappings"};
}

}  // namespace

std::vector<Check> node_acceptance(const Survey& survey,
                                   const std::optional<MeasuredAllReduce>& all_reduce) {
  std::vector<Check> checks;
  const TopoJudgement judgement = judge_topology(survey);
  for (const Line& line : lines()) {
    if (gpus(survey).empty())
      checks.push_back({line.name, line.expected(survey), "no GPU", Outcome::kNotHere});
    else
      checks.push_back(check_of(line, survey, judgement));
  }
  if (gpus(survey).empty()) {
    checks.push_back({"measured over GPUs", "NVLink, NIC, nccl-tests at their rates", "no GPU",
                      Outcome::kNotHere});
    return checks;
  }
  checks.push_back(affinity(survey));
  checks.push_back(rails());
  for (Check& check : to_measure(survey, all_reduce)) checks.push_back(std::move(check));
  return checks;
}

}  // namespace comm_probe::diagnose
