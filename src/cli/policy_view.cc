#include "cli/policy_view.h"

#include <fmt/format.h>

#include <map>

#include "nccl/gdr_distance.h"
#include "nccl/rails.h"

namespace comm_probe::cli {
namespace {

using nccl::Direction;
using nccl::GdrMode;
using nccl::Reach;
using topology::NodeType;
using topology::PathType;

constexpr std::size_t kMostNames = 16;

// "GPU0 GPU1 ... and 56 more"
class Names {
 public:
  void add(const std::string& name) {
    if (++count_ <= kMostNames) text_ += (text_.empty() ? "" : separator_) + name;
  }
  explicit Names(std::string separator = " ") : separator_(std::move(separator)) {}
  bool empty() const { return count_ == 0; }
  std::string text() const {
    return count_ <= kMostNames ? text_ : fmt::format("{} and {} more", text_, count_ - kMostNames);
  }

 private:
  std::string separator_;
  std::string text_ = {};
  std::size_t count_ = 0;
};

class Policy {
 public:
  Policy(const nccl::JobReach& job, const std::vector<Reach>& domains, const nccl::DirectTalk& talk)
      : whole_(job.before_trim ? *job.before_trim : job.reach),
        own_(domains.front()),
        domains_(domains),
        talk_(talk) {}
  std::vector<PolicyLine> lines();

 private:
  void add(const std::string& rule, const std::string& outcome, const std::string& reason) {
    lines_.push_back({rule, outcome, reason});
  }
  void add_levels();
  void add_peers();
  void add_gdr();
  void add_nics();
  void add_pxn();
  void add_rails();
  void add_hindrances();
  const Reach& reach_of(const nccl::RailOfGpu& own) const {
    return domains_[static_cast<std::size_t>(own.domain)];
  }
  std::string gpu_name(const nccl::RailOfGpu& own) const {
    return reach_of(own).machine.device_name(reach_of(own).gpu_node(own.gpu));
  }

  const Reach& whole_;                 // all GPUs of a node
  const Reach& own_;                   // as the ranks of the first domain see it
  const std::vector<Reach>& domains_;  // all of them
  const nccl::DirectTalk& talk_;
  nccl::Rails rails_ = {};
  std::vector<PolicyLine> lines_ = {};
};

// With what kernel and firmware say about this distance.
std::string with_clause(std::string reason, const std::string& clause) {
  return clause.empty() ? reason : reason + "; " + clause;
}

void Policy::add_levels() {
  const auto p2p = nccl::default_p2p_level(whole_.machine, whole_.settings.version);
  const bool is_set = whole_.settings.p2p_level.has_value();
  add("P2P level", path_type_name(whole_.settings.p2p_level.value_or(p2p.level)),
      is_set ? "NCCL_P2P_LEVEL or NCCL_P2P_DISABLE" : fmt::format("default: {}", p2p.when));
  if (own_.nets() == 0) return;
  const auto gdr = nccl::default_gdr_level(own_.settings);
  add("GPUDirect RDMA level", path_type_name(own_.settings.gdr_level.value_or(gdr.level)),
      own_.settings.gdr_level ? "NCCL_NET_GDR_LEVEL" : fmt::format("default: {}", gdr.when));
}

// Pairs by what carries them and why.
void Policy::add_peers() {
  if (whole_.gpus() < 2) return;
  const nccl::PeerRules rules(whole_);
  std::map<std::pair<std::string, std::string>, int> counts;
  int pairs = 0;
  for (int a = 0; a < whole_.gpus(); ++a)
    for (int b = a + 1; b < whole_.gpus(); ++b, ++pairs) {
      const nccl::PeerVerdict verdict = rules.verdict(a, b);
      std::string carrier = "P2P";
      std::string reason = verdict.reason();
      if (verdict.allowed() && verdict.relay) carrier = "P2P by way of a third GPU";
      if (rules.net_is_faster(a, b) && !verdict.relay) {
        carrier = "the network";
        reason = "both GPUs have a NIC at PXB or nearer that is faster than their path";
      } else if (!verdict.allowed()) {
        carrier = whole_.settings.shm ? "shared memory" : "not P2P";
      } else {
        reason = with_clause(reason, talk_.clause(verdict.distance));
      }
      ++counts[{carrier, reason}];
    }
  for (const auto& [kind, count] : counts)
    add(kind.first, fmt::format("{} of {} GPU pairs of a node", count, pairs), kind.second);
}

// What NCCL's log calls the same: the numbers of the types changed with the releases.
std::string in_the_log(const nccl::GdrVerdict& verdict, const topology::NcclVersion& version) {
  const auto numbers = nccl::gdr_distance(version.minor);
  if (verdict.why != nccl::GdrVerdict::Why::kTooFar || verdict.distance != PathType::kPhb ||
      verdict.level != nccl::default_gdr_level({.version = version}).level || !numbers)
    return "";
  return fmt::format(" (\"distance {} > {}\" in the log of NCCL 2.{})", numbers->phb,
                     numbers->limit, version.minor);
}

void Policy::add_gdr() {
  std::map<std::pair<std::string, std::string>, Names> gpus;
  for (const nccl::RailOfGpu& own : rails_.gpus) {
    if (!own.net) continue;
    const Reach& reach = reach_of(own);
    const auto receive = gdr_verdict(reach, own.gpu, *own.net, Direction::kReceive);
    const auto send = gdr_verdict(reach, own.gpu, *own.net, Direction::kSend);
    const bool receives = receive.mode != GdrMode::kOff;
    const bool sends = send.mode != GdrMode::kOff;
    const std::string what = receives && sends ? "both ways"
                             : receives        ? "to receive"
                             : sends           ? "to send"
                                               : "not used";
    std::string reason = receives && !sends
                             ? send.reason()
                             : receive.reason() + in_the_log(receive, reach.settings.version);
    if (receives || sends) reason = with_clause(reason, talk_.clause(receive.distance));
    gpus[{what, reason}].add(gpu_name(own));
  }
  for (const auto& [kind, names] : gpus)
    add("GPUDirect RDMA", fmt::format("{}: {}", kind.first, names.text()), kind.second);
}

void Policy::add_nics() {
  std::map<std::pair<int, int>, std::pair<std::string, Names>> gpus;  // by domain and net
  for (const nccl::RailOfGpu& own : rails_.gpus)
    if (own.net) {
      const Reach& reach = reach_of(own);
      auto& [net, names] = gpus[{own.domain, *own.net}];
      net = reach.machine.device_name(reach.net_node(*own.net));
      names.add(gpu_name(own));
    }
  Names all(", ");
  for (const auto& [place, entry] : gpus)
    all.add(fmt::format("{} for {}", entry.first, entry.second.text()));
  if (!all.empty())
    add("NICs", all.text(), "the widest path first, then the nearest; equal ones by NVML index");
}

// GPUs whose own NIC is reached over a neighbour.
void Policy::add_pxn() {
  Names names(", ");
  for (const nccl::RailOfGpu& own : rails_.gpus) {
    const Reach& reach = reach_of(own);
    if (!own.net || reach.gpu_to_net(own.gpu, *own.net).type != PathType::kPxn) continue;
    const int relay = reach.relay_to(own.gpu, *own.net);
    names.add(
        fmt::format("{} by {}", gpu_name(own), reach.machine.device_name(reach.gpu_node(relay))));
  }
  if (!names.empty())
    add("PXN", names.text() + " to its NIC",
        "the neighbour is nearer to the NIC and joined by NVLink; only for what is sent");
}

void Policy::add_rails() {
  if (own_.job.nodes < 2 || rails_.count == 0) return;
  const int pairs = rails_.direct + rails_.by_neighbour + rails_.across;
  const std::string outcome = fmt::format(
      "{} rail{}; of {} sends between GPUs of two nodes {} direct, {} by a neighbour, {} "
      "across rails",
      rails_.count, rails_.count == 1 ? "" : "s", pairs, rails_.direct, rails_.by_neighbour,
      rails_.across);
  const bool may_relay = own_.settings.pxn && own_.settings.p2p_pxn_level != 0;
  add("rails", outcome,
      rails_.across == 0 ? "a send leaves on the rail of the receiver's GPU"
      : may_relay && own_.machine.hosts() > 1
          ? "only a GPU of the same host relays, and no NIC of it is the receiver's rail"
      : may_relay ? "no neighbour with NVLink stands at the receiver's rail"
                  : "PXN is off for sends (NCCL_PXN_DISABLE, NCCL_P2P_PXN_LEVEL)");
}

void Policy::add_hindrances() {
  for (const nccl::Hindrance* one : {&talk_.acs, &talk_.iommu, &talk_.container})
    add(one->what, passage_name(one->passage), one->reason);
}

std::vector<PolicyLine> Policy::lines() {
  rails_ = nccl::rails_of(domains_);
  add_levels();
  add_peers();
  add_gdr();
  add_nics();
  add_pxn();
  add_rails();
  add_hindrances();
  return std::move(lines_);
}

core::Json reason_json(const std::string& from, const std::string& to, bool allowed,
                       const std::string& reason) {
  return {{"from", from}, {"to", to}, {"allowed", allowed}, {"reason", reason}};
}

void add_peer_reasons(const Reach& reach, const nccl::DirectTalk& talk, core::Json& reasons) {
  const nccl::PeerRules rules(reach);
  for (int a = 0; a < reach.gpus(); ++a)
    for (int b = 0; b < reach.gpus(); ++b) {
      if (a == b) continue;
      const nccl::PeerVerdict verdict = rules.verdict(a, b);
      core::Json pair = reason_json(reach.machine.device_name(reach.gpu_node(a)),
                                    reach.machine.device_name(reach.gpu_node(b)), verdict.allowed(),
                                    verdict.reason());
      pair["passage"] = passage_name(talk.passage(verdict.distance));
      reasons["p2p"].push_back(std::move(pair));
    }
}

void add_gdr_reasons(const Reach& reach, const nccl::DirectTalk& talk, core::Json& reasons) {
  for (int gpu = 0; gpu < reach.gpus(); ++gpu)
    for (int net = 0; net < reach.nets(); ++net)
      for (const Direction direction : {Direction::kReceive, Direction::kSend}) {
        const auto verdict = gdr_verdict(reach, gpu, net, direction);
        core::Json pair = reason_json(reach.machine.device_name(reach.gpu_node(gpu)),
                                      reach.machine.device_name(reach.net_node(net)),
                                      verdict.mode != GdrMode::kOff, verdict.reason());
        pair["direction"] = direction == Direction::kSend ? "send" : "receive";
        pair["passage"] = passage_name(talk.passage(verdict.distance));
        reasons["gdr"].push_back(std::move(pair));
      }
}

}  // namespace

core::Result<std::vector<PolicyLine>> policy_lines(const nccl::JobReach& job,
                                                   const nccl::DirectTalk& talk) {
  const auto domains = nccl::every_domain(job);
  if (!domains) return domains.error();
  return Policy(job, *domains, talk).lines();
}

core::Json reasons_json(const nccl::JobReach& job, const nccl::DirectTalk& talk) {
  constexpr int kMostGpus = 32;
  core::Json reasons = {
      {"host", core::Json::array()}, {"p2p", core::Json::array()}, {"gdr", core::Json::array()}};
  for (const nccl::Hindrance* one : {&talk.acs, &talk.iommu, &talk.container})
    reasons["host"].push_back(
        {{"rule", one->what}, {"passage", passage_name(one->passage)}, {"reason", one->reason}});
  const Reach& whole = job.before_trim ? *job.before_trim : job.reach;
  if (whole.gpus() > kMostGpus) return reasons;
  add_peer_reasons(whole, talk, reasons);
  add_gdr_reasons(job.reach, talk, reasons);
  return reasons;
}

core::Json policy_json(const std::vector<PolicyLine>& lines) {
  core::Json json = core::Json::array();
  for (const PolicyLine& line : lines)
    json.push_back({{"rule", line.rule}, {"outcome", line.outcome}, {"reason", line.reason}});
  return json;
}

core::KeyValues policy_block(const std::vector<PolicyLine>& lines) {
  core::KeyValues block;
  for (const PolicyLine& line : lines)
    block.rows.emplace_back(line.rule, line.outcome + "; " + line.reason);
  return block;
}

}  // namespace comm_probe::cli
