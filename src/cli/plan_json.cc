#include "cli/plan_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace comm_probe::cli {
namespace {

using core::Json;
using nccl::Reach;
using topology::Path;
using topology::PathType;

constexpr int kMostInMatrix = 16;
constexpr int kChannelsShown = 8;

struct Range {
  int least;
  int most;
};
Range sm_range(const Reach& reach) {
  Range range{1 << 20, 0};
  for (int gpu = 0; gpu < reach.gpus(); ++gpu) {
    range.least = std::min(range.least, reach.sm(gpu));
    range.most = std::max(range.most, reach.sm(gpu));
  }
  return range;
}

// A row of words, separated by blanks.
template <class Word>
Json word_rows(int rows, int columns, Word word) {
  Json all = Json::array();
  for (int row = 0; row < rows; ++row) {
    std::string line;
    for (int column = 0; column < columns; ++column)
      line += fmt::format("{}{}", column == 0 ? "" : " ", word(row, column));
    all.push_back(line);
  }
  return all;
}

template <class Value>
Json value_rows(int rows, int columns, Value value) {
  Json all = Json::array();
  for (int row = 0; row < rows; ++row) {
    Json line = Json::array();
    for (int column = 0; column < columns; ++column) line.push_back(value(row, column));
    all.push_back(line);
  }
  return all;
}

template <class PathOf>
Json path_matrix(int rows, int columns, PathOf path_of) {
  return {{"type", word_rows(rows, columns,
                             [&](int a, int b) { return path_type_name(path_of(a, b).type); })},
          {"bw", value_rows(rows, columns,
                            [&](int a, int b) { return json_rate(path_of(a, b).bandwidth); })},
          {"hops", value_rows(rows, columns, [&](int a, int b) { return path_of(a, b).hops; })}};
}

std::string path_word(const Path& path) {
  return fmt::format("{}/{:.7g}/{}", path_type_name(path.type), path.bandwidth.GBps, path.hops);
}

Json gpus_json(const Reach& reach) {
  Json all = Json::array();
  for (int gpu = 0; gpu < reach.gpus(); ++gpu)
    all.push_back({{"rank", reach.rank(gpu)},
                   {"dev", reach.gpu(gpu).dev.value_or(-1)},
                   {"busid", reach.machine.node(reach.gpu_node(gpu)).bus_id},
                   {"cc", reach.sm(gpu)},
                   {"gdr", reach.gpu(gpu).gdr ? 1 : 0},
                   {"sys", reach.host_of_gpu(gpu)}});
  return all;
}

Json nets_json(const Reach& reach, nccl::NetChoice& choice) {
  Json all = Json::array();
  for (int index = 0; index < reach.nets(); ++index) {
    const topology::Net& net = reach.net(index);
    all.push_back({{"idx", index},
                   {"dev", net.dev.value_or(-1)},
                   {"sys", reach.machine.node(reach.net_node(index)).host},
                   {"bw", json_rate(topology::nccl_net_rate(net.speed))},
                   {"port", net.port},
                   {"gdr", net.gdr ? 1 : 0},
                   {"latency", core::json_number(net.latency.in_us())},
                   {"local_gpu", choice.gpu_of(index).value_or(-1)}});
  }
  return all;
}

Json cpus_json(const Reach& reach) {
  Json all = Json::array();
  for (int index = 0; index < reach.cpus(); ++index) {
    const topology::Node& node = reach.machine.node(reach.cpu_node(index));
    const auto& cpu = node.as<topology::Cpu>();
    all.push_back({{"numa", cpu.numa},
                   {"sys", node.host},
                   {"arch", static_cast<int>(cpu.arch)},
                   {"vendor", static_cast<int>(cpu.vendor)},
                   {"model", topology::nccl_cpu_model(cpu)}});
  }
  return all;
}

Json system_json(const Reach& reach) {
  const nccl::SystemFacts facts = nccl::system_facts(reach);
  return {{"max_bw", json_rate(facts.best_path)},
          {"total_bw", json_rate(facts.gpu_total)},
          {"inter", reach.is_inter() ? 1 : 0},
          {"nvswitch_nodes", reach.machine.count(topology::NodeType::kNvs)},
          {"pci_nodes", reach.machine.count(topology::NodeType::kPci)},
          {"hosts", reach.machine.hosts()},
          {"all_nvlink", facts.all_nvlink ? 1 : 0},
          {"all_direct_p2p", facts.all_direct_p2p ? 1 : 0},
          {"all_cuda_p2p", facts.all_driver_p2p ? 1 : 0}};
}

void add_gpu_paths(Json& paths, const Reach& reach) {
  const int gpus = reach.gpus();
  const auto gpu_gpu = [&](int a, int b) { return reach.gpu_to_gpu(a, b); };
  if (gpus > kMostInMatrix) {
    std::map<std::string, int> counts;
    for (int a = 0; a < gpus; ++a)
      for (int b = 0; b < gpus; ++b)
        if (a != b) ++counts[path_word(gpu_gpu(a, b))];
    paths["path_gpu_gpu_hist"] = counts;
    return;
  }
  paths["path_gpu_gpu"] = path_matrix(gpus, gpus, gpu_gpu);
  paths["path_gpu_cpu"] =
      path_matrix(gpus, reach.cpus(), [&](int a, int b) { return reach.gpu_to_cpu(a, b); });
  const nccl::PeerRules rules(reach);
  paths["transport_gpu_gpu"] =
      word_rows(gpus, gpus, [&](int a, int b) { return transport_text(reach, rules, a, b); });
}

void add_net_counts(Json& paths, const Reach& reach) {
  std::map<std::string, int> counts;
  Json first = Json::array();
  for (int gpu = 0; gpu < reach.gpus(); ++gpu)
    for (int net = 0; net < reach.nets(); ++net) {
      const std::string word = path_word(reach.gpu_to_net(gpu, net));
      ++counts[word];
      if (gpu == 0) first.push_back(word);
    }
  paths["path_gpu0_net"] = first;
  paths["path_gpu_net_hist"] = counts;
}

void add_net_paths(Json& paths, const Reach& reach, nccl::NetChoice& choice) {
  const int gpus = reach.gpus();
  const int nets = reach.nets();
  if (nets == 0) return;
  if (gpus > kMostInMatrix) return add_net_counts(paths, reach);
  const auto gdr = [&](nccl::Direction direction) {
    return word_rows(gpus, nets, [&](int gpu, int net) {
      return static_cast<int>(gdr_verdict(reach, gpu, net, direction).mode);
    });
  };
  paths["path_gpu_net"] =
      path_matrix(gpus, nets, [&](int a, int b) { return reach.gpu_to_net(a, b); });
  paths["path_net_gpu"] =
      path_matrix(nets, gpus, [&](int a, int b) { return reach.net_to_gpu(a, b); });
  paths["gdr_recv"] = gdr(nccl::Direction::kReceive);
  paths["gdr_send"] = gdr(nccl::Direction::kSend);
  paths["gdr_flush"] =
      word_rows(gpus, nets, [&](int gpu, int net) { return needs_flush(reach, gpu, net) ? 1 : 0; });
  paths["gpu_net_relay_rank"] = value_rows(
      gpus, nets, [&](int gpu, int net) { return reach.rank(reach.relay_to(gpu, net)); });
  paths["local_net_by_channel"] = value_rows(gpus, kChannelsShown, [&](int gpu, int channel) {
    const auto net = choice.net_of(gpu, channel);
    return net ? reach.net(*net).dev.value_or(-1) : -1;
  });
}

// Peers on another node are this node's GPUs again: all nodes are alike.
void add_peer_nets(Json& paths, const nccl::JobReach& plan, nccl::NetChoice& choice) {
  const Reach& reach = plan.reach;
  const Reach& whole = plan.before_trim ? *plan.before_trim : reach;
  if (reach.nets() == 0 || reach.job.nodes < 2 || reach.gpus() > kMostInMatrix) return;
  std::map<int, int> dev_of_rank;
  for (int gpu = 0; gpu < whole.gpus(); ++gpu)
    dev_of_rank[whole.rank(gpu)] = whole.gpu(gpu).dev.value_or(-1);
  paths["p2p_net_dev_at_proxy"] = word_rows(reach.gpus(), whole.gpus(), [&](int gpu, int peer) {
    const auto answer = net_to_peer(reach, choice, gpu, dev_of_rank[peer]);
    return answer ? fmt::format("{}@{}", reach.net(answer->net).dev.value_or(-1),
                                reach.rank(answer->gpu))
                  : std::string("-");
  });
}

}  // namespace

Json json_rate(topology::NcclRate rate) {
  return core::json_number(std::stod(fmt::format("{:.7g}", rate.GBps)));
}

std::string transport_text(const Reach& reach, const nccl::PeerRules& rules, int from, int to) {
  const nccl::PeerVerdict verdict = rules.verdict(from, to);
  switch (rules.transport(from, to, verdict)) {
    case nccl::Transport::kSelf:
      return "-";
    case nccl::Transport::kP2p:
      if (verdict.relay) return fmt::format("P2P:via{}", reach.rank(*verdict.relay));
      return rules.receiver_reads(from, to) ? "P2P:read" : "P2P";
    case nccl::Transport::kShm:
      return "SHM";
    case nccl::Transport::kNet:
      return "NET";
    case nccl::Transport::kNone:
      return "NONE";
  }
  return "";
}

Json plan_inputs_json(const nccl::JobReach& plan) {
  const Reach& whole = plan.before_trim ? *plan.before_trim : plan.reach;
  const Range sm = sm_range(whole);
  const nccl::Job& job = whole.job;
  return {{"nodes", job.nodes},
          {"local_gpus", whole.gpus()},
          {"ranks", whole.ranks},
          {"min_cc", sm.least},
          {"max_cc", sm.most},
          {"multicast", job.multicast ? 1 : 0},
          {"driver_p2p", job.driver_p2p ? 1 : 0},
          {"collnet", job.collnet ? 1 : 0},
          {"mnnvl", job.mnnvl ? 1 : 0}};
}

Json plan_paths_json(const nccl::JobReach& plan) {
  const Reach& reach = plan.reach;
  nccl::NetChoice choice(reach);
  Json paths = {{"inputs", plan_inputs_json(plan)}, {"domains", plan.domains},
                {"gpus", gpus_json(reach)},         {"nets", nets_json(reach, choice)},
                {"cpus", cpus_json(reach)},         {"system", system_json(reach)}};
  if (plan.before_trim)
    paths["path_gpu_gpu_before_trim"] =
        path_matrix(plan.before_trim->gpus(), plan.before_trim->gpus(),
                    [&](int a, int b) { return plan.before_trim->gpu_to_gpu(a, b); });
  add_gpu_paths(paths, reach);
  add_net_paths(paths, reach, choice);
  add_peer_nets(paths, plan, choice);
  return paths;
}

}  // namespace comm_probe::cli
