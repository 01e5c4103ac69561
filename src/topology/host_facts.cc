#include "topology/host_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/number.h"

namespace comm_probe::topology {
namespace {

// The functions that a GPU or NIC is reached by, and these themselves.
std::set<std::string> ways_to_devices(const HostFacts& facts) {
  std::set<std::string> ways;
  for (const PciFunction& device : facts.functions) {
    const bool is_device =
        device.kind == PciFunction::Kind::kGpu || device.kind == PciFunction::Kind::kNic;
    for (const PciFunction* at = is_device ? &device : nullptr;
         at != nullptr && ways.insert(at->bus_id).second;)
      at = at->above ? facts.function(*at->above) : nullptr;
  }
  return ways;
}

}  // namespace

AccessControl AccessControl::of_register(unsigned bits) {
  const auto bit = [bits](int number) { return ((bits >> number) & 1U) != 0; };
  return {bit(0), bit(1), bit(2), bit(3), bit(4), bit(5), bit(6)};
}

std::string AccessControl::printed() const {
  const auto sign = [](bool is_set) { return is_set ? '+' : '-'; };
  return fmt::format(
      "SrcValid{} TransBlk{} ReqRedir{} CmpltRedir{} UpstreamFwd{} EgressCtrl{} DirectTrans{}",
      sign(source_validation), sign(translation_blocking), sign(request_redirect),
      sign(completion_redirect), sign(upstream_forwarding), sign(egress_control),
      sign(direct_translated));
}

const char* iommu_mode_name(IommuMode mode) {
  switch (mode) {
    case IommuMode::kOff:
      return "off";
    case IommuMode::kPassThrough:
      return "pass-through";
    case IommuMode::kTranslated:
      return "translated";
  }
  return "";
}

const PciFunction* HostFacts::function(const std::string& bus_id) const {
  const auto found = std::lower_bound(
      functions.begin(), functions.end(), bus_id,
      [](const PciFunction& known, const std::string& wanted) { return known.bus_id < wanted; });
  return found != functions.end() && found->bus_id == bus_id ? &*found : nullptr;
}

const GpuFacts* HostFacts::gpu(int index) const {
  for (const GpuFacts& known : gpus)
    if (known.index == index) return &known;
  return nullptr;
}

bool HostFacts::empty() const {
  return functions.empty() && gpus.empty() && nvlinks.empty() && peers.empty() &&
         rdma_ports.empty() && interfaces.empty() && links.empty() && lossless.empty() &&
         numa_nodes.empty() && unnamed_access_controls.empty() && !processor && !iommu &&
         !peermem && !open_driver && !locked_memory && !container && !virtual_machine && !gid_index;
}

const LinkFacts* HostFacts::link_of(const RdmaPortFacts& port) const {
  for (const LinkFacts& link : links) {
    if (!link.host.empty() || link.is_of_card == false) continue;
    const bool is_named = !port.interface.empty() && link.name == port.interface;
    const bool is_on_card = port.interface.empty() && !port.bus_id.empty() && port.port == 1 &&
                            link.bus_id == port.bus_id;
    if (is_named || is_on_card) return &link;
  }
  return nullptr;
}

Redirects redirects_of(const HostFacts& facts) {
  Redirects redirects;
  const std::set<std::string> ways = ways_to_devices(facts);
  for (const PciFunction& function : facts.functions) {
    if (!function.access_control || function.kind != PciFunction::Kind::kBridge) continue;
    ++redirects.read;
    const bool is_in_switch = function.above && *function.above != "";
    if (function.above && (!is_in_switch || !ways.contains(function.bus_id))) continue;
    ++redirects.asked;
    if (!function.access_control->redirects()) continue;
    core::Evidence evidence = function.from;
    evidence.text = function.bus_id + " ACSCtl: " + function.access_control->printed();
    (is_in_switch ? redirects.in_switches : redirects.unplaced).push_back(std::move(evidence));
  }
  for (const auto& unnamed : facts.unnamed_access_controls) {
    ++redirects.read;
    ++redirects.asked;
    if (unnamed.value.redirects()) redirects.unplaced.push_back(unnamed.from);
  }
  return redirects;
}

std::string normal_bus_id(std::string_view text) {
  std::array<unsigned, 4> parts = {};  // domain, bus, device, function
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::size_t second = text.rfind(':', dot);
  if (second == std::string_view::npos) return {};
  const std::size_t first = second == 0 ? std::string_view::npos : text.rfind(':', second - 1);
  const std::size_t bus = first == std::string_view::npos ? 0 : first + 1;
  const std::string_view texts[] = {
      bus == 0 ? std::string_view("0") : text.substr(0, first), text.substr(bus, second - bus),
      text.substr(second + 1, dot - second - 1), text.substr(dot + 1)};
  constexpr std::array<unsigned, 4> kMost = {0xffffffff, 0xff, 0x1f, 7};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = core::whole_number<unsigned>(texts[i], 16);
    if (!number || *number > kMost[i]) return {};
    parts[i] = *number;
  }
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", parts[0], parts[1], parts[2], parts[3]);
}

std::string RdmaPortFacts::name() const {
  return port == 1 ? device : device + ":" + std::to_string(port);
}

bool RdmaPortFacts::is_named(std::string_view text) const {
  if (!text.starts_with(device)) return false;
  text.remove_prefix(device.size());
  if (text.empty()) return true;
  std::array<char, 16> digits = {};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), port).ptr;
  return text.front() == ':' && text.substr(1) == std::string_view(digits.data(), end);
}

}  // namespace comm_probe::topology
