#include "diagnose/log_rdma_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "diagnose/log_problem_text.h"
#include "diagnose/log_rules.h"

namespace comm_probe::diagnose {

using core::Confidence;
using core::Finding;
using nccl::DebugLog;
using nccl::LogProblem;

namespace {

struct Completion {
  const char* status;
  const char* id;
  const char* says;
};
// Meaning of the numbers: shared spec nccl-7-log, 7.7 and rdma, 3 (verbs' ibv_wc_status).
constexpr Completion kCompletions[] = {
    {"1", "log.ranks-disagree", "a message was longer than its receive buffer (status 1)"},
    {"4", "log.ib-local-protection", "the NIC may not access its own memory (status 4"},
    {"9", "log.ib-remote-operation", "the peer's NIC rejected the request (status 9)"},
    {"10", "log.ib-remote-access", "the peer's NIC refused the memory key (status 10)"},
    {"11", "log.ib-remote-operation", "the peer's NIC could not execute the operation (status 11)"},
    {"12", "log.ib-no-answer", "no acknowledgement from the peer's NIC (status 12)"},
    {"13", "log.ib-receiver-not-ready", "the peer posted no receive (status 13)"},
    {"19", "log.ib-device-fault", "the NIC reports a fatal fault (status 19)"},
};

bool is_roce(const DebugLog& log) {
  return std::any_of(log.nic_lists.begin(), log.nic_lists.end(), [](const auto& list) {
    return !list.nics.empty() && list.nics.front().link == "RoCE";
  });
}

// The first three numbers of an IPv4-mapped GID: masks are seldom shorter on a fabric.
std::string_view network_of(std::string_view gid) {
  return gid.starts_with("::ffff:") ? gid.substr(0, gid.rfind('.')) : std::string_view();
}

// What two GIDs prove by themselves; empty where nothing.
std::string gid_remark(const std::string& local, const std::string& remote) {
  if (local.starts_with("fe80") != remote.starts_with("fe80") && !local.empty() && !remote.empty())
    return " (one is link-local)";
  if (network_of(local) != network_of(remote) && !network_of(local).empty() &&
      !network_of(remote).empty())
    return " (different subnets)";
  return "";
}

// "GID indices 0 and 1 are link-local; the routable RoCE v2 address is index 3 (...)"; empty where
// the table says nothing.
std::string gid_advice(const DebugLog& log, const nccl::LogGid*& routable) {
  std::string local;
  int locals = 0;
  for (const nccl::LogGid& gid : log.gids) {
    if (gid.address.starts_with("fe80"))
      local += fmt::format("{}{}", locals++ == 0 ? "" : " and ", gid.index);
    if (routable == nullptr && gid.type.find("v2") != std::string::npos &&
        !gid.address.starts_with("fe80"))
      routable = &gid;
  }
  if (local.empty() || routable == nullptr) return "";
  return fmt::format(
      "GID {} link-local; the routable RoCE v2 address is index {} ({})",
      locals == 1 ? fmt::format("index {} is", local) : fmt::format("indices {} are", local),
      routable->index, routable->address);
}

// "peer 192.0.2.12 (node02)"
std::string peer_text(const DebugLog& log, const LogProblem& problem) {
  std::string text = tally(problem, "peer", "peers");
  std::string host;
  int peers = 0;
  for (const auto& [name, times] : problem.named)
    if (name.starts_with("peer ") && ++peers == 1) host = log.host_at(name.substr(5));
  if (peers == 1 && !host.empty()) text += fmt::format(" ({})", host);
  return text;
}

// "mlx5_2:1 GID index 3, ::ffff:10.1.0.1 -> ::ffff:10.2.0.1 (different subnets)"
std::string pair_text(const LogProblem& problem) {
  const std::string local = field(problem, "local");
  const std::string remote = field(problem, "remote");
  const std::string index = field(problem, "index");
  std::string text = field(problem, "device");
  if (!index.empty()) text += fmt::format("{}GID index {}", text.empty() ? "" : " ", index);
  if (local == "::")
    return text + fmt::format(" is not valid: its local GID is empty{}",
                              remote.empty() ? "" : fmt::format(" (peer {})", remote));
  if (!local.empty() && !remote.empty())
    text += fmt::format("{}{} -> {}", text.empty() ? "GIDs " : ", ", local, remote);
  return text + gid_remark(local, remote);
}

}  // namespace

Finding judge_completion(const DebugLog& log, const LogProblem& problem) {
  const std::string status = field(problem, "status");
  const char* id = "log.ib-error";
  std::string says = fmt::format("an RDMA operation failed with status {}", status);
  for (const Completion& row : kCompletions)
    if (status == row.status) {
      id = row.id;
      says = row.says;
    }
  if (status == "4")
    says += field(problem, "vendor").empty()
                ? ")"
                : fmt::format(", vendor {})", field(problem, "vendor"));
  const std::string who = joined(
      {tally(problem, "hca", "HCAs"), peer_text(log, problem),
       field(problem, "local").size() < 8
           ? ""
           : fmt::format("GIDs {} -> {}{}", field(problem, "local"), field(problem, "remote"),
                         gid_remark(field(problem, "local"), field(problem, "remote"))),
       field(problem, "local").starts_with("fe80") && is_roce(log) ? "link-local on RoCE" : ""});
  Finding finding = log_finding(
      log, id,
      fmt::format("{}{}{}{}", says, whereabouts(log, problem), who.empty() ? "" : ": ", who),
      problem.first);
  finding.confidence = Confidence::kCertain;
  return finding;
}

void add_possible_causes(const DebugLog& log, const LogProblem& problem, Judgement& judgement) {
  const auto add = [&](const char* id, const char* text, std::vector<std::string> next) {
    if (judgement.has(id)) return;
    judgement.findings.push_back(log_possible(log, id, text));
    judgement.findings.back().next = std::move(next);
  };
  const std::string status = field(problem, "status");
  if (status == "4" || status == "10" || status == "11")
    add("log.possible-acs",
        "PCIe ACS or an IOMMU may break GPUDirect RDMA; proof: ReqRedir+ on a bridge above GPU or "
        "NIC, and the error is gone with NCCL_NET_GDR_LEVEL=LOC",
        {"sudo comm-probe topo check", "sudo lspci -vvv | grep -e ^[0-9a-f] -e ACSCtl"});
  if (status == "12") {
    const bool is_infiniband =
        std::any_of(log.nic_lists.begin(), log.nic_lists.end(), [](const nccl::LogNicList& list) {
          return !list.nics.empty() && list.nics.front().link == "IB";
        });
    const bool is_local = is_roce(log) && field(problem, "local").starts_with("fe80");
    if (!is_infiniband && !judgement.has("log.possible-gid")) {
      add("log.possible-gid",
          is_local
              ? "the GID in use is link-local, which reaches hosts of one network segment alone: "
                "another index has the routable RoCE v2 address"
              : "on RoCE a GID that the peer cannot reach gives this; proof: the GID of the index "
                "in use is link-local, RoCE v1 or of another subnet",
          {"show_gids", "ib_write_bw -x GID_INDEX between exactly this pair"});
      if (is_local) judgement.findings.back().confidence = Confidence::kLikely;
    }
    add("log.possible-link",
        "a port, cable or switch; proof: link_downed or symbol_error of a port",
        {"comm-probe topo check", "ibstat", "dmesg -T"});
  }
  if (status == "12" || status == "13" || status == "10")
    add("log.possible-peer-death",
        "the process or host at the other end may have died; proof: its exit code, kernel log and "
        "the end of its own log",
        {"dmesg -T | grep -i -e oom -e xid   (on the peer)"});
}

Finding judge_connection(const DebugLog& log, const LogProblem& problem) {
  const nccl::LogGid* routable = nullptr;
  const std::string advice = gid_advice(log, routable);
  const std::string gids = pair_text(problem);
  Finding finding = log_finding(
      log, "log.rdma-connect",
      joined(
          {fmt::format("a connection of two NICs failed ({})",
                       field(problem, "error").empty() ? "ibv_modify_qp" : field(problem, "error")),
           gids, advice},
          ": "),
      problem.first);
  finding.confidence = Confidence::kLikely;
  if (routable != nullptr && !advice.empty()) {
    finding.evidence.push_back(log_evidence(log, log.gids.front().at));
    finding.evidence.push_back(log_evidence(log, routable->at));
    finding.next = {fmt::format("NCCL_IB_GID_INDEX={} on all hosts", routable->index)};
  } else {
    finding.next = {"show_gids on both hosts",
                    "ping -I INTERFACE PEER_ADDRESS of this pair of NICs"};
  }
  return finding;
}

Finding judge_registration(const DebugLog& log, const LogProblem& problem) {
  const bool is_limit = field(problem, "error").find("allocate") != std::string::npos;
  return log_finding(log, is_limit ? "log.locked-memory" : "log.gpu-memory-not-registered",
                     fmt::format("memory cannot be registered with the NIC{} ({})",
                                 whereabouts(log, problem), field(problem, "error")),
                     problem.first);
}

// "Cannot allocate memory" of a queue is the limit of locked memory (shared spec users-nccl, 15).
Finding judge_queue(const DebugLog& log, const LogProblem& problem) {
  const std::string error = field(problem, "error");
  const bool is_limit = error.find("allocate") != std::string::npos;
  Finding finding =
      log_finding(log, is_limit ? "log.locked-memory" : "log.rdma-resources",
                  fmt::format("a NIC refuses to create a queue{}{}", whereabouts(log, problem),
                              error.empty() ? "" : fmt::format(" ({})", error)),
                  problem.first);
  finding.confidence = Confidence::kLikely;
  return finding;
}

Finding judge_port_event(const DebugLog& log, const LogProblem& problem) {
  Finding finding = log_finding(
      log, "log.link-flap",
      fmt::format("a NIC's port changed while the job ran{}: {}", whereabouts(log, problem),
                  joined({field(problem, "event"), tally(problem, "port", "ports")})),
      problem.first);
  finding.confidence = Confidence::kLikely;
  return finding;
}

}  // namespace comm_probe::diagnose
