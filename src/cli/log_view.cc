#include "cli/log_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

namespace comm_probe::cli {
namespace {

using core::Block;
using core::Column;
using nccl::DebugLog;
using nccl::LogComm;
using nccl::LogPhase;

constexpr std::size_t kMostSettings = 12;
constexpr std::size_t kWidestSettings = 70;  // of a line of 100 columns
constexpr std::size_t kWidestSetting = 60;
constexpr std::size_t kMostComms = 8;  // rows of the table

std::string plural(std::uint64_t count, const char* word) {
  const bool hisses = std::string_view(word).ends_with('s');
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : hisses ? "es" : "s");
}

// "IB (16 processes), Socket (1)"
std::string facts_text(const std::vector<nccl::LogFact>& facts) {
  std::string text;
  for (std::size_t i = 0; i < facts.size() && i < 4; ++i)
    text += fmt::format("{}{}{}", i == 0 ? "" : ", ", facts[i].text,
                        facts[i].count > 1 ? fmt::format(" (said {} times)", facts[i].count) : "");
  return facts.size() > 4 ? text + fmt::format(" and {} more", facts.size() - 4) : text;
}

// Without what another text says more exactly ("2.28.9" beside "2.28.9+cuda13.0").
std::string versions_text(const DebugLog& log) {
  std::set<std::string> versions;
  for (const nccl::LogFact& fact : log.versions) versions.insert(fact.text);
  for (auto version = versions.begin(); version != versions.end();) {
    const auto next = std::next(version);
    const bool is_short = next != versions.end() && next->starts_with(*version + "+");
    version = is_short ? versions.erase(version) : next;
  }
  std::string text = fmt::format("{}", fmt::join(versions, ", "));
  if (log.drivers.empty()) return text;
  const int driver = std::atoi(log.drivers.front().text.c_str());  // 13000: CUDA 13.0
  return text + fmt::format("{}driver for CUDA {}.{}", text.empty() ? "" : "; ", driver / 1000,
                            driver % 1000 / 10);
}

std::string nics_text(const nccl::LogNicList& list) {
  std::string text;
  for (std::size_t i = 0; i < list.nics.size() && i < 8; ++i)
    text += (i == 0 ? "" : " ") + list.nics[i].name;
  if (list.nics.size() > 8) text += fmt::format(" and {} more", list.nics.size() - 8);
  if (!list.nics.empty() && !list.nics.front().link.empty())
    text += fmt::format(" ({})", list.nics.front().link);
  return text + (list.hosts.size() > 1 ? fmt::format(" on {} hosts", list.hosts.size()) : "");
}

std::string gdr_text(const DebugLog& log) {
  if (log.networks.size() == 1 && log.networks.front().text == "Socket") return "";
  std::uint64_t gdr = 0, plain = 0, enabled = 0, disabled = 0;
  for (const nccl::LogProcess& process : log.processes) {
    gdr += process.gdr_edges;
    plain += process.plain_edges;
  }
  for (const nccl::LogHcaGdr& hca : log.hca_gdr) {
    enabled += hca.enabled > 0 ? 1 : 0;
    disabled += hca.disabled > 0 ? 1 : 0;
  }
  std::string text;
  if (enabled + disabled > 0)
    text = fmt::format("NICs: {} enabled, {} disabled", enabled, disabled);
  if (gdr + plain > 0)
    text +=
        fmt::format("{}{} of {} network connections", text.empty() ? "" : "; ", gdr, gdr + plain);
  const auto version = log.version();
  for (const nccl::LogPairGdr& pair : log.pair_gdr)
    if (version)
      text += fmt::format("; {} at {} ({} pairs, limit {})", pair.is_enabled ? "on" : "off",
                          nccl::log_path_name(pair.distance, *version), pair.count,
                          nccl::log_path_name(pair.limit, *version));
  return text;
}

std::string settings_text(const DebugLog& log) {
  std::vector<std::string> texts;
  std::map<std::string, std::size_t> values;
  for (const nccl::LogSetting& setting : log.settings) ++values[setting.name];
  for (const nccl::LogSetting& setting : log.settings) {
    std::size_t& count = values[setting.name];
    if (count == 0) continue;
    texts.push_back(fmt::format("{}={}{}{}", setting.name, setting.value,
                                setting.by_plugin ? " (by the plugin)" : "",
                                count > 1 ? fmt::format(" (and {} other values)", count - 1) : ""));
    count = 0;
  }
  std::size_t shown = 0;
  for (std::size_t width = 0; shown < std::min(texts.size(), kMostSettings); ++shown) {
    if (texts[shown].size() > kWidestSetting)
      texts[shown] = texts[shown].substr(0, kWidestSetting - 3) + "...";
    width += texts[shown].size() + 2;
    if (width > kWidestSettings) break;
  }
  std::string text = fmt::format(
      "{}", fmt::join(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return texts.size() > shown ? text + fmt::format(" and {} more", texts.size() - shown) : text;
}

// "P2P/CUMEM 224, NET/IB with GDR 64"
std::string edges_text(const LogComm& comm) {
  std::vector<const nccl::LogEdges*> kinds;
  for (const nccl::LogEdges& edges : comm.edges) kinds.push_back(&edges);
  std::sort(kinds.begin(), kinds.end(),
            [](const auto* a, const auto* b) { return a->count > b->count; });
  std::string text;
  for (std::size_t i = 0; i < kinds.size() && i < 3; ++i) {
    text += fmt::format("{}{}{} {}", i == 0 ? "" : ", ", kinds[i]->via, kinds[i]->gdr ? "+GDR" : "",
                        kinds[i]->count);
    if (const int nics = std::popcount(kinds[i]->devices); nics > 0)
      text += fmt::format(" over {}", plural(static_cast<std::uint64_t>(nics), "NIC"));
  }
  return text;
}

struct CommRow {
  std::size_t comms = 0;
  std::uint64_t seen = 0;
  std::uint64_t complete = 0;
  double longest_init_s = 0;
  const LogComm* example = nullptr;
};

// Communicators of one shape are one row.
std::vector<CommRow> comm_rows(const DebugLog& log) {
  std::vector<std::uint64_t> complete(log.comms.size());
  for (const nccl::LogRank& rank : log.ranks)
    if (rank.phase >= LogPhase::kComplete) ++complete[static_cast<std::size_t>(rank.comm)];
  std::map<std::tuple<int, int, int>, CommRow> rows;
  for (std::size_t i = 0; i < log.comms.size(); ++i) {
    const LogComm& comm = log.comms[i];
    CommRow& row = rows[{-comm.size, comm.nodes, comm.channels ? comm.channels->coll : 0}];
    ++row.comms;
    row.seen += static_cast<std::uint64_t>(comm.ranks_seen);
    row.complete += complete[i];
    row.longest_init_s = std::max(row.longest_init_s, comm.longest_init_s);
    if (row.example == nullptr || comm.edges.size() > row.example->edges.size())
      row.example = &comm;
  }
  std::vector<CommRow> all;
  for (auto& [key, row] : rows) all.push_back(row);
  return all;
}

std::string number_or_dash(int number) { return number > 0 ? std::to_string(number) : "-"; }

core::Table comm_table(const std::vector<CommRow>& rows) {
  core::Table table = {{{"communicators", Column::Align::kRight, 10},
                        {"ranks", Column::Align::kRight, 10},
                        {"nodes", Column::Align::kRight, 10},
                        {"in log", Column::Align::kRight, 9},
                        {"ready", Column::Align::kRight, 9},
                        {"channels", Column::Align::kRight, 8},
                        {"p2p", Column::Align::kRight, 3},
                        {"init s", Column::Align::kRight, 5},
                        {"connections", Column::Align::kLeft, 8}},
                       {}};
  for (const CommRow& row : rows) {
    if (table.rows.size() >= kMostComms) break;
    const LogComm& comm = *row.example;
    const auto& channels = comm.channels;
    table.rows.push_back(
        {std::to_string(row.comms), number_or_dash(comm.size), number_or_dash(comm.nodes),
         std::to_string(row.seen), std::to_string(row.complete),
         channels ? std::to_string(channels->coll) : number_or_dash(comm.ring_count.value_or(0)),
         channels && channels->p2p > 0 ? std::to_string(channels->p2p) : "-",
         row.longest_init_s > 0 ? fmt::format("{:.2f}", row.longest_init_s) : "-",
         edges_text(comm)});
  }
  return table;
}

}  // namespace

std::vector<Block> log_blocks(const DebugLog& log) {
  core::KeyValues facts;
  const auto row = [&](const char* name, std::string value) {
    if (!value.empty()) facts.rows.emplace_back(name, std::move(value));
  };
  row("log",
      fmt::format("{} of NCCL in {}{}", plural(log.nccl_lines, "line"),
                  plural(log.files.size(), "file"),
                  log.named_processes() == 0
                      ? ""
                      : fmt::format(", from {} on {}", plural(log.named_processes(), "process"),
                                    plural(log.named_hosts(), "host"))));
  row("NCCL", versions_text(log));
  row("network", facts_text(log.networks));
  for (std::size_t i = 0; i < log.nic_lists.size() && i < 3; ++i)
    row(log.nic_lists[i].is_socket ? "interfaces" : "NICs", nics_text(log.nic_lists[i]));
  row("bootstrap", log.bootstraps.empty() ? "" : "over " + facts_text(log.bootstraps));
  row("GPUDirect RDMA", gdr_text(log));
  row("settings", settings_text(log));
  std::vector<Block> blocks;
  blocks.emplace_back(std::move(facts));
  const auto rows = comm_rows(log);
  if (rows.empty()) return blocks;
  blocks.emplace_back(core::Heading{"Communicators"});
  blocks.emplace_back(comm_table(rows));
  if (rows.size() > kMostComms)
    blocks.emplace_back(core::Paragraph{fmt::format(
        "and {} more shapes; --json has every communicator", rows.size() - kMostComms)});
  return blocks;
}

}  // namespace comm_probe::cli
