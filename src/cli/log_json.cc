#include <fmt/format.h>

#include <algorithm>

#include "cli/log_view.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using nccl::DebugLog;
using nccl::LogComm;

constexpr std::size_t kMostRingRanks = 4096;
constexpr std::size_t kMostTrees = 4096;

Json facts_json(const std::vector<nccl::LogFact>& facts) {
  Json all = Json::array();
  for (const nccl::LogFact& fact : facts)
    all.push_back({{"value", fact.text}, {"lines", fact.count}});
  return all;
}

Json nics_json(const DebugLog& log) {
  Json all = Json::array();
  for (const nccl::LogNicList& list : log.nic_lists) {
    Json nics = Json::array();
    for (const nccl::LogNic& nic : list.nics) {
      Json json = {{"name", nic.name}};
      if (nic.port > 0) json["port"] = nic.port;
      if (!nic.link.empty()) json["link"] = nic.link;
      if (!nic.address.empty()) json["address"] = nic.address;
      nics.push_back(std::move(json));
    }
    all.push_back({{"kind", list.is_socket ? "socket" : "verbs"},
                   {"hosts", list.hosts.size()},
                   {"nics", std::move(nics)}});
  }
  return all;
}

Json gdr_json(const DebugLog& log) {
  Json hcas = Json::array();
  for (const nccl::LogHcaGdr& hca : log.hca_gdr)
    hcas.push_back({{"hca", hca.hca}, {"enabled", hca.enabled}, {"disabled", hca.disabled}});
  Json pairs = Json::array();
  const auto version = log.version();
  for (const nccl::LogPairGdr& pair : log.pair_gdr) {
    Json json = {{"enabled", pair.is_enabled},
                 {"distance", pair.distance},
                 {"limit", pair.limit},
                 {"lines", pair.count},
                 {"example", pair.example}};
    if (version) {
      json["distance_type"] = nccl::log_path_name(pair.distance, *version);
      json["limit_type"] = nccl::log_path_name(pair.limit, *version);
    }
    pairs.push_back(std::move(json));
  }
  std::uint64_t gdr = 0, plain = 0;
  for (const nccl::LogProcess& process : log.processes) {
    gdr += process.gdr_edges;
    plain += process.plain_edges;
  }
  return {{"hcas", std::move(hcas)},
          {"pairs", std::move(pairs)},
          {"connections_with", gdr},
          {"connections_without", plain}};
}

Json graphs_json(const LogComm& comm) {
  Json all = Json::array();
  for (const nccl::LogGraph& graph : comm.graphs)
    all.push_back({{"pattern", graph.pattern},
                   {"cross_nic", graph.cross_nic},
                   {"n_channels", graph.channels},
                   {"bw_intra", core::json_number(graph.bw_intra)},
                   {"bw_inter", core::json_number(graph.bw_inter)},
                   {"type_intra", graph.type_intra},
                   {"type_inter", graph.type_inter},
                   {"same_channels", graph.same_channels ? 1 : 0},
                   {"channels", graph.orders},
                   {"ranks", graph.count}});
  return all;
}

Json table_json(const nccl::LogTuningTable& table) {
  Json all = Json::object();
  for (const nccl::Function function : nccl::kAllFunctions)
    for (const nccl::Algorithm algorithm : nccl::kAllAlgorithms)
      for (const nccl::Protocol protocol : nccl::kAllProtocols) {
        const auto& cost = table.costs[index_of(function)][index_of(algorithm)][index_of(protocol)];
        if (cost)
          all[function_name(function)][call_name(algorithm)][call_name(protocol)] = {
              core::json_number(cost->latency_us), core::json_number(cost->bandwidth_GBps)};
      }
  return all;
}

Json choices_json(const LogComm& comm) {
  Json all = Json::array();
  for (const nccl::LogChoice& choice : comm.choices) {
    Json json = {{"op", choice.function}, {"bytes", choice.bytes}, {"times", choice.count}};
    if (choice.algorithm) json["algorithm"] = call_name(*choice.algorithm);
    if (choice.protocol) json["protocol"] = call_name(*choice.protocol);
    if (!choice.kernel.empty()) json["kernel"] = choice.kernel;
    if (choice.channels) json["channels"] = *choice.channels;
    all.push_back(std::move(json));
  }
  return all;
}

Json trees_json(const LogComm& comm) {
  Json all = Json::array();
  for (const auto& [key, links] : comm.trees) {
    if (all.size() >= kMostTrees) break;
    all.push_back(
        {{"channel", key.first}, {"rank", key.second}, {"up", links.up}, {"down", links.down}});
  }
  return all;
}

Json edges_json(const LogComm& comm) {
  Json all = Json::array();
  for (const nccl::LogEdges& edges : comm.edges) {
    Json json = {{"via", edges.via}, {"gdr", edges.gdr}, {"lines", edges.count}};
    for (int device = 0; device < 64; ++device)
      if ((edges.devices >> device & 1) != 0) json["nics"].push_back(device);
    all.push_back(std::move(json));
  }
  return all;
}

Json rings_json(const LogComm& comm) {
  Json all = Json::array();
  for (const auto& [channel, ring] : comm.rings)
    all.push_back({{"channel", channel},
                   {"ranks", std::vector<int>(ring.begin(),
                                              ring.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                 ring.size(), kMostRingRanks)))}});
  return all;
}

Json comm_json(const LogComm& comm) {
  Json json = {{"id", comm.id},
               {"ranks", comm.size},
               {"nodes", comm.nodes},
               {"ranks_in_log", comm.ranks_seen},
               {"graphs", graphs_json(comm)},
               {"rings", rings_json(comm)},
               {"trees", trees_json(comm)},
               {"connections", edges_json(comm)},
               {"choices", choices_json(comm)},
               {"calls", comm.calls}};
  if (comm.channels)
    json["channels"] = {{"coll", comm.channels->coll},
                        {"nvls", comm.channels->nvls},
                        {"p2p", comm.channels->p2p},
                        {"p2p_per_peer", comm.channels->p2p_per_peer}};
  if (comm.tuning.cells > 0) json["table"] = table_json(comm.tuning);
  if (!comm.thresholds.empty()) json["thread_thresholds"] = comm.thresholds;
  if (comm.longest_init_s > 0)
    json["longest_init"] = {{"seconds", core::json_number(comm.longest_init_s)},
                            {"longest_part", comm.longest_part}};
  return json;
}

Json problems_json(const DebugLog& log) {
  Json all = Json::array();
  for (const nccl::LogProblem& problem : log.problems) {
    const char* role = problem.role == nccl::LogRole::kCause      ? "cause"
                       : problem.role == nccl::LogRole::kFollowUp ? "follow-up"
                                                                  : "harmless";
    Json json = {{"role", role},
                 {"lines", problem.count},
                 {"processes", problem.process_count},
                 {"first", problem.first.text},
                 {"line", problem.first.line}};
    if (problem.first.file >= 0)
      json["source"] = log.files[static_cast<std::size_t>(problem.first.file)];
    if (!problem.fields.empty()) json["fields"] = problem.fields;
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace

Json log_json(const DebugLog& log) {
  Json settings = Json::array();
  for (const nccl::LogSetting& setting : log.settings)
    settings.push_back({{"name", setting.name},
                        {"value", setting.value},
                        {"by", setting.by_plugin ? "plugin" : "environment"},
                        {"lines", setting.count}});
  Json comms = Json::array();
  for (const LogComm& comm : log.comms) comms.push_back(comm_json(comm));
  Json codes = Json::object();
  for (const auto& [code, lines] : log.code_lines) codes[std::to_string(code)] = lines;
  return {{"lines", log.lines},
          {"nccl_lines", log.nccl_lines},
          {"torn_lines", log.torn_lines},
          {"hosts", log.named_hosts()},
          {"processes", log.named_processes()},
          {"versions", facts_json(log.versions)},
          {"networks", facts_json(log.networks)},
          {"nics", nics_json(log)},
          {"gdr", gdr_json(log)},
          {"settings", std::move(settings)},
          {"communicators", std::move(comms)},
          {"codes", std::move(codes)},
          {"problems", problems_json(log)}};
}

}  // namespace comm_probe::cli
