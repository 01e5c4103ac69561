// Which ranks go over TCP between nodes, and whether something faster was there. A job inside of
// one node prints the network that it does not use, and two jobs in one pile have two networks:
// only ranks of communicators of several nodes are judged, by what they and their hosts show.
//
//   ranks of node1 "Using network Socket", others of their communicator "IB" -> log.tcp-fallback
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/diagnose.h"
#include "nccl/debug_log.h"

namespace comm_probe::diagnose {

struct OnSockets {
  bool is_any = false;
  std::set<int> processes = {};  // with those that share a communicator with them
  std::set<int> hosts = {};      // with those that are joined with them
};

// `sets`: host_sets(log), with what joins hosts beside it.
OnSockets on_sockets(const nccl::DebugLog& log, const std::vector<int>& sets);

bool begins_with_any(std::string_view text, std::span<const std::string_view> words);
// The first interface of the socket lists of these hosts that begins with one of `words`.
std::pair<const nccl::LogNicList*, std::string> socket_interface(
    const nccl::DebugLog& log, const std::set<int>& hosts, std::span<const std::string_view> words);
// "IB", "Socket"; null where no line says that it is used.
const nccl::LogFact* network_named(const nccl::DebugLog& log, std::string_view name);

void judge_fallback(const nccl::DebugLog& log, const std::vector<int>& sets, Judgement& judgement);

}  // namespace comm_probe::diagnose
