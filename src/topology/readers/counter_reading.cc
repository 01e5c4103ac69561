#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "topology/net_counters.h"
#include "topology/readers/counter_text.h"
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
           text.find("/ports/") != std::string_view::npos;
  }

  std::string source_;
  CounterText own_;
  std::map<std::string, CounterText, std::less<>> hosts_ = {};
};

void HostTexts::take(const SourceLine& line) {
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
  return core::input_error(
      fmt::format("{}, expected counters: perfquery, ethtool -S, rdma statistic, or lines of "
                  "/sys/class/infiniband/*/ports/*/{{counters,hw_counters}}/*",
                  found));
}

Result<NetReading> read_text(const std::string& name, const std::string& text,
                             const std::string& command) {
  HostTexts texts(name);
  if (!command.empty()) texts.own().take({"$ " + command, name, 0});
  if (core::classify_content(text) == core::ContentClass::kJson)
    texts.own().take_json({text, name, 1});
  if (!texts.has_counters()) {
    core::Input input = core::Input::from_memory(name, text);
    core::LineReader lines(input);
    core::Line line;
    while (lines.next(line)) texts.take({without_colour(line.text), name, line.number});
    if (lines.error()) return *lines.error();
  }
  NetReading reading = texts.finish();
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
           head.find("_requests\"") != std::string_view::npos;
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
