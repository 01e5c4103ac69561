#include "diagnose/log_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/finding_table.h"
#include "diagnose/log_rules.h"

namespace comm_probe::diagnose {
namespace {

using nccl::Algorithm;
using nccl::index_of;
using nccl::LogComm;
using nccl::Protocol;

constexpr std::size_t kMostTreesCompared = 1 << 16;

// Counts a value; the first that differs is shown.
void count(LogPlanRow& row, const std::string& log, const std::string& plan,
           const nccl::LogPlace& at) {
  ++row.compared;
  if (log == plan) {
    ++row.equal;
    return;
  }
  if (row.compared - row.equal > 1) return;
  row.log = log;
  row.plan = plan;
  row.at = at;
}

std::string traits_text(int channels, double intra, double inter, const std::string& paths,
                        int cross_nic) {
  return fmt::format("{} x {:.4g}/{:.4g} GB/s, {}, cross {}", channels, intra, inter, paths,
                     cross_nic);
}

std::string traits_text(const nccl::LogGraph& graph) {
  return traits_text(graph.channels, graph.bw_intra, graph.bw_inter,
                     graph.type_intra + "/" + graph.type_inter, graph.cross_nic);
}

std::string traits_text(const nccl::GraphTraits& traits) {
  return traits_text(
      traits.n_channels, traits.bw_intra.GBps, traits.bw_inter.GBps,
      fmt::format("{}/{}", path_type_name(traits.type_intra), path_type_name(traits.type_inter)),
      traits.cross_nic);
}

bool is_tree(int pattern) { return pattern >= 1 && pattern <= 3; }

// Of the graph that most ranks found; of equals the first.
void compare_search(LogPlan& result, const LogComm& comm, const char* name, bool (*wanted)(int),
                    const nccl::GraphTraits* planned) {
  const nccl::LogGraph* found = nullptr;
  for (const nccl::LogGraph& graph : comm.graphs) {
    if (!wanted(graph.pattern)) continue;
    if (found == nullptr || graph.count > found->count) found = &graph;
  }
  if (found == nullptr) return;
  LogPlanRow row = {
      .what = fmt::format("search {}", name), .log = traits_text(*found), .at = found->first};
  std::string plan = planned == nullptr ? "not searched" : traits_text(*planned);
  if (planned != nullptr && static_cast<int>(planned->pattern) != found->pattern)
    plan +=
        fmt::format(", pattern {} (log {})", static_cast<int>(planned->pattern), found->pattern);
  count(row, traits_text(*found), plan, found->first);
  result.rows.push_back(std::move(row));
}

void compare_searches(LogPlan& result, const LogComm& comm, const nccl::JobPlan& plan) {
  const nccl::Graphs& own = plan.own();
  compare_search(
      result, comm, "ring", [](int pattern) { return pattern == 4; }, &own.ring.traits);
  compare_search(result, comm, "tree", is_tree, &own.tree.traits);
  compare_search(
      result, comm, "NVLS", [](int pattern) { return pattern == 5; },
      own.nvls ? &own.nvls->traits : nullptr);
}

void compare_channels(LogPlan& result, const LogComm& comm, const nccl::JobPlan& plan) {
  if (!comm.channels) return;
  LogPlanRow row = {
      .what = "channels",
      .log = fmt::format("{} collective, {} NVLS, {} p2p, {} per peer", comm.channels->coll,
                         comm.channels->nvls, comm.channels->p2p, comm.channels->p2p_per_peer)};
  const auto compare = [&](const char* kind, int log, int planned) {
    count(row, fmt::format("{} {}", log, kind), fmt::format("{} {}", planned, kind), comm.first);
  };
  compare("collective", comm.channels->coll, plan.counts.coll);
  compare("NVLS", comm.channels->nvls, plan.counts.nvls);
  compare("p2p", comm.channels->p2p, plan.counts.p2p);
  compare("per peer", comm.channels->p2p_per_peer, plan.counts.p2p_per_peer);
  result.rows.push_back(std::move(row));
}

std::string ring_text(const std::vector<int>& ring) {
  const std::size_t shown = std::min<std::size_t>(ring.size(), 16);
  return fmt::format("{}{}", fmt::join(ring.begin(), ring.begin() + static_cast<long>(shown), " "),
                     ring.size() > shown ? " ..." : "");
}

// A ring that NCCL's line could not hold is compared as far as it goes.
void compare_rings(LogPlan& result, const LogComm& comm, const nccl::JobPlan& plan) {
  if (comm.rings.empty()) return;
  LogPlanRow row = {.what = "rings", .log = "", .at = comm.first};
  for (const auto& [channel, ring] : comm.rings) {
    if (static_cast<std::size_t>(channel) >= plan.channels.size()) {
      count(row, fmt::format("channel {}", channel), "no such channel", comm.first);
      continue;
    }
    std::vector<int> planned =
        plan.connection.ring(plan.channels[static_cast<std::size_t>(channel)].search);
    if (planned.size() > ring.size() && ring.size() > 64) planned.resize(ring.size());
    const std::string log_text = ring_text(ring);
    count(row, ring == planned ? "" : fmt::format("channel {}: {}", channel, log_text),
          ring == planned ? "" : fmt::format("channel {}: {}", channel, ring_text(planned)),
          comm.first);
  }
  result.rows.push_back(std::move(row));
}

std::string links_text(int channel, int rank, int up, const std::array<int, 3>& down) {
  return fmt::format("channel {}: {}/{}/{}->{}->{}", channel, down[0], down[1], down[2], rank, up);
}

void compare_trees(LogPlan& result, const LogComm& comm, const nccl::JobPlan& plan) {
  if (comm.trees.empty()) return;
  LogPlanRow row = {.what = "trees", .log = "", .at = comm.first};
  int channel = -1;
  std::vector<nccl::TreeLinks> tree;
  std::size_t compared = 0;
  for (const auto& [key, links] : comm.trees) {
    if (++compared > kMostTreesCompared) break;
    if (static_cast<std::size_t>(key.first) >= plan.channels.size()) {
      count(row, fmt::format("channel {}", key.first), "no such channel", comm.first);
      continue;
    }
    if (key.first != channel) {
      channel = key.first;
      tree = plan.connection.tree(plan.channels[static_cast<std::size_t>(channel)]);
    }
    const std::string log_text = links_text(channel, key.second, links.up, links.down);
    if (key.second < 0 || static_cast<std::size_t>(key.second) >= tree.size()) {
      count(row, log_text, "no such rank", comm.first);
      continue;
    }
    const nccl::TreeLinks& planned = tree[static_cast<std::size_t>(key.second)];
    count(row, log_text,
          links_text(channel, key.second, planned.up,
                     {planned.down[0], planned.down[1], planned.down[2]}),
          comm.first);
  }
  result.rows.push_back(std::move(row));
}

// As NCCL prints a cell.
std::string cell_text(double latency_us, double bandwidth_GBps) {
  return fmt::format("{:.1f} us, {:.1f} GB/s", latency_us, bandwidth_GBps);
}

void compare_table(LogPlan& result, const LogComm& comm, const nccl::Tuning& tuning) {
  if (comm.tuning.cells == 0) return;
  LogPlanRow row = {.what = "tuning table", .at = comm.tuning.first};
  for (const nccl::Function function : nccl::kAllFunctions)
    for (const Algorithm algorithm : nccl::kAllAlgorithms)
      for (const Protocol protocol : nccl::kAllProtocols) {
        const auto& cell =
            comm.tuning.costs[index_of(function)][index_of(algorithm)][index_of(protocol)];
        if (!cell) continue;
        const nccl::MethodCost& planned = tuning.cost(function, algorithm, protocol);
        const std::string name = fmt::format("{} {} {}: ", function_name(function),
                                             table_name(algorithm), table_name(protocol));
        count(row, name + cell_text(cell->latency_us, cell->bandwidth_GBps),
              name + cell_text(planned.latency.us, planned.bandwidth.GBps), comm.tuning.first);
      }
  result.rows.push_back(std::move(row));
}

std::string thresholds_text(const nccl::Tuning& tuning) {
  const auto of = [&](Algorithm algorithm, Protocol protocol) {
    return tuning.thread_thresholds[index_of(algorithm)][index_of(protocol)];
  };
  std::string text;
  for (const Algorithm algorithm : {Algorithm::kTree, Algorithm::kRing})
    text += fmt::format("{}/{}/{} | ", of(algorithm, Protocol::kLl),
                        of(algorithm, Protocol::kLl128), of(algorithm, Protocol::kSimple));
  return text + fmt::format("{} | {}", of(Algorithm::kCollNetDirect, Protocol::kSimple),
                            of(Algorithm::kCollNetChain, Protocol::kSimple));
}

void compare_thresholds(LogPlan& result, const LogComm& comm, const nccl::Tuning& tuning) {
  if (comm.thresholds.empty()) return;
  LogPlanRow row = {.what = "thread thresholds", .log = comm.thresholds, .at = comm.first};
  count(row, comm.thresholds, thresholds_text(tuning), comm.first);
  result.rows.push_back(std::move(row));
}

std::string choice_text(Algorithm algorithm, Protocol protocol, std::optional<int> channels) {
  return fmt::format("{} {}{}", table_name(algorithm), table_name(protocol),
                     channels ? fmt::format(", {} ch", *channels) : "");
}

void compare_choices(LogPlan& result, const LogComm& comm, const nccl::Tuning& tuning) {
  LogPlanRow row = {.what = "choices"};
  for (const nccl::LogChoice& choice : comm.choices) {
    const auto function = nccl::function_from_name(choice.function);
    if (!function || !choice.algorithm || !choice.protocol) continue;
    // NCCL prints the bytes of one rank's count, also where the model takes those of all ranks
    // (2.28.9, AllGather on four ranks of one GPU: docs/measured/h200-nccl.md).
    const auto type = choice.bytes % 4 == 0 ? nccl::DataType::kFloat32 : nccl::DataType::kUint8;
    const nccl::Call call = {*function, choice.bytes / static_cast<std::uint64_t>(size_of(type)),
                             type};
    const auto planned = choose(tuning, call);
    const std::string name = fmt::format("{} {} B: ", choice.function, choice.bytes);
    const std::string log_text =
        name + choice_text(*choice.algorithm, *choice.protocol, choice.channels);
    if (row.log.empty()) row.at = choice.first;
    count(row, log_text,
          !planned ? name + "refused"
                   : name + choice_text(planned->taken.algorithm, planned->taken.protocol,
                                        choice.channels ? std::optional(planned->launch.channels)
                                                        : std::nullopt),
          choice.first);
  }
  if (row.compared > 0) result.rows.push_back(std::move(row));
}

int worth(const LogComm& comm) {
  return static_cast<int>(comm.graphs.size()) + static_cast<int>(comm.rings.size()) +
         comm.tuning.cells + static_cast<int>(comm.choices.size()) + (comm.channels ? 4 : 0);
}

const LogPlanRow* first_difference(const LogPlan& compared) {
  for (const LogPlanRow& row : compared.rows)
    if (!row.is_equal()) return &row;
  return nullptr;
}

// What of the inputs can explain that something differs.
std::string reason_of(const LogPlan& compared, const LogComm& comm, const nccl::JobPlan& plan,
                      topology::NcclVersion release) {
  if (compared.is_equal()) return "";
  const int size = comm.size > 0 || comm.rings.empty()
                       ? comm.size
                       : static_cast<int>(comm.rings.begin()->second.size());
  if (size > 0 && size != plan.connection.ranks())
    return fmt::format(
        "the communicator has {} ranks, the plan {}: another number of nodes or GPUs", size,
        plan.connection.ranks());
  const bool searches_differ = std::any_of(
      compared.rows.begin(), compared.rows.end(),
      [](const LogPlanRow& row) { return !row.is_equal() && row.what.starts_with("search"); });
  const std::string version =
      release == topology::NcclVersion{}
          ? ""
          : fmt::format("; the log is of NCCL {}.{}.{}, the plan is proven for 2.28.9",
                        release.major, release.minor, release.patch);
  if (searches_differ)
    return "the searches differ, so the topology is not that of the job, or a setting of the job "
           "is "
           "not in the log" +
           version;
  return "the searches are equal: a setting that is not in the log, or a plugin" + version;
}

}  // namespace

bool LogPlan::is_equal() const { return first_difference(*this) == nullptr; }

const LogComm* comm_to_plan(const nccl::DebugLog& log) {
  const auto most =
      std::max_element(log.comms.begin(), log.comms.end(),
                       [](const LogComm& a, const LogComm& b) { return worth(a) < worth(b); });
  return most == log.comms.end() || worth(*most) == 0 ? nullptr : &*most;
}

nccl::Environment environment_of(const nccl::DebugLog& log) {
  nccl::Environment environment;
  for (const nccl::LogSetting& setting : log.settings)
    environment.emplace(setting.name, setting.value);  // the first value that was said
  return environment;
}

LogPlan compare_with_plan(const LogComm& comm, const nccl::JobPlan& plan,
                          const nccl::Tuning& tuning) {
  LogPlan result;
  compare_searches(result, comm, plan);
  compare_channels(result, comm, plan);
  compare_rings(result, comm, plan);
  compare_trees(result, comm, plan);
  if (tuning.job.agreement.ranks > 1) {
    compare_table(result, comm, tuning);
    compare_thresholds(result, comm, tuning);
    compare_choices(result, comm, tuning);
  }
  result.reason = reason_of(result, comm, plan, tuning.job.settings.version);
  return result;
}

std::vector<core::Finding> judge_log_plan(const nccl::DebugLog& log, const LogPlan& compared) {
  const LogPlanRow* first = first_difference(compared);
  if (first == nullptr) return {};
  core::Finding finding =
      log_finding(log, "log.plan-differs",
                  fmt::format("{}: the log has {}, the plan {}{}", first->what, first->log,
                              first->plan, compared.reason.empty() ? "" : "; " + compared.reason),
                  first->at);
  finding.confidence = core::Confidence::kCertain;
  finding.next = {"NCCL_TOPO_DUMP_FILE=topo.xml in the job, then --topo topo.xml"};
  return {finding};
}

}  // namespace comm_probe::diagnose
