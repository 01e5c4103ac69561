#include "diagnose/job_rdma_joins.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/finding_table.h"
#include "diagnose/log_rules.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using topology::GidEntry;
using topology::RdmaPortFacts;

using GidBytes = std::array<unsigned char, 16>;
std::optional<GidBytes> bytes_of(const std::string& text) {
  GidBytes bytes{};
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return std::nullopt;
  return bytes;
}

// "10.20.0.11" of "::ffff:10.20.0.11" in any spelling; else the GID itself.
std::string shown(const std::string& gid) {
  const auto bytes = bytes_of(gid);
  const bool is_mapped = bytes &&
                         std::all_of(bytes->begin(), bytes->begin() + 10,
                                     [](unsigned char byte) { return byte == 0; }) &&
                         (*bytes)[10] == 0xff && (*bytes)[11] == 0xff;
  if (!is_mapped) return gid;
  return fmt::format("{}.{}.{}.{}", (*bytes)[12], (*bytes)[13], (*bytes)[14], (*bytes)[15]);
}

bool is_link_local(const GidEntry& gid) { return gid.gid.starts_with("fe80"); }
bool is_v2(const GidEntry& gid) { return gid.type.find("v2") != std::string::npos; }

// RoCE v2 with an address of a network.
const GidEntry* routable(const RdmaPortFacts& port) {
  const auto at = std::find_if(port.gids.begin(), port.gids.end(), [](const GidEntry& gid) {
    return is_v2(gid) && !is_link_local(gid);
  });
  return at == port.gids.end() ? nullptr : &*at;
}

std::optional<int> index_of_log(const nccl::DebugLog& log) {
  const nccl::LogSetting* setting = log.setting("NCCL_IB_GID_INDEX");
  if (setting == nullptr) return std::nullopt;
  int index = -1;
  std::from_chars(setting->value.data(), setting->value.data() + setting->value.size(), index);
  return index >= 0 ? std::optional(index) : std::nullopt;
}

// The own GID of a completion error whose line stands in the log.
const nccl::LogProblem* error_with_gid(const nccl::DebugLog& log, const RdmaPortFacts& port) {
  for (const nccl::LogProblem& problem : log.problems) {
    if (problem.family != nccl::LogFamily::kIbCompletion) continue;
    const auto local = problem.fields.find("local");
    if (local == problem.fields.end()) continue;
    if (std::any_of(port.gids.begin(), port.gids.end(),
                    [&](const GidEntry& gid) { return is_same_gid(gid.gid, local->second); }))
      return &problem;
  }
  return nullptr;
}

// Why the row that the job uses reaches no other network; empty where it does, or is not known.
std::string fault_of(const JobFacts& facts, const RdmaPortFacts& port) {
  const auto index = index_of_log(facts.log);
  for (const GidEntry& gid : port.gids)
    if (index && gid.index == *index) {
      if (is_link_local(gid)) return fmt::format("index {} is link-local", *index);
      return is_v2(gid) || gid.type.empty() ? "" : fmt::format("index {} is RoCE v1", *index);
    }
  if (index) return fmt::format("index {} is empty", *index);
  const nccl::LogProblem* error = error_with_gid(facts.log, port);
  if (error == nullptr || !error->fields.at("local").starts_with("fe80")) return "";
  return fmt::format("the error names its GID {}, which is link-local", error->fields.at("local"));
}

Finding gid_finding(const JobFacts& facts, const RdmaPortFacts& port, const GidEntry& good,
                    const std::string& fault) {
  Finding finding = core::make_finding(
      "topo.gid-index", fmt::format("{}: {}; index {} is the routable RoCE v2 address ({})",
                                    port.name(), fault, good.index, shown(good.gid)));
  if (const auto* setting = facts.log.setting("NCCL_IB_GID_INDEX"))
    finding.evidence.push_back(log_evidence(facts.log, setting->first));
  const core::Evidence& from = port.gids_from.source.empty() ? port.from : port.gids_from;
  for (const GidEntry& gid : port.gids)
    if (finding.evidence.size() < 6)
      finding.evidence.push_back(
          {from.source,
           {},
           fmt::format("{} GID {} {} {}", port.device, gid.index, gid.gid, gid.type)});
  finding.confidence = core::Confidence::kLikely;
  // Hosts of one segment reach each other by it: then nothing is wrong with it.
  if (!has_failed(facts.log)) finding.severity = core::Severity::kInfo;
  finding.next = {
      fmt::format("NCCL_IB_GID_INDEX={} on all hosts (or unset it from 2.21 on)", good.index),
      "ib_write_bw -x " + std::to_string(good.index) + " between exactly this pair"};
  return finding;
}

// A port that NCCL does not list has a table that it does not use.
bool is_listed(const nccl::DebugLog& log, const RdmaPortFacts& port) {
  bool is_any = false;
  for (const nccl::LogNicList& list : log.nic_lists) {
    if (list.is_socket) continue;
    is_any = true;
    for (const nccl::LogNic& nic : list.nics)
      if (nic.name == port.device) return true;
  }
  return !is_any;
}

// Tables of GIDs need not say whether a port is up; a v2 row is Ethernet's.
bool may_be_roce(const RdmaPortFacts& port) {
  if (port.state == "DOWN" || port.link_layer == "InfiniBand") return false;
  return port.is_roce() || std::any_of(port.gids.begin(), port.gids.end(), is_v2);
}

const JobMachine* machine_with_modules(const JobFacts& facts) {
  const auto at = std::find_if(facts.machines.begin(), facts.machines.end(), [](const auto& each) {
    return each.survey.facts.peermem && !each.is_stranger();
  });
  return at == facts.machines.end() ? nullptr : &*at;
}

// From 2.23 on both names are looked for (shared spec users-nccl).
bool looks_for_both(const nccl::DebugLog& log) {
  const auto version = log.version();
  return version && *version >= topology::NcclVersion{2, 23, 0};
}

}  // namespace

bool is_same_gid(const std::string& a, const std::string& b) {
  const auto one = bytes_of(a), other = bytes_of(b);
  return one && other && *one == *other;
}

Judgement judge_log_gids(const JobFacts& facts, const std::vector<Finding>& found) {
  Judgement judgement;
  const bool is_said = std::any_of(found.begin(), found.end(), [](const Finding& finding) {
    return finding.id == "topo.gid-index" || finding.id == "log.rdma-connect";
  });
  if (is_said) return judgement;
  for (const JobMachine& machine : facts.machines)
    for (const RdmaPortFacts& port : machine.survey.facts.rdma_ports) {
      const GidEntry* good = routable(port);
      const bool is_asked =
          !machine.is_stranger() && may_be_roce(port) && is_listed(facts.log, port);
      if (!is_asked || good == nullptr) continue;
      const std::string fault = fault_of(facts, port);
      if (fault.empty()) continue;
      judgement.findings.push_back(gid_finding(facts, port, *good, fault));
      return judgement;
    }
  return judgement;
}

void weigh_peer_memory(const JobFacts& facts, std::vector<Finding>& found) {
  const JobMachine* machine = machine_with_modules(facts);
  const auto conjecture = std::find_if(found.begin(), found.end(), [](const Finding& finding) {
    return finding.id == "log.possible-peermem";
  });
  if (machine == nullptr || conjecture == found.end()) return;
  const auto& module = *machine->survey.facts.peermem;
  conjecture->evidence.push_back(module.from);
  if (!module.value) {
    conjecture->summary =
        "no nvidia_peermem and no nv_peer_mem is loaded; without DMA-BUF there is no GPUDirect "
        "RDMA";
    conjecture->confidence = core::Confidence::kLikely;
    conjecture->next = {"modprobe nvidia_peermem   (on every node)"};
    return;
  }
  const bool has_old_name = module.from.text.find("nv_peer_mem") != std::string::npos;
  if (!looks_for_both(facts.log) && !has_old_name && facts.log.version()) {
    conjecture->summary = fmt::format(
        "nvidia_peermem is loaded, and NCCL 2.{} looks for its old name nv_peer_mem only",
        facts.log.version()->minor);
    conjecture->confidence = core::Confidence::kLikely;
    conjecture->next = {"NCCL 2.23 or newer, which looks for both names",
                        "the older module nv_peer_mem, where NCCL cannot be changed"};
    return;
  }
  conjecture->summary =
      "the module for GPUDirect RDMA is loaded where this was taken: it may be missing on another "
      "node, or have been loaded after the job began";
  conjecture->next = {"lsmod | grep -e nvidia_peermem -e nv_peer_mem   (on every node)"};
}

}  // namespace comm_probe::diagnose
