#include <fmt/format.h>

#include <charconv>
#include <map>

#include "topology/readers/fact_reader.h"
#include "topology/readers/lspci_names.h"

namespace comm_probe::topology {
namespace {

struct Bus {
  std::string domain = {};
  int number = 0;
  // That leads here; empty for a root bus, nothing where a piece of a tree does not show it.
  std::optional<std::string> bridge = {};
};

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// `lspci -t` and `-tv`. A bus in brackets follows the bridge that leads to it, or stands alone (a
// root bus); its functions hang in one column below the sign after it.
//
//   -+-[0000:00]-+-01.1-[01]----00.0  NVIDIA ...      0000:01:00.0 below 0000:00:01.1
//    |           \-03.1-[02-05]--+-00.0  ...
class LspciTreeReader : public FactReader {
 public:
  void take(const SourceLine& line) override;
  bool put(HostFacts& facts) override;

 private:
  std::optional<Bus> read_bus(std::string_view text, std::size_t& at, const Bus* on,
                              const std::optional<std::string>& bridge) const;
  std::string add_function(const SourceLine& line, std::size_t& at, const Bus& on);

  std::map<std::size_t, Bus> columns_ = {};  // whose functions hang there
  std::vector<PciFunction> functions_ = {};
};

// "[0000:20]" and "[02-05]"; `at` moves behind it.
std::optional<Bus> LspciTreeReader::read_bus(std::string_view text, std::size_t& at, const Bus* on,
                                             const std::optional<std::string>& bridge) const {
  const std::size_t end = text.find(']', at);
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view inside = text.substr(at + 1, end - at - 1);
  Bus bus{.domain = on == nullptr ? "" : on->domain, .bridge = bridge};
  if (const std::size_t colon = inside.find(':'); colon != std::string_view::npos) {
    bus.domain = inside.substr(0, colon);
    inside.remove_prefix(colon + 1);
  }
  if (bus.domain.empty()) bus.domain = "0000";
  const auto [stop, error] =
      std::from_chars(inside.data(), inside.data() + inside.size(), bus.number, 16);
  if (error != std::errc() || bus.number < 0 || bus.number > 255) return std::nullopt;
  at = end + 1;
  return bus;
}

// "01.1" at `at`, with the name behind it where there is one; `at` moves behind the number.
std::string LspciTreeReader::add_function(const SourceLine& line, std::size_t& at, const Bus& on) {
  const std::string number(line.text.substr(at, 4));
  at += 4;
  const std::string bus_id =
      normal_bus_id(fmt::format("{}:{:02x}:{}", on.domain, on.number, number));
  if (bus_id.empty() || functions_.size() >= kMostRecords) return bus_id;
  PciFunction function{.bus_id = bus_id, .above = on.bridge};
  function.from = line.evidence();
  if (line.text.substr(at).starts_with("  ")) {
    function.name = trimmed(line.text.substr(at)).substr(0, 200);
    function.kind = kind_of_lspci("", function.name);
    at = line.text.size();
  }
  functions_.push_back(std::move(function));
  return bus_id;
}

void LspciTreeReader::take(const SourceLine& line) {
  const std::string_view text = line.text;
  std::size_t at = text.find_first_not_of(" \t|");
  if (at == std::string_view::npos) return;
  const bool is_first = text.starts_with("-+-[") || text.starts_with("-[");
  if (is_first) columns_.clear();
  if (!is_first && (text[at] != '+' && text[at] != '\\')) return;
  const Bus* on = nullptr;
  if (const auto known = columns_.find(at); known != columns_.end()) on = &known->second;
  columns_.erase(columns_.upper_bound(at), columns_.end());
  const bool is_piece = !is_first && on == nullptr && at != 1;  // its beginning is not shown
  Bus current = on == nullptr ? Bus{} : *on;
  bool has_bus = on != nullptr;
  std::optional<std::string> bridge;
  if (!is_piece) bridge = "";
  while (at < text.size()) {
    const char c = text[at];
    if (c == '[') {
      const auto bus = read_bus(text, at, has_bus ? &current : nullptr, bridge);
      if (!bus) return;
      if (bridge && !bridge->empty() && !functions_.empty())
        functions_.back().kind = PciFunction::Kind::kBridge;
      current = *bus;
      has_bus = true;
      bridge = "";
    } else if (c == '+' || c == '\\') {
      if (has_bus) columns_[at] = current;
      ++at;
    } else if (is_hex(c) && has_bus && at + 4 <= text.size() && text[at + 2] == '.') {
      bridge = add_function(line, at, current);
    } else if (is_hex(c) && is_piece && at + 4 <= text.size() && text[at + 2] == '.') {
      at += 4;  // on a bus that is not shown
    } else if (c == '-') {
      ++at;
    } else {
      return;
    }
  }
}

bool LspciTreeReader::put(HostFacts& facts) {
  facts.functions.insert(facts.functions.end(), functions_.begin(), functions_.end());
  return !functions_.empty();
}

}  // namespace

std::unique_ptr<FactReader> lspci_tree_reader() { return std::make_unique<LspciTreeReader>(); }

}  // namespace comm_probe::topology
