#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "topology/net_counters.h"
#include "topology/readers/counter_text.h"
#include "topology/readers/ip_link_text.h"
#include "topology/readers/matrix_words.h"

namespace comm_probe::topology {
namespace {

using core::Result;

constexpr std::uint64_t kLargest = std::uint64_t{64} << 20;
constexpr std::size_t kMostHosts = 4096;

// The lines of every host that a launcher like pdsh put its name before ("node07: ..."), and those
// of nobody.
class HostTexts {
 public:
  explicit HostTexts(std::string source) : source_(std::move(source)), own_(source_, "") {}

  void take(const SourceLine& line);
  CounterText& own() { return own_; }
  bool has_counters() const {
    return own_.has_counters() || std::any_of(hosts_.begin(), hosts_.end(), [](const auto& entry) {
             return entry.second.has_counters();
           });
  }
  NetReading finish();

 private:
  static bool opens_block(std::string_view text) {
    return text.starts_with("NIC statistics:") || text.starts_with("# Port ") ||
           text.starts_with("link ") || text.starts_with("[{\"ifindex\"") ||
           text.find("/ports/") != std::string_view::npos || !interface_of_heading(text).empty();
  }

  std::string source_;
  CounterText own_;
  std::map<std::string, CounterText, std::less<>> hosts_ = {};
};

// Of mail and of tickets: "> rx_discards_phy: 7".
std::string_view without_quote(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && (text[at] == '>' || (at > 0 && text[at] == ' '))) ++at;
  return text.substr(at);
}

void HostTexts::take(const SourceLine& quoted) {
  const SourceLine line{without_quote(quoted.text), quoted.file, quoted.number};
  const std::size_t colon = line.text.find(": ");
  const std::string_view host = line.text.substr(0, colon == std::string_view::npos ? 0 : colon);
  const bool may_be_host = !host.empty() && host.size() <= 64 && host[0] != ' ' &&
                           host[0] != '\t' && host[0] != '#' &&
                           host.find_first_of(" \t/\"") == std::string_view::npos;
  if (!may_be_host) return own_.take(line);
  const std::string_view rest = line.text.substr(colon + 2);
  auto known = hosts_.find(host);
  if (known == hosts_.end() && opens_block(trimmed(rest)) && hosts_.size() < kMostHosts)
    known = hosts_.try_emplace(std::string(host), source_, std::string(host)).first;
  if (known == hosts_.end()) return own_.take(line);
  known->second.take({rest, line.file, line.number});
}

NetReading HostTexts::finish() {
  NetReading reading;
  int unnamed = own_.unnamed();
  bool is_full = own_.is_full();
  reading.snapshots = own_.finish();
  for (auto& [host, text] : hosts_) {
    unnamed += text.unnamed();
    is_full = is_full || text.is_full();
    for (NetSnapshot& snapshot : text.finish()) reading.snapshots.push_back(std::move(snapshot));
  }
  if (unnamed > 1)
    reading.caveats.push_back(core::make_caveat(
        "topo.counters-unnamed",
        fmt::format("the interfaces of {} outputs of `ethtool -S` in {}", unnamed, source_),
        "they are told apart by their order only; keep the command above each output", false));
  if (is_full)
    reading.caveats.push_back(core::make_caveat(
        "topo.counters-cut", fmt::format("what {} holds beyond a million counters", source_),
        "ports after that place are not judged"));
  return reading;
}

core::Error no_counters(const std::string& found) {
  return core::input_error(fmt::format(
      "{}, expected counters: perfquery, ethtool -S, rdma statistic, ip -s link, or lines of "
      "/sys/class/infiniband/*/ports/*/{{counters,hw_counters}}/*",
      found));
}

// The counter whose number ends where the text ends, in the last line: of several in it the one
// whose name stands before the number.
auto counter_at_end(PortCounters& port, std::uint64_t last, std::string_view before_number) {
  std::size_t in_line = 0;
  auto found = port.counters.end();
  for (auto each = port.counters.begin(); each != port.counters.end(); ++each) {
    if (each->second.line != last) continue;
    if (++in_line == 1 || before_number.ends_with(each->first)) found = each;
  }
  const bool is_named = found != port.counters.end() && before_number.ends_with(found->first);
  return in_line == 1 || is_named ? found : port.counters.end();
}

// A number that ends where the text ends, without an end of its line, may be the beginning of a
// longer one.
void leave_out_cut_number(std::string_view text, NetReading& reading) {
  const auto last = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  const std::size_t end = text.find_last_not_of("0123456789");
  if (text.empty() || end == std::string_view::npos || end + 1 == text.size()) return;
  std::string_view before = text.substr(text.rfind('\n') + 1);
  before = before.substr(0, before.find_last_not_of("0123456789 \t:=.", before.size()) + 1);
  for (NetSnapshot& snapshot : reading.snapshots)
    for (PortCounters& port : snapshot.ports) {
      const auto found = counter_at_end(port, last, before);
      if (found == port.counters.end()) continue;
      reading.caveats.push_back(core::make_caveat(
          "topo.counters-cut-end",
          fmt::format("the end of line {} of {} ({} of {})", last, port.from.source, found->first,
                      port.name()),
          "the text ends within it, so that its number may be longer: it is not judged; give the "
          "whole output"));
      port.counters.erase(found);
    }
}

Result<NetReading> read_text(const std::string& name, const std::string& text,
                             const std::string& command) {
  HostTexts texts(name);
  if (!command.empty()) texts.own().take({"$ " + command, name, 0});
  const bool is_json = core::classify_content(text) == core::ContentClass::kJson;
  if (is_json) texts.own().take_json({text, name, 1});
  if (!texts.has_counters()) {
    core::Input input = core::Input::from_memory(name, text);
    core::LineReader lines(input);
    core::Line line;
    while (lines.next(line)) texts.take({without_colour(line.text), name, line.number});
    if (lines.error()) return *lines.error();
  }
  NetReading reading = texts.finish();
  if (command.empty() && !is_json) leave_out_cut_number(text, reading);
  if (!reading.snapshots.empty()) return reading;
  core::Error error = no_counters("no counter");
  error.where.file = name;
  return error;
}

}  // namespace

bool looks_like_net_counters(std::string_view head) {
  const auto kind = core::classify_content(head);
  if (kind != core::ContentClass::kText && kind != core::ContentClass::kJson) return false;
  if (kind == core::ContentClass::kJson)
    return head.find("\"ifname\"") != std::string_view::npos &&
           (head.find("_requests\"") != std::string_view::npos ||
            head.find("\"stats64\"") != std::string_view::npos);
  HostTexts texts("head");
  std::uint64_t number = 0;
  while (!head.empty() && !texts.has_counters()) {
    const std::string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(head.size(), line.size() + 1));
    texts.take({without_colour(line), "head", ++number});
  }
  return texts.has_counters();
}

Result<NetReading> read_net_counters(core::Input& input, const std::string& command) {
  if (const auto error = input.unreadable()) return *error;
  const auto kind = core::classify_content(input.head());
  if (kind != core::ContentClass::kText && kind != core::ContentClass::kJson) {
    core::Error error = no_counters("found " + core::describe_content(input.head()));
    error.where.file = input.name();
    return error;
  }
  const auto text = input.read_all(kLargest);
  if (!text) return text.error();
  return read_text(input.name(), *text, command);
}

}  // namespace comm_probe::topology
