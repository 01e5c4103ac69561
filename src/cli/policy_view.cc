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

class Policy {
 public:
  explicit Policy(const nccl::JobReach& job)
      : whole_(job.before_trim ? *job.before_trim : job.reach), own_(job.reach) {}
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
  std::string gpu_name(int gpu) const { return own_.machine.device_name(own_.gpu_node(gpu)); }
  std::string net_name(int net) const { return own_.machine.device_name(own_.net_node(net)); }

  const Reach& whole_;  // all GPUs of a node
  const Reach& own_;    // as the ranks of the first domain see it
  nccl::Rails rails_ = {};
  std::vector<PolicyLine> lines_ = {};
};

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
  std::map<std::pair<std::string, std::string>, std::string> gpus;
  for (int gpu = 0; gpu < own_.gpus(); ++gpu) {
    const auto net = rails_.net_of_gpu[static_cast<std::size_t>(gpu)];
    if (!net) continue;
    const auto receive = gdr_verdict(own_, gpu, *net, Direction::kReceive);
    const auto send = gdr_verdict(own_, gpu, *net, Direction::kSend);
    const bool receives = receive.mode != GdrMode::kOff;
    const bool sends = send.mode != GdrMode::kOff;
    const std::string what = receives && sends ? "both ways"
                             : receives        ? "to receive"
                             : sends           ? "to send"
                                               : "not used";
    std::string& names = gpus[{
        what, receives && !sends ? send.reason()
                                 : receive.reason() + in_the_log(receive, own_.settings.version)}];
    names += (names.empty() ? "" : " ") + gpu_name(gpu);
  }
  for (const auto& [kind, names] : gpus)
    add("GPUDirect RDMA", fmt::format("{}: {}", kind.first, names), kind.second);
}

void Policy::add_nics() {
  std::map<int, std::string> gpus;
  for (int gpu = 0; gpu < own_.gpus(); ++gpu)
    if (const auto net = rails_.net_of_gpu[static_cast<std::size_t>(gpu)]) {
      std::string& names = gpus[*net];
      names += (names.empty() ? "" : " ") + gpu_name(gpu);
    }
  std::string text;
  for (const auto& [net, names] : gpus)
    text += fmt::format("{}{} for {}", text.empty() ? "" : ", ", net_name(net), names);
  if (!text.empty())
    add("NICs", text, "the widest path first, then the nearest; equal ones by NVML index");
}

// GPUs whose own NIC is reached over a neighbour.
void Policy::add_pxn() {
  std::string names;
  for (int gpu = 0; gpu < own_.gpus(); ++gpu) {
    const auto net = rails_.net_of_gpu[static_cast<std::size_t>(gpu)];
    if (!net || own_.gpu_to_net(gpu, *net).type != PathType::kPxn) continue;
    names += fmt::format("{}{} by {}", names.empty() ? "" : ", ", gpu_name(gpu),
                         gpu_name(own_.relay_to(gpu, *net)));
  }
  if (!names.empty())
    add("PXN", names + " to " + "its NIC",
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
      : may_relay        ? "no neighbour with NVLink stands at the receiver's rail"
                         : "PXN is off for sends (NCCL_PXN_DISABLE, NCCL_P2P_PXN_LEVEL)");
}

std::vector<PolicyLine> Policy::lines() {
  rails_ = nccl::rails_of(own_);
  add_levels();
  add_peers();
  add_gdr();
  add_nics();
  add_pxn();
  add_rails();
  return std::move(lines_);
}

}  // namespace

std::vector<PolicyLine> policy_lines(const nccl::JobReach& job) { return Policy(job).lines(); }

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
