#include "diagnose/job_gdr.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/job_tree.h"
#include "diagnose/log_rules.h"

namespace comm_probe::diagnose {
namespace {

// A line that was torn by another process loses its end: one of 107 in a healthy public log.
constexpr double kLeastShare = 0.1;

// "hfi1_0": there is no GPUDirect RDMA with NCCL's verbs transport on most of those machines.
bool is_omni_path(const nccl::DebugLog& log) {
  return std::any_of(log.nic_lists.begin(), log.nic_lists.end(), [](const auto& list) {
    return std::any_of(list.nics.begin(), list.nics.end(),
                       [](const nccl::LogNic& nic) { return nic.name.starts_with("hfi"); });
  });
}

}  // namespace

GdrUse gdr_use(const nccl::DebugLog& log) {
  GdrUse use;
  const bool is_normal = is_omni_path(log) || is_without_gdr(log) || log.is_rccl();
  for (const nccl::LogComm& comm : log.comms)
    for (const nccl::LogEdges& edges : comm.edges) {
      if (!edges.is_net || !edges.via.starts_with("NET/IB")) continue;
      if (edges.gdr) use.direct += edges.count;
      if (edges.gdr || is_normal) continue;
      use.staged += edges.count;
      if (use.first_staged == nullptr) use.first_staged = &edges.first;
    }
  return use;
}

std::vector<core::Finding> judge_gdr(const JobFacts& facts, const std::optional<JobGap>& gap,
                                     const std::vector<core::Finding>& others) {
  const GdrUse use = gdr_use(facts.log);
  if (use.staged == 0 ||
      static_cast<double>(use.staged) < kLeastShare * static_cast<double>(use.all()))
    return {};
  const bool is_said = std::any_of(others.begin(), others.end(), [](const core::Finding& finding) {
    return takes("log.gdr-*", finding.id);
  });
  if (is_said) return {};
  const bool is_slow = gap && gap->curve->curve->nodes.value_or(1) > 1;
  const bool is_all = use.direct == 0;
  core::Finding finding = core::make_finding(
      "job.gdr-unused",
      fmt::format("{} of {} network connections {} GPUDirect RDMA (via NET/IB without /GDRDMA): {} "
                  "through host memory",
                  is_all ? "none" : std::to_string(use.staged), use.all(),
                  is_all ? "uses" : "have no", is_all ? "data between nodes goes" : "they go"));
  if (!is_slow) finding.severity = core::Severity::kInfo;
  finding.confidence = is_slow && is_all ? core::Confidence::kLikely : core::Confidence::kPossible;
  finding.evidence.push_back(log_evidence(facts.log, *use.first_staged));
  finding.next = {"lsmod | grep -e nvidia_peermem -e nv_peer_mem   (on every node)",
                  "env | grep NCCL_NET_GDR   (LEVEL=LOC or READ=0 switch it off)",
                  "ib_write_bw --use_cuda=0 between the two nodes"};
  return {finding};
}

}  // namespace comm_probe::diagnose
