#include "topology/readers/counter_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/finding_table.h"
#include "core/json.h"
#include "topology/readers/ip_link_text.h"
#include "topology/readers/matrix_words.h"

namespace comm_probe::topology {
namespace {

using Source = PortCounters::Source;
constexpr std::size_t kLongestName = 64;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
         });
}

// The word behind another one in a command: ("perfquery -x -C mlx5_0", "-C") -> "mlx5_0".
std::string word_after(const std::vector<std::string>& words, std::string_view option) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == option && is_name(words[i + 1])) return words[i + 1];
  return {};
}

// An interface that a heading names alone, whatever stands around it: "=== ens1f0np0 ===",
// "# ens1f0np0:", "Interface: ens1f0np0".
std::string name_in_heading(std::string_view line) {
  std::string plain(line.substr(0, 80));
  for (char& c : plain)
    if (std::string_view("=-#*:<>[]()").find(c) != std::string_view::npos && c != '-') c = ' ';
  std::string name;
  for (const std::string& word : words_of(plain)) {
    const bool is_interface = is_name(word) && word.size() < 16 &&
                              std::any_of(word.begin(), word.end(),
                                          [](unsigned char c) { return std::isdigit(c) != 0; }) &&
                              std::isalpha(static_cast<unsigned char>(word[0])) != 0;
    if (!is_interface) continue;
    if (!name.empty()) return {};
    name = word;
  }
  return name;
}

}  // namespace

PortCounters* CounterText::current() {
  if (!current_ || snapshots_.empty()) return nullptr;
  return &snapshots_.back().ports[*current_];
}

void CounterText::open(PortCounters port, const SourceLine& line) {
  port.host = host_;
  port.from = line.evidence();
  block_ = port.source;
  current_.reset();
  if (is_full()) return;
  const auto is_there = [&](const PortCounters& other) { return other.is_same(port); };
  if (snapshots_.empty() ||
      std::any_of(snapshots_.back().ports.begin(), snapshots_.back().ports.end(), is_there)) {
    snapshots_.push_back({.source = source_, .time = time_});
    if (!has_new_time_ && snapshots_.size() > 1) snapshots_.back().time.reset();
    has_new_time_ = false;
  }
  snapshots_.back().ports.push_back(std::move(port));
  current_ = snapshots_.back().ports.size() - 1;
}

void CounterText::resume(PortCounters port, const SourceLine& line, std::string_view counter) {
  port.host = host_;
  if (!snapshots_.empty())
    for (std::size_t i = 0; i < snapshots_.back().ports.size(); ++i) {
      const PortCounters& known = snapshots_.back().ports[i];
      if (!known.is_same(port) || known.value(counter)) continue;
      block_ = port.source;
      current_ = i;
      return;
    }
  open(std::move(port), line);
}

void CounterText::add(std::string_view counter, std::uint64_t value, const SourceLine& line) {
  PortCounters* port = current();
  if (port == nullptr || is_full() || !is_name(counter)) return;
  const bool is_new =
      port->counters.try_emplace(std::string(counter), CounterValue{value, line.number}).second;
  counters_ += is_new ? 1 : 0;
}

bool CounterText::take_time(std::string_view text) {
  const auto time = time_of_line(text);
  if (!time) return false;
  time_ = time;
  has_new_time_ = true;
  unnamed_here_ = 0;
  return true;
}

// A line with one of the commands gives the names that its output leaves out.
bool CounterText::take_prompt(std::string_view text) {
  constexpr std::array<std::string_view, 3> kCommands = {"perfquery", "ethtool -S", "statistic"};
  const bool is_command = std::any_of(kCommands.begin(), kCommands.end(), [&](const auto& command) {
    return text.find(command) != std::string_view::npos;
  });
  if (!is_command || text.size() > 300) return false;
  const std::vector<std::string> words = words_of(text);
  if (const std::string host = host_of_prompt(text); !host.empty()) host_ = host;
  command_device_ = word_after(words, "-C");
  const std::string port = word_after(words, "-P");
  command_port_ = small_number(port, 255).value_or(0);
  command_netdev_ = word_after(words, "-S");
  current_.reset();
  return true;
}

// "# Port extended counters: Lid 6 port 1 (CapMask: 0x5300)", below it
// "PortXmitData:....................250".
bool CounterText::take_perfquery(std::string_view text, const SourceLine& line) {
  if (text.starts_with("# Port ") && text.find("counters: ") != std::string_view::npos) {
    const std::vector<std::string> words = words_of(text);
    PortCounters port{.source = Source::kPerfquery, .device = command_device_};
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "Lid") port.lid = small_number(words[i + 1], 65535).value_or(0);
      if (words[i] == "port") port.port = small_number(words[i + 1], 255).value_or(0);
    }
    const bool is_extended = text.find("extended") != std::string_view::npos;
    resume(std::move(port), line, is_extended ? "unicast_xmit_packets" : "symbol_error");
    return true;
  }
  const std::size_t colon = text.find(":.");
  if (block_ != Source::kPerfquery || colon == std::string_view::npos) return false;
  const std::size_t value = text.find_first_not_of('.', colon + 1);
  if (value == std::string_view::npos) return false;
  const std::string_view name = sysfs_counter_name(text.substr(0, colon));
  if (name == text.substr(0, colon)) return true;  // PortSelect, CounterSelect, QP1Dropped
  const auto number = counter_number(text.substr(value));
  PortCounters* port = current();
  if (!number || port == nullptr) return true;
  // -x after the plain output: the wide counters take the place of the narrow ones.
  const auto narrow = port->counters.find(std::string(name));
  if (narrow != port->counters.end())
    narrow->second = {*number, line.number};
  else
    add(name, *number, line);
  return true;
}

// A path and a value, as `grep . /sys/class/infiniband/*/ports/*/counters/*` prints them.
bool CounterText::take_sysfs(std::string_view text, const SourceLine& line) {
  const std::size_t ports = text.find("/ports/");
  if (ports == std::string_view::npos || ports == 0) return false;
  const std::size_t before = text.find_last_of("/ \t:", ports - 1);
  const std::string_view device =
      text.substr(before == std::string_view::npos ? 0 : before + 1,
                  ports - (before == std::string_view::npos ? 0 : before + 1));
  std::string_view rest = text.substr(ports + 7);
  const std::size_t slash = rest.find('/');
  const auto port = small_number(rest.substr(0, slash), 255);
  if (!port || slash == std::string_view::npos || !is_name(device)) return false;
  rest.remove_prefix(slash + 1);
  const std::string_view folder = rest.substr(0, rest.find('/'));
  if (folder != "counters" && folder != "hw_counters") return false;
  rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
  const std::size_t end = rest.find_first_of(": =\t");
  if (end == std::string_view::npos) return false;
  const std::string_view name = rest.substr(0, end);
  const std::size_t from = rest.find_first_not_of(": =\t", end);
  const auto value = counter_number(from == std::string_view::npos ? "" : rest.substr(from));
  if (!value || name == "lifespan") return true;
  resume({.source = Source::kSysfs, .device = std::string(device), .port = *port}, line, name);
  add(name, *value, line);
  return true;
}

void CounterText::take_pairs(const std::vector<std::string>& words, std::size_t first,
                             const SourceLine& line) {
  for (std::size_t i = first; i + 1 < words.size(); i += 2)
    if (const auto value = counter_number(words[i + 1])) add(words[i], *value, line);
}

// "link mlx5_0/1 rx_write_requests 0 ...", on one line or several; counters of single queue pairs
// ("cntn 4 pid 2609") are left out.
bool CounterText::take_rdma(std::string_view text, const SourceLine& line) {
  if (text.size() > 65536) return false;
  const bool is_link = text.starts_with("link ");
  if (!is_link && (block_ != Source::kRdmaStatistic || current() == nullptr)) return false;
  const std::vector<std::string> words = words_of(text);
  if (!is_link) {
    const bool are_pairs = words.size() >= 2 && counter_number(words[1]);
    if (are_pairs) take_pairs(words, 0, line);
    return are_pairs;
  }
  current_.reset();
  if (words.size() < 2) return false;
  const std::size_t slash = words[1].find('/');
  if (slash == std::string::npos) return false;
  const auto port = small_number(std::string_view(words[1]).substr(slash + 1), 255);
  const bool is_statistic =
      words.size() == 2 || (words.size() >= 4 && counter_number(words[3]) && words[2] != "cntn");
  const std::string device = words[1].substr(0, slash);
  if (!port || !is_statistic || !is_name(device)) return false;
  open({.source = Source::kRdmaStatistic, .device = device, .port = *port}, line);
  take_pairs(words, 2, line);
  return true;
}

// "stats64": {"rx": {"bytes": 7, "errors": 0, ...}, "tx": {...}} of `ip -s -j link`.
void CounterText::take_json_link(const core::Json& entry, const SourceLine& line) {
  const auto name = entry.find("ifname");
  const auto counts = entry.find("stats64");
  if (name == entry.end() || !name->is_string() || !is_name(name->get<std::string>())) return;
  if (counts == entry.end() || !counts->is_object()) return;
  const auto address = entry.find("address");
  const bool is_of_card = address != entry.end() && address->is_string() &&
                          is_address_of_card(address->get<std::string>()).value_or(true);
  if (!is_of_card || is_software_name(name->get<std::string>()) || entry.contains("link") ||
      entry.contains("link_index"))
    return;
  open({.source = Source::kIpLink,
        .netdev = name->get<std::string>(),
        .card = address->get<std::string>().substr(0, kLongestName)},
       line);
  for (const auto& [side, values] : counts->items()) {
    if (!values.is_object()) continue;
    for (const auto& [key, value] : values.items())
      if (std::string counter = counter_of_json(side, key);
          value.is_number_unsigned() && !counter.empty())
        add(counter, value.get<std::uint64_t>(), line);
  }
}

void CounterText::take_json(const SourceLine& line) {
  const core::Json all = core::Json::parse(line.text.begin(), line.text.end(), nullptr, false);
  if (!all.is_array()) return;
  for (const core::Json& entry : all) {
    if (entry.is_object() && entry.contains("operstate")) take_json_link(entry, line);
    if (!entry.is_object() || entry.contains("cntn")) continue;
    const auto name = entry.find("ifname");
    const auto number = entry.find("port");
    if (name == entry.end() || !name->is_string() || number == entry.end() ||
        !number->is_number_unsigned() || *number > 255 || !is_name(name->get<std::string>()))
      continue;
    open({.source = Source::kRdmaStatistic,
          .device = name->get<std::string>(),
          .port = number->get<int>()},
         line);
    for (const auto& [key, value] : entry.items())
      if (value.is_number_unsigned() && key != "port" && key != "ifindex")
        add(key, value.get<std::uint64_t>(), line);
  }
  current_.reset();
}

// "NIC statistics:" and, below, "     rx_prio3_pause: 812".
bool CounterText::take_ethtool(std::string_view text, const SourceLine& line) {
  if (text == "NIC statistics:") {
    std::string netdev = command_netdev_.empty() ? name_in_heading(previous_) : command_netdev_;
    command_netdev_.clear();
    if (netdev.empty()) {
      ++unnamed_;
      if (++unnamed_here_ > 1) netdev = fmt::format("interface-{}", unnamed_here_);
    }
    open({.source = Source::kEthtool, .netdev = netdev}, line);
    return true;
  }
  const bool is_open = block_ == Source::kEthtool && current() != nullptr;
  if (!is_open && command_netdev_.empty()) return false;
  const std::size_t colon = text.rfind(": ");
  if (colon == std::string_view::npos) return false;
  const std::string_view name = trimmed(text.substr(0, colon));
  const auto value = counter_number(trimmed(text.substr(colon + 2)));
  if (!value || (!is_name(name) && !is_queue_counter(name))) return false;
  if (!is_open) {  // "ethtool -S eth1 | grep discard" shows no heading
    open({.source = Source::kEthtool, .netdev = command_netdev_}, line);
    command_netdev_.clear();
  }
  if (!is_queue_counter(name)) add(name, *value, line);
  return true;
}

// "2: ens1f0: <...>", "RX:  bytes packets", "1000 7"; other lines of the interface ("link/ether",
// "inet") stand between.
bool CounterText::take_ip_link(std::string_view text, const SourceLine& line) {
  if (std::string name = interface_of_heading(text); !name.empty() && is_name(name)) {
    open({.source = Source::kIpLink, .netdev = std::move(name)}, line);
    columns_.clear();
    if (is_software_heading(text)) current_.reset();  // its packets are counted below it, too
    return true;
  }
  if (block_ != Source::kIpLink || current() == nullptr) return false;
  const std::vector<std::string> words = words_of(text.substr(0, 1024));
  if (words.size() > 1 && words[0].starts_with("link/")) {
    current()->card = words[1].substr(0, kLongestName);
    if (!is_address_of_card(words[1]).value_or(true)) current_.reset();
    return true;
  }
  if (columns_.empty()) {
    columns_ = columns_of_statistics(text);
    return !columns_.empty() || line.text.starts_with("  ");
  }
  for (std::size_t i = 0; i < std::min(words.size(), columns_.size()); ++i)
    if (const auto value = counter_number(words[i]); value && !columns_[i].empty())
      add(columns_[i], *value, line);
  columns_.clear();
  return true;
}

void CounterText::take(const SourceLine& line) {
  const std::string_view text = trimmed(line.text);
  if (text.empty()) return;
  const bool has_columns = !columns_.empty();  // numbers, which might pass for a time
  if (text.starts_with("[{") && text.find("\"ifname\"") != std::string_view::npos)
    take_json({text, line.file, line.number});
  else if (!(has_columns && take_ip_link(text, line)) && !take_time(text) &&
           !take_perfquery(text, line) && !take_sysfs(text, line) && !take_rdma(text, line) &&
           !take_ethtool(text, line) && !take_ip_link(text, line) && !take_prompt(text))
    current_.reset();  // another output begins
  previous_ = std::string(text.substr(0, 300));
}

std::vector<NetSnapshot> CounterText::finish() {
  for (NetSnapshot& snapshot : snapshots_)
    std::erase_if(snapshot.ports, [](const PortCounters& port) { return port.counters.empty(); });
  std::erase_if(snapshots_, [](const NetSnapshot& snapshot) { return snapshot.ports.empty(); });
  for (NetSnapshot& snapshot : snapshots_)
    for (PortCounters& port : snapshot.ports) port.time = snapshot.time;
  current_.reset();
  return std::move(snapshots_);
}

}  // namespace comm_probe::topology
