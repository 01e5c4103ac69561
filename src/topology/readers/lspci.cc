#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "topology/readers/fact_reader.h"
#include "topology/readers/lspci_names.h"

namespace comm_probe::topology {
namespace {

using Kind = PciFunction::Kind;

// "Port #0, Speed 16GT/s, Width x16, ASPM L1", "Speed 2.5GT/s (downgraded), Width x16"
PciLink link_of(std::string_view text) {
  PciLink link;
  if (const std::size_t at = text.find("Speed "); at != std::string_view::npos) {
    const auto transfers = leading_number(text.substr(at + 6));
    if (transfers && *transfers > 0) link.speed = fmt::format("{:.1f} GT/s PCIe", *transfers);
  }
  if (const std::size_t at = text.find("Width x"); at != std::string_view::npos) {
    const auto width = leading_number(text.substr(at + 7));
    if (width && *width >= 1 && *width <= 32) link.width = static_cast<int>(*width);
  }
  return link;
}

// "SrcValid+ TransBlk- ReqRedir+ ..."; nothing where the three that matter do not all stand there.
std::optional<AccessControl> access_control_of(std::string_view text) {
  AccessControl control;
  const std::pair<std::string_view, bool*> kBits[] = {
      {"ReqRedir", &control.request_redirect},       {"CmpltRedir", &control.completion_redirect},
      {"UpstreamFwd", &control.upstream_forwarding}, {"SrcValid", &control.source_validation},
      {"TransBlk", &control.translation_blocking},   {"EgressCtrl", &control.egress_control},
      {"DirectTrans", &control.direct_translated}};
  int known = 0;
  for (const auto& [name, bit] : kBits) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos || at + name.size() >= text.size()) break;
    const char sign = text[at + name.size()];
    if (sign != '+' && sign != '-') break;
    *bit = sign == '+';
    ++known;
  }
  return known >= 3 ? std::optional(control) : std::nullopt;
}

// Devices that only a hypervisor makes.
bool is_of_hypervisor(std::string_view name) {
  for (const std::string_view word : {"Virtio", "QEMU", "VMware", "Hyper-V", "VirtualBox"})
    if (name.find(word) != std::string_view::npos) return true;
  return false;
}

// `lspci`, `lspci -vv`, and `lspci -vv | grep ACSCtl`.
class LspciReader : public FactReader {
 public:
  void take(const SourceLine& line) override;
  bool put(HostFacts& facts) override;

 private:
  bool take_header(const SourceLine& line);
  void take_detail(const SourceLine& line, std::string_view text);
  void take_buses(std::string_view text);
  void take_access_control(const SourceLine& line, std::string_view text);
  void find_bridges_above();

  // Where a bridge's bus leads: domain and bus -> bus id of the bridge.
  std::map<std::pair<std::string, int>, std::string> bridges_ = {};
  std::map<std::string, std::size_t> places_ = {};
  std::vector<PciFunction> functions_ = {};
  std::vector<Fact<AccessControl>> unnamed_ = {};
  MaybeFact<bool> virtual_machine_ = {};
  std::optional<std::size_t> open_ = {};  // index of the function whose block is read
};

// "0000:18:00.0 3D controller: NVIDIA Corporation GH100 [H100] (rev a1)", domain optional, class
// and vendor numbers in brackets with -nn.
bool LspciReader::take_header(const SourceLine& line) {
  const std::size_t blank = line.text.find(' ');
  if (blank == std::string_view::npos || blank < 7 || blank > 16) return false;
  const std::string bus_id = normal_bus_id(line.text.substr(0, blank));
  const std::size_t colon = line.text.find(": ", blank);
  if (bus_id.empty() || colon == std::string_view::npos) return false;
  open_.reset();
  if (functions_.size() >= kMostRecords) return true;
  const std::string_view type = trimmed(line.text.substr(blank, colon - blank));
  const std::string name(trimmed(line.text.substr(colon + 2)).substr(0, 200));
  const auto [known, is_new] = places_.emplace(bus_id, functions_.size());
  if (is_new) functions_.push_back({.bus_id = bus_id});
  open_ = known->second;
  PciFunction& function = functions_[*open_];
  function.kind = kind_of_lspci(type, name);
  function.name = name;
  function.from = line.evidence();
  if (!virtual_machine_ && is_of_hypervisor(name)) virtual_machine_ = {true, line.evidence()};
  if (bus_id.compare(bus_id.find(':') + 1, 2, "00") == 0) function.above = "";
  return true;
}

void LspciReader::take(const SourceLine& line) {
  if (!line.text.empty() && line.text[0] != ' ' && line.text[0] != '\t' && take_header(line))
    return;
  const std::string_view text = trimmed(line.text);
  // A prompt ends the block before it; what follows belongs to another command.
  if (text.starts_with("$ ") || text.starts_with("# ")) open_.reset();
  if (const std::size_t at = text.find("ACSCtl:"); at != std::string_view::npos)
    return take_access_control(line, text.substr(at + 7));
  if (open_) take_detail(line, text);
}

void LspciReader::take_detail(const SourceLine& line, std::string_view text) {
  PciFunction& function = functions_[*open_];
  if (const auto node = value_of(text, "NUMA node")) function.numa = small_number(*node, 4095);
  if (text.starts_with("Bus: primary=")) take_buses(text);
  if (text.starts_with("LnkCap:")) function.maximum = link_of(text.substr(7));
  if (text.starts_with("LnkSta:")) {
    function.current = link_of(text.substr(7));
    function.from = line.evidence();
  }
}

// "Bus: primary=00, secondary=01, subordinate=05, sec-latency=0"
void LspciReader::take_buses(std::string_view text) {
  const std::size_t at = text.find("secondary=");
  if (at == std::string_view::npos) return;
  int bus = 0;
  const std::string_view digits = text.substr(at + 10, 2);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bus, 16);
  if (error != std::errc() || end == digits.data() || bus == 0) return;
  PciFunction& function = functions_[*open_];
  bridges_[{function.bus_id.substr(0, function.bus_id.find(':')), bus}] = function.bus_id;
  function.kind = Kind::kBridge;
}

void LspciReader::take_access_control(const SourceLine& line, std::string_view text) {
  const auto control = access_control_of(text);
  if (!control) return;
  if (open_) {
    functions_[*open_].access_control = control;
    functions_[*open_].from = line.evidence();
  } else if (unnamed_.size() < kMostRecords) {
    unnamed_.push_back({*control, line.evidence()});
  }
}

// By the bridge that leads to a function's bus. The buses that no bridge leads to are those of the
// root complex, where any bridge is shown with its buses (-vv): then the list is whole.
void LspciReader::find_bridges_above() {
  for (PciFunction& function : functions_) {
    const std::size_t colon = function.bus_id.find(':');
    int bus = 0;
    std::from_chars(&function.bus_id[colon + 1], &function.bus_id[colon + 3], bus, 16);
    const auto bridge = bridges_.find({function.bus_id.substr(0, colon), bus});
    if (bridge != bridges_.end() && bridge->second != function.bus_id)
      function.above = bridge->second;
    else if (bridge == bridges_.end() && bridges_.size() > 1)
      function.above = "";
  }
}

bool LspciReader::put(HostFacts& facts) {
  find_bridges_above();
  facts.functions.insert(facts.functions.end(), functions_.begin(), functions_.end());
  facts.unnamed_access_controls.insert(facts.unnamed_access_controls.end(), unnamed_.begin(),
                                       unnamed_.end());
  facts.virtual_machine = virtual_machine_;
  return !functions_.empty() || !unnamed_.empty();
}

}  // namespace

std::unique_ptr<FactReader> lspci_reader() { return std::make_unique<LspciReader>(); }

}  // namespace comm_probe::topology
