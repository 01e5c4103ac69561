// What the readers of counters in texts share: the snapshots of one text as they grow. A port that
// comes a second time begins the next snapshot; names come from prompts, headings and the lines
// themselves ("node07: link mlx5_0/1 ..." of pdsh).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/json.h"
#include "topology/net_counters.h"
#include "topology/readers/fact_reader.h"

namespace comm_probe::topology {

class CounterText {
 public:
  CounterText(std::string source, std::string host)
      : source_(std::move(source)), host_(std::move(host)) {}

  // Any line of the text, without colour codes.
  void take(const SourceLine& line);
  // Line is a JSON array as `rdma -j statistic` prints it.
  void take_json(const SourceLine& line);
  // Snapshots with at least one counter; leaves none behind.
  std::vector<NetSnapshot> finish();
  bool has_counters() const { return counters_ > 0; }
  bool is_full() const { return counters_ >= kMostCounters; }
  // Interfaces whose statistics came without a name.
  int unnamed() const { return unnamed_; }

 private:
  // Enough for 4096 ports of 256 counters.
  static constexpr std::size_t kMostCounters = std::size_t{1} << 20;

  bool take_time(std::string_view text);
  bool take_prompt(std::string_view text);
  bool take_perfquery(std::string_view text, const SourceLine& line);
  bool take_sysfs(std::string_view text, const SourceLine& line);
  bool take_rdma(std::string_view text, const SourceLine& line);
  bool take_ethtool(std::string_view text, const SourceLine& line);
  bool take_ip_link(std::string_view text, const SourceLine& line);
  void take_json_link(const core::Json& entry, const SourceLine& line);
  void take_pairs(const std::vector<std::string>& words, std::size_t first, const SourceLine& line);
  // The record of this port in the newest snapshot; a new snapshot where it stands there already.
  void open(PortCounters port, const SourceLine& line);
  // The same, but a record that stands there already goes on.
  void resume(PortCounters port, const SourceLine& line, std::string_view counter);
  void add(std::string_view counter, std::uint64_t value, const SourceLine& line);
  PortCounters* current();

  std::string source_;
  std::string host_;
  std::vector<NetSnapshot> snapshots_ = {};
  std::optional<std::size_t> current_ = {};  // port of the newest snapshot
  std::optional<core::Duration> time_ = {};
  bool has_new_time_ = false;
  std::string previous_ = {};  // line before, which may name an interface
  PortCounters::Source block_ = PortCounters::Source::kSysfs;
  std::string command_device_ = {};
  int command_port_ = 0;
  std::string command_netdev_ = {};
  std::vector<std::string> columns_ = {};  // of the line before, whose numbers come
  std::size_t counters_ = 0;
  int unnamed_ = 0;
  int unnamed_here_ = 0;  // since the last time line
};

// "2026-11-30T02:54:23Z", "2026-11-30 02:54:23", "Mon Nov 30 02:54:23 UTC 2026", "1795575263.5"
std::optional<core::Duration> time_of_line(std::string_view text);
// "[root@node07 ~]# ", "root@node07:~$ " -> "node07"; empty where there is no such prompt.
std::string host_of_prompt(std::string_view text);
std::optional<std::uint64_t> counter_number(std::string_view text);
// Counters of single queues are not kept: "rx12_packets", "ch3_poll", "[4]: rx_bytes".
bool is_queue_counter(std::string_view name);

}  // namespace comm_probe::topology
