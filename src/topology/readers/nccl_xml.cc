#include "topology/readers/nccl_xml.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "core/finding_table.h"
#include "topology/machine_builder.h"
#include "topology/readers/xml_element.h"

namespace comm_probe::topology {
namespace {

using core::Error;
using core::Result;
using pugi::xml_node;

// NCCL 2.27 and later: NCCL_TOPO_MAX_NODES.
constexpr int kMostOfOneType = 576;
constexpr int kDeepest = 64;
constexpr std::uint64_t kLocalIdMask = (std::uint64_t{1} << 56) - 1;

// A link that names its other end; made when all devices are known.
struct NamedLink {
  xml_node element;
  int owner;
};

enum class Function { kSwitch, kGpu, kNic, kNoNode };

// NCCL 2.28.9 topo.cc, kvDictPciClass: prefixes in order; anything else is a switch.
Function function_of_class(const std::string& pci_class) {
  struct Row {
    std::string_view prefix;
    Function function;
  };
  constexpr Row kRows[] = {
      {"0x060400", Function::kSwitch}, {"0x080100", Function::kSwitch},
      {"0x068000", Function::kNoNode}, {"0x068001", Function::kNoNode},
      {"0x03", Function::kGpu},        {"0x02", Function::kNic},
  };
  for (const Row& row : kRows)
    if (pci_class.starts_with(row.prefix)) return row.function;
  return Function::kSwitch;
}

std::uint64_t bus_number(const std::string& bus_id) {
  std::uint64_t value = 0;
  int digits = 0;
  for (const char c : bus_id) {
    if (c == ':' || c == '.') continue;
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0 || ++digits > 16) break;
    value = value * 16 + static_cast<std::uint64_t>(digit);
  }
  return value;
}

class NcclXmlReader {
 public:
  NcclXmlReader(XmlText& xml, NcclVersion version) : xml_(xml), builder_(version) {}

  void read_system(const xml_node& system);
  Machine finish() { return builder_.finish(); }
  const std::map<std::string, int>& skipped() const { return skipped_; }

 private:
  void read_cpu(const xml_node& cpu);
  Cpu cpu_facts(const xml_node& cpu);
  void read_children(const xml_node& parent, int above, int depth);
  void read_pci(const xml_node& pci, int above, int depth);
  void read_gpu_links(const xml_node& gpu, int owner);
  void read_bare_nic(const xml_node& nic, int cpu);
  void read_nets(const xml_node& nic, int owner);
  Gpu gpu_facts(const xml_node& gpu);
  Net net_facts(const xml_node& net);
  int host_of(const xml_node& cpu);
  int add(const xml_node& element, Node node);
  void skip(const xml_node& element) { ++skipped_[element.name()]; }
  void connect_nvlink(const NamedLink& link);
  void connect_c2c(const NamedLink& link);
  void connect_switches(const NamedLink& link);
  std::optional<int> find(NodeType type, int host, const std::string& bus_id) const;

  XmlText& xml_;
  MachineBuilder builder_;
  int host_ = 0;
  int numa_ = 0;
  std::vector<std::uint64_t> host_hashes_ = {};
  std::map<std::pair<int, std::uint64_t>, int> by_bus_id_ = {};
  std::set<std::pair<int, int>> numa_ids_ = {};
  std::map<int, int> bare_nics_ = {};  // host -> node
  std::vector<NamedLink> nvlinks_ = {};
  std::vector<NamedLink> c2c_ = {};
  std::vector<NamedLink> switch_links_ = {};
  std::map<std::string, int> skipped_ = {};
};

int NcclXmlReader::add(const xml_node& element, Node node) {
  if (builder_.machine().count(node.type()) >= kMostOfOneType) {
    xml_.fail(element, fmt::format("more than {} nodes of type {}, which NCCL refuses too",
                                   kMostOfOneType, node_type_name(node.type())));
    return 0;
  }
  return builder_.add(std::move(node));
}

int NcclXmlReader::host_of(const xml_node& cpu) {
  const std::uint64_t hash = xml_.hex(cpu, "host_hash");
  for (std::size_t i = 0; i < host_hashes_.size(); ++i)
    if (host_hashes_[i] == hash) return static_cast<int>(i);
  host_hashes_.push_back(hash);
  return static_cast<int>(host_hashes_.size()) - 1;
}

Cpu NcclXmlReader::cpu_facts(const xml_node& cpu) {
  struct Arch {
    std::string_view prefix;
    Cpu::Arch arch;
  };
  constexpr Arch kArchs[] = {
      {"x86_64", Cpu::Arch::kX86}, {"arm64", Cpu::Arch::kArm}, {"ppc64", Cpu::Arch::kPower}};
  struct Vendor {
    std::string_view prefix;
    Cpu::Vendor vendor;
  };
  constexpr Vendor kVendors[] = {{"GenuineIntel", Cpu::Vendor::kIntel},
                                 {"AuthenticAMD", Cpu::Vendor::kAmd},
                                 {"CentaurHauls", Cpu::Vendor::kZhaoxin},
                                 {"  Shanghai  ", Cpu::Vendor::kZhaoxin}};
  Cpu facts{.numa = xml_.required(cpu, "numaid", -1, 1 << 20)};
  for (const Arch& row : kArchs)
    if (xml_.text(cpu, "arch").starts_with(row.prefix)) facts.arch = row.arch;
  if (facts.arch == Cpu::Arch::kX86)
    for (const Vendor& row : kVendors)
      if (xml_.text(cpu, "vendor").starts_with(row.prefix)) facts.vendor = row.vendor;
  facts.family_id = static_cast<int>(xml_.integer_or(cpu, "familyid", 0));
  facts.model_id = static_cast<int>(xml_.integer_or(cpu, "modelid", 0));
  facts.affinity = xml_.text(cpu, "affinity");
  return facts;
}

void NcclXmlReader::read_system(const xml_node& system) {
  for (const xml_node& child : system.children()) {
    const std::string_view name = child.name();
    if (name == "cpu")
      read_cpu(child);
    else if (name == "pci" || name == "gpu" || name == "nic" || name == "net")
      xml_.fail(child, fmt::format("{} {} stands under no cpu", name, xml_.text(child, "busid")),
                "put it into the <cpu> of its NUMA node");
    else
      skip(child);
    if (xml_.failed()) return;
  }
  for (const NamedLink& link : nvlinks_) connect_nvlink(link);
  for (const NamedLink& link : c2c_) connect_c2c(link);
  for (const NamedLink& link : switch_links_) connect_switches(link);
}

void NcclXmlReader::read_cpu(const xml_node& cpu) {
  host_ = host_of(cpu);
  const Cpu facts = cpu_facts(cpu);
  numa_ = facts.numa;
  if (!numa_ids_.emplace(host_, numa_).second)
    xml_.fail(cpu, fmt::format("two cpu elements have numaid {}", numa_));
  const int node = add(
      cpu,
      {.kind = facts, .host = host_, .local = static_cast<std::uint64_t>(numa_) & kLocalIdMask});
  if (xml_.failed()) return;
  for (const xml_node& child : cpu.children()) {
    const std::string_view name = child.name();
    if (name == "pci")
      read_pci(child, node, 1);
    else if (name == "nic")
      read_bare_nic(child, node);
    else
      skip(child);
    if (xml_.failed()) return;
  }
}

void NcclXmlReader::read_children(const xml_node& parent, int above, int depth) {
  for (const xml_node& child : parent.children()) {
    const std::string_view name = child.name();
    if (name == "pci")
      read_pci(child, above, depth + 1);
    else if (name == "pcilink")
      switch_links_.push_back({child, above});
    else
      skip(child);
    if (xml_.failed()) return;
  }
}

void NcclXmlReader::read_pci(const xml_node& pci, int above, int depth) {
  const std::string bus_id = xml_.text(pci, "busid");
  if (bus_id.empty() || bus_id.size() > 32)
    return xml_.fail(pci, "pci has no busid, expected one like \"0000:18:00.0\"");
  if (depth > kDeepest)
    return xml_.fail(pci, fmt::format("pci {} stands deeper than {} levels", bus_id, kDeepest));
  const xml_node gpu = pci.child("gpu");
  const xml_node nic = pci.child("nic");
  const Function function = nic   ? Function::kNic
                            : gpu ? Function::kGpu
                                  : function_of_class(xml_.text(pci, "class"));
  if (function == Function::kNoNode) return skip(pci);
  const auto width = xml_.integer_or(pci, "link_width", 0);
  if (width < 0 || width > 32)
    xml_.fail(pci, fmt::format("pci {} has link_width {}, expected 0 to 32", bus_id, width));
  Node node{.host = host_,
            .local = bus_number(bus_id) & kLocalIdMask,
            .bus_id = bus_id,
            .slot = {.speed = xml_.text(pci, "link_speed"), .width = static_cast<int>(width)},
            .line = xml_.line_of(pci.offset_debug())};
  if (function == Function::kNic) node.kind = Nic{};
  if (function == Function::kGpu) node.kind = gpu ? gpu_facts(gpu) : Gpu{};
  if (function == Function::kSwitch)
    node.kind =
        PciSwitch{(xml_.hex(pci, "vendor") << 48) + (xml_.hex(pci, "device") << 32) +
                  (xml_.hex(pci, "subsystem_vendor") << 16) + xml_.hex(pci, "subsystem_device")};
  // A function without gpu or nic element is no node for NCCL: a second one disturbs nobody.
  if (!gpu && !nic && function != Function::kSwitch &&
      by_bus_id_.contains({host_, bus_number(bus_id)})) {
    ++skipped_["pci with a bus id that stood before"];
    return;
  }
  const int index = add(pci, std::move(node));
  const auto [known, is_new] = by_bus_id_.emplace(std::pair{host_, bus_number(bus_id)}, index);
  if (!is_new) xml_.fail(pci, fmt::format("two devices have the bus id {}", bus_id));
  if (xml_.failed()) return;
  if (function == Function::kSwitch) read_children(pci, index, depth);
  if (function == Function::kGpu && gpu) read_gpu_links(gpu, index);
  if (function == Function::kNic && nic) read_nets(nic, index);
  if (!xml_.failed()) builder_.join_pci(index, above);
}

Gpu NcclXmlReader::gpu_facts(const xml_node& gpu) {
  Gpu facts;
  const bool has_rank = xml_.integer(gpu, "rank").has_value();
  if (has_rank) facts.rank = xml_.required(gpu, "rank", 0, 1 << 24);
  if (xml_.integer(gpu, "dev")) facts.dev = xml_.required(gpu, "dev", 0, 1 << 16);
  if (has_rank && !facts.dev) xml_.fail(gpu, "gpu has no dev");
  if (has_rank || xml_.integer(gpu, "sm")) facts.sm = xml_.required(gpu, "sm", 0, 100000);
  facts.gdr = xml_.integer_or(gpu, "gdr", 0) != 0;
  return facts;
}

void NcclXmlReader::read_gpu_links(const xml_node& gpu, int owner) {
  for (const xml_node& child : gpu.children()) {
    const std::string_view name = child.name();
    if (name == "nvlink")
      nvlinks_.push_back({child, owner});
    else if (name == "c2c")
      c2c_.push_back({child, owner});
    else
      skip(child);
  }
}

void NcclXmlReader::read_bare_nic(const xml_node& nic, int cpu) {
  const auto known = bare_nics_.find(host_);
  if (known != bare_nics_.end()) return read_nets(nic, known->second);
  const int node = add(nic, {.kind = Nic{}, .host = host_});
  if (xml_.failed()) return;
  bare_nics_[host_] = node;
  builder_.join(cpu, node, {.type = LinkType::kPci, .nccl = kLocalRate});
  read_nets(nic, node);
}

Net NcclXmlReader::net_facts(const xml_node& net) {
  constexpr double kNoSpeed = 10000;  // NCCL's default, Mb/s
  constexpr double kTooFast = 1e9;
  Net facts{.name = xml_.text(net, "name").substr(0, 255)};
  const auto dev = xml_.integer(net, "dev");
  if (dev && *dev >= 0) facts.dev = xml_.required(net, "dev", 0, 1 << 16);
  auto speed = static_cast<double>(xml_.integer_or(net, "speed", 0));
  if (speed <= 0) speed = kNoSpeed;
  if (speed > kTooFast)
    xml_.fail(net, fmt::format("net has speed {}, expected Mb/s up to {}", speed, kTooFast));
  facts.speed = core::Bandwidth::from_Gbps(std::min(speed, kTooFast) / 1000);
  facts.port = static_cast<int>(xml_.integer_or(net, "port", 0));
  const double latency = xml_.decimal_or(net, "latency", 0);
  facts.latency = core::Duration::from_us(std::max(0.0, latency));
  facts.gdr = xml_.integer_or(net, "gdr", 0) != 0;
  facts.coll = xml_.integer_or(net, "coll", 0) != 0;
  if (facts.name.empty()) facts.name = dev ? fmt::format("net{}", *dev) : "net";
  return facts;
}

void NcclXmlReader::read_nets(const xml_node& nic, int owner) {
  for (const xml_node& child : nic.children()) {
    if (std::string_view(child.name()) != "net") {
      skip(child);
      continue;
    }
    Net facts = net_facts(child);
    const auto dev = static_cast<std::uint64_t>(facts.dev.value_or(0));
    facts.asic = xml_.hex(child, "guid");
    if (facts.asic == 0) facts.asic = (static_cast<std::uint64_t>(host_) << 56) + dev;
    const int net = add(child, {.kind = std::move(facts), .host = host_, .local = dev});
    if (xml_.failed()) return;
    builder_.join_net(owner, net);
  }
}

std::optional<int> NcclXmlReader::find(NodeType type, int host, const std::string& bus_id) const {
  const auto found = by_bus_id_.find({host, bus_number(bus_id)});
  if (found == by_bus_id_.end()) return std::nullopt;
  const auto& machine = const_cast<NcclXmlReader*>(this)->builder_.machine();
  if (machine.node(found->second).type() != type) return std::nullopt;
  return found->second;
}

void NcclXmlReader::connect_nvlink(const NamedLink& link) {
  const int count = xml_.required(link.element, "count", 1, 1024);
  const std::string target = xml_.text(link.element, "target");
  const std::string target_class = xml_.text(link.element, "tclass");
  if (xml_.failed()) return;
  const Node& owner = builder_.machine().node(link.owner);
  std::optional<int> other;
  if (target_class.starts_with("0x03"))
    other = find(NodeType::kGpu, owner.host, target);
  else if (target_class.starts_with("0x068001"))
    other = builder_.cpu_above(link.owner);
  else
    other = builder_.nvswitch();
  if (other == link.owner) {  // a cloud's own file has it; no path can use it
    ++skipped_["nvlink to the gpu itself (no path can use it)"];
    return;
  }
  if (!other) return skip(link.element);
  builder_.join_nvlinks(link.owner, *other, count);
}

void NcclXmlReader::connect_c2c(const NamedLink& link) {
  const int count = xml_.required(link.element, "count", 1, 1024);
  const int each = xml_.required(link.element, "bw", 1, 10000000);
  const auto cpu = builder_.cpu_above(link.owner);
  if (xml_.failed() || !cpu) return;
  builder_.join_c2c(link.owner, *cpu, count, core::Bandwidth::from_GBps(each / 1000.0));
}

void NcclXmlReader::connect_switches(const NamedLink& link) {
  const std::string target = xml_.text(link.element, "target");
  const Node& owner = builder_.machine().node(link.owner);
  const auto other = find(NodeType::kPci, owner.host, target);
  if (other == link.owner)
    return xml_.fail(link.element, fmt::format("switch {} is linked to itself", owner.bus_id));
  if (!other) return skip(link.element);
  builder_.connect(link.owner, {.type = LinkType::kLoc, .remote = *other, .nccl = kLocalRate});
}

std::vector<core::Caveat> caveats_of(const std::map<std::string, int>& skipped) {
  if (skipped.empty()) return {};
  std::string what;
  for (const auto& [name, count] : skipped)
    what += fmt::format("{}{} {}", what.empty() ? "" : ", ", count, name);
  return {core::make_caveat("topo.elements-skipped", "elements that NCCL skips too: " + what,
                            "nothing is known of what they describe", false)};
}

Error parse_error(const std::string& file, const XmlText& xml,
                  const pugi::xml_parse_result& parsed) {
  std::string why = parsed.description();
  if (!why.empty()) why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
  Error error = core::input_error("not well-formed XML: " + why);
  error.where = {.file = file,
                 .line = xml.line_of(parsed.offset),
                 .offset = static_cast<std::uint64_t>(parsed.offset)};
  return error;
}

}  // namespace

bool looks_like_xml(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && head[first] == '<';
}

Result<MachineReading> read_nccl_xml(core::Input& input, NcclVersion version) {
  constexpr std::uint64_t kLargest = std::uint64_t{64} << 20;
  if (!looks_like_xml(input.head())) {
    Error error =
        core::input_error(fmt::format("found {}, expected an NCCL topology XML",
                                      core::describe_content(input.head())),
                          "NCCL_TOPO_DUMP_FILE=topo.xml makes any NCCL program write one");
    error.where.file = input.name();
    return error;
  }
  const auto text = input.read_all(kLargest);
  if (!text) return text.error();
  return read_nccl_xml(input.name(), *text, version);
}

Result<MachineReading> read_nccl_xml(const std::string& file, const std::string& text,
                                     NcclVersion version) {
  XmlText xml(file, text);
  pugi::xml_document document;
  const auto parsed = document.load_buffer(text.data(), text.size(), pugi::parse_default);
  if (!parsed) return parse_error(file, xml, parsed);
  const xml_node system = document.child("system");
  if (!system) {
    xml.fail(document.first_child(), "expected a <system> element as in NCCL's topology files");
    return xml.error();
  }
  if (const auto found = xml.integer(system, "version"); found != 1)
    xml.fail(
        system,
        fmt::format("system has version {}, expected 1",
                    found ? fmt::to_string(*found) : "\"" + xml.text(system, "version") + "\""),
        found == 2 ? "version 2 is the schema of RCCL (AMD GPUs)" : "");
  if (xml.failed()) return xml.error();
  NcclXmlReader reader(xml, version);
  reader.read_system(system);
  if (xml.failed()) return xml.error();
  MachineReading reading{.machine = reader.finish(), .caveats = caveats_of(reader.skipped())};
  reading.machine.name = xml.text(system, "name");
  return reading;
}

}  // namespace comm_probe::topology
