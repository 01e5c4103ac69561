// The rules of judge_network, one function each: what changed in, findings out.
#pragma once

#include "diagnose/net_state.h"

namespace comm_probe::diagnose {

struct NetAnswer {
  std::vector<core::Finding> findings = {};
  std::vector<core::Caveat> caveats = {};
  bool is_known = false;  // at least one port has the counters that the rule needs
};

using topology::NetChange;
NetAnswer ports_kept(const NetChange& change);
NetAnswer links_stayed_up(const NetChange& change);
NetAnswer no_physical_errors(const NetChange& change);
NetAnswer no_error_completions(const NetChange& change);
NetAnswer acks_in_time(const NetChange& change);
NetAnswer nothing_lost(const NetChange& change);
NetAnswer nothing_discarded(const NetChange& change);
NetAnswer interfaces_whole(const NetChange& change);
NetAnswer pauses_few(const NetChange& change);
NetAnswer marks_few(const NetChange& change);
NetAnswer marks_obeyed(const NetChange& change);
NetAnswer receivers_ready(const NetChange& change);
NetAnswer pcie_keeps_up(const NetChange& change);
NetAnswer credits_enough(const NetChange& change);
NetAnswer ports_all_up(const NetChange& change);
NetAnswer ports_alike_used(const NetChange& change);
NetAnswer ports_below_limit(const NetChange& change);

// A port that a finding is about: how much, and which counters show it.
struct NetHit {
  const topology::PortChange* port = nullptr;
  double amount = 0;
  std::vector<std::string> counters = {};
};
using NetHits = std::vector<NetHit>;

// Ports where any of the counters counted; `is_known` where a port has one of them.
NetHits hits_of(const NetChange& change, std::span<const std::string_view> counters,
                bool& is_known);
// "mlx5_3 (812), mlx5_4 (7)", the greatest first, at most 8.
std::string named(NetHits hits);
// " in 60 s"; empty where the time between is not known.
std::string in_time(const NetHits& hits);
// ": only this one of 8 ports" where one stands out of several.
std::string place_among(const NetHits& hits, const NetChange& change);
core::Finding net_finding(std::string_view id, std::string summary, const NetHits& hits);
double limit(std::string_view name);
// Bytes both ways, and whether they are those of a job.
double traffic_of(const topology::PortChange& port);
bool is_busy(const topology::PortChange& port);

// Everything that counts pauses received or sent, over all priorities and the whole link.
std::optional<std::uint64_t> pauses(const topology::PortChange& port, std::string_view side);
// The part of the time that the port was paused; nothing where it does not count it.
std::optional<double> paused_part(const topology::PortChange& port, std::string_view side);
// Marks that came to this port; nothing where no source counts them.
std::optional<std::uint64_t> marks_received(const topology::PortChange& port);
std::optional<std::uint64_t> notices_received(const topology::PortChange& port);
std::optional<std::uint64_t> packets_sent(const topology::PortChange& port);
std::optional<std::uint64_t> packets_received(const topology::PortChange& port);
// A write is one packet or more: a part of so many can clear a port, never accuse it.
std::optional<std::uint64_t> least_packets_received(const topology::PortChange& port);

}  // namespace comm_probe::diagnose
