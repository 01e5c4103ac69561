#include <algorithm>
#include <cctype>
#include <set>

#include "core/spelling.h"
#include "topology/readers/fact_reader.h"
#include "topology/readers/matrix_words.h"

namespace comm_probe::topology {
namespace {

// "Active", "PORT_ACTIVE (4)", "4: ACTIVE" -> "ACTIVE"; states as the kernel names them.
std::string state_of(std::string_view text) {
  const std::size_t colon = text.find(": ");
  if (colon != std::string_view::npos) text.remove_prefix(colon + 2);
  text = text.substr(0, text.find(" ("));
  if (text.starts_with("PORT_")) text.remove_prefix(5);
  const std::string state = core::upper(trimmed(text));
  return state.starts_with("INIT") ? "INIT" : state;
}

// "LINK_UP", "5: LinkUp" -> "LinkUp"
std::string physical_of(std::string_view text) {
  const std::size_t colon = text.find(": ");
  if (colon != std::string_view::npos) text.remove_prefix(colon + 2);
  if (text == "LINK_UP") return "LinkUp";
  return std::string(trimmed(text));
}

std::string hex_digits(std::string_view text) {
  std::string digits;
  if (text.starts_with("0x")) text.remove_prefix(2);
  for (const char c : text)
    if (std::isxdigit(static_cast<unsigned char>(c))) digits += c;
  return digits.substr(0, 16);
}

std::optional<core::Bandwidth> rate_of(std::string_view text) {
  const auto rate = leading_number(text);
  if (!rate || *rate == 0) return std::nullopt;
  return core::Bandwidth::from_Gbps(*rate);
}

// What the readers of this file share: ports in the order of their coming.
class PortReader : public FactReader {
 public:
  bool put(HostFacts& facts) override {
    facts.rdma_ports.insert(facts.rdma_ports.end(), ports_.begin(), ports_.end());
    return !ports_.empty();
  }

 protected:
  RdmaPortFacts* open(const std::string& device, int port, const SourceLine& line) {
    if (ports_.size() >= kMostRecords || device.empty() || device.size() > 64) return nullptr;
    ports_.push_back({.device = device, .port = port, .from = line.evidence()});
    return &ports_.back();
  }
  std::vector<RdmaPortFacts> ports_ = {};
};

// "CA 'mlx5_0'" and, below, "Port 1:" with "State: Active", "Rate: 400", "Link layer: InfiniBand".
class IbstatReader : public PortReader {
 public:
  void take(const SourceLine& line) override;

 private:
  std::string device_ = {};
  std::string guid_ = {};
  std::string model_ = {};
  bool is_port_ = false;
};

void IbstatReader::take(const SourceLine& line) {
  const std::string_view text = trimmed(line.text);
  if (text.starts_with("CA '") && text.ends_with("'")) {
    device_ = text.substr(4, text.size() - 5);
    guid_.clear();
    model_.clear();
    is_port_ = false;
    return;
  }
  if (device_.empty()) return;
  if (const auto guid = value_of(text, "System image GUID")) guid_ = hex_digits(*guid);
  if (const auto model = value_of(text, "CA type")) model_ = model->substr(0, 64);
  if (text.starts_with("Port ") && text.ends_with(":")) {
    const auto port = small_number(text.substr(5, text.size() - 6), 255);
    is_port_ = port && open(device_, *port, line) != nullptr;
    return;
  }
  if (!is_port_) return;
  RdmaPortFacts& port = ports_.back();
  port.guid = guid_;
  port.model = model_;
  if (const auto state = value_of(text, "State")) {
    port.state = state_of(*state);
    port.from = line.evidence();
  }
  if (const auto state = value_of(text, "Physical state")) port.physical_state = *state;
  if (const auto rate = value_of(text, "Rate")) {
    port.rate = rate_of(*rate);
    if (port.is_active()) port.from = line.evidence();  // what is wrong with one that is active
  }
  if (const auto layer = value_of(text, "Link layer")) port.link_layer = *layer;
}

// "Infiniband device 'mlx5_0' port 1 status:" and, below, "state: 4: ACTIVE".
class IbstatusReader : public PortReader {
 public:
  void take(const SourceLine& line) override;

 private:
  bool is_port_ = false;
};

void IbstatusReader::take(const SourceLine& line) {
  const std::string_view text = trimmed(line.text);
  constexpr std::string_view kBegin = "Infiniband device '";
  if (text.starts_with(kBegin)) {
    const std::size_t end = text.find('\'', kBegin.size());
    const std::vector<std::string> words =
        end == std::string_view::npos ? std::vector<std::string>{} : words_of(text.substr(end + 1));
    const auto port = words.size() < 2 ? std::nullopt : small_number(words[1], 255);
    is_port_ = port && open(std::string(text.substr(kBegin.size(), end - kBegin.size())), *port,
                            line) != nullptr;
    return;
  }
  if (!is_port_) return;
  RdmaPortFacts& port = ports_.back();
  if (const auto state = value_of(text, "state")) port.state = state_of(*state);
  if (const auto state = value_of(text, "phys state")) port.physical_state = physical_of(*state);
  // A cut "40 Gb/sec (4" still says the rate; "40 G" does not.
  if (const auto rate = value_of(text, "rate"); rate && rate->find(" Gb/s") != std::string::npos)
    port.rate = rate_of(*rate);
  if (const auto layer = value_of(text, "link_layer")) port.link_layer = *layer;
}

// "hca_id: mlx5_0", "port: 1", "state: PORT_ACTIVE (4)", "active_mtu: 4096 (5)", with -v
// "GID[  3]: 0000:...:ffff:0a00:0001, RoCE v2".
class IbvDevinfoReader : public PortReader {
 public:
  void take(const SourceLine& line) override;

 private:
  void take_gid(std::string_view text);

  std::string device_ = {};
  std::string guid_ = {};
  bool is_port_ = false;
};

void IbvDevinfoReader::take(const SourceLine& line) {
  const std::string_view text = trimmed(line.text);
  if (const auto device = value_of(text, "hca_id")) {
    device_ = *device;
    is_port_ = false;
    return;
  }
  if (device_.empty()) return;
  if (const auto guid = value_of(text, "sys_image_guid")) guid_ = hex_digits(*guid);
  if (const auto number = value_of(text, "port")) {
    const auto port = small_number(*number, 255);
    is_port_ = port && open(device_, *port, line) != nullptr;
    return;
  }
  if (!is_port_) return;
  RdmaPortFacts& port = ports_.back();
  port.guid = guid_;
  if (const auto state = value_of(text, "state")) port.state = state_of(*state);
  if (const auto layer = value_of(text, "link_layer")) port.link_layer = *layer;
  if (const auto mtu = value_of(text, "active_mtu"))
    if (const auto bytes = leading_number(*mtu)) port.active_mtu = core::Bytes::of(*bytes);
  if (text.starts_with("GID[")) take_gid(text);
}

void IbvDevinfoReader::take_gid(std::string_view text) {
  const std::size_t close = text.find(']');
  const std::size_t colon = text.find(':');
  if (close == std::string_view::npos || colon == std::string_view::npos || colon < close) return;
  const auto index = small_number(trimmed(text.substr(4, close - 4)), 4096);
  std::string_view gid = trimmed(text.substr(colon + 1));
  const std::size_t comma = gid.find(',');
  if (!index || ports_.back().gids.size() > 4096) return;
  ports_.back().gids.push_back(
      {*index, std::string(gid.substr(0, comma)),
       comma == std::string_view::npos ? "" : std::string(trimmed(gid.substr(comma + 1))), ""});
}

// "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1"; older: "0/1: mlx5_0/1: state
// ..".
class RdmaLinkReader : public PortReader {
 public:
  void take(const SourceLine& line) override;
};

void RdmaLinkReader::take(const SourceLine& line) {
  const std::vector<std::string> words = words_of(line.text);
  const auto state = std::find(words.begin(), words.end(), "state");
  if (state == words.begin() || words.end() - state < 2) return;
  // "link mlx5_0/1 subnet_prefix fe80:... lid 6 sm_lid 1 lmc 0 state ACTIVE ..." of InfiniBand
  const bool begins_with_link = words.front() == "link" && words.size() > 1;
  std::string name = begins_with_link ? words[1] : *std::prev(state);
  if (name.ends_with(":")) name.pop_back();
  const std::size_t slash = name.find('/');
  const auto number =
      slash == std::string::npos ? std::nullopt : small_number(name.substr(slash + 1), 255);
  const bool is_link = words.front() == "link" || words.front().find('/') != std::string::npos;
  RdmaPortFacts* port = is_link && number ? open(name.substr(0, slash), *number, line) : nullptr;
  if (port == nullptr) return;
  for (auto word = state; word != words.end() && std::next(word) != words.end(); ++word) {
    if (*word == "state") port->state = state_of(*std::next(word));
    if (*word == "physical_state") port->physical_state = physical_of(*std::next(word));
    if (*word == "netdev") port->interface = *std::next(word);
  }
}

// "mlx5_0 port 1 ==> ens1f0np0 (Up)" of ibdev2netdev, with -v the bus and the card before it. The
// state is that of the interface: of IPoIB it says nothing of the port.
class IbdevReader : public PortReader {
 public:
  void take(const SourceLine& line) override;
};

void IbdevReader::take(const SourceLine& line) {
  if (line.text.find(" ==> ") == std::string_view::npos) return;
  const std::vector<std::string> words = words_of(line.text);
  const auto arrow = std::find(words.begin(), words.end(), "==>");
  if (arrow == words.end() || words.end() - arrow != 3) return;
  auto named = arrow;  // the last: a card may be called "dual port"
  for (auto word = words.begin(); word != arrow; ++word)
    if (*word == "port") named = word;
  if (named == arrow) return;
  if (words.back() != "(Up)" && words.back() != "(Down)") return;
  std::string bus;
  std::string device = words.front();
  for (auto word = words.begin(); word != named; ++word)
    if (std::string known = normal_bus_id(*word); !known.empty()) bus = std::move(known);
  if (!bus.empty() && device.find(':') != std::string::npos && words.size() > 1) device = words[1];
  const auto number =
      std::next(named) == arrow ? std::nullopt : small_number(*std::next(named), 255);
  RdmaPortFacts* port = number ? open(device, *number, line) : nullptr;
  if (port == nullptr) return;
  port->bus_id = bus;
  port->interface = *std::next(arrow);
  if (arrow - named == 3 && named[2].starts_with("(") && named[2].ends_with(")"))
    port->state = state_of(named[2].substr(1, named[2].size() - 2));
}

// "mlx5_0  1  3  0000:...:ffff:0a00:0001  10.0.0.1  v2  ens1"
class ShowGidsReader : public PortReader {
 public:
  void take(const SourceLine& line) override;

 private:
  bool has_header_ = false;
};

void ShowGidsReader::take(const SourceLine& line) {
  const std::vector<std::string> words = words_of(line.text);
  if (words.size() > 3 && words[0] == "DEV" && words[1] == "PORT" && words[2] == "INDEX")
    has_header_ = true;
  if (!has_header_ || words.size() < 5) return;
  const auto number = small_number(words[1], 255);
  const auto index = small_number(words[2], 4096);
  if (!number || !index || std::count(words[3].begin(), words[3].end(), ':') != 7) return;
  if (ports_.empty() || ports_.back().device != words[0] || ports_.back().port != *number)
    if (open(words[0], *number, line) == nullptr) return;
  RdmaPortFacts& port = ports_.back();
  const auto version = std::find_if(words.begin() + 4, words.end(),
                                    [](const auto& word) { return word == "v1" || word == "v2"; });
  GidEntry gid{*index, words[3], "", ""};
  if (version != words.end()) {
    gid.type = *version == "v2" ? "RoCE v2" : "IB/RoCE v1";
    if (std::next(version) != words.end()) gid.netdev = *std::next(version);
    port.link_layer = "Ethernet";
    port.interface = gid.netdev;
  }
  if (port.gids.size() < 4096) port.gids.push_back(std::move(gid));
}

}  // namespace

std::unique_ptr<FactReader> ibstat_reader() { return std::make_unique<IbstatReader>(); }
std::unique_ptr<FactReader> ibstatus_reader() { return std::make_unique<IbstatusReader>(); }
std::unique_ptr<FactReader> ibv_devinfo_reader() { return std::make_unique<IbvDevinfoReader>(); }
std::unique_ptr<FactReader> rdma_link_reader() { return std::make_unique<RdmaLinkReader>(); }
std::unique_ptr<FactReader> ibdev_reader() { return std::make_unique<IbdevReader>(); }
std::unique_ptr<FactReader> show_gids_reader() { return std::make_unique<ShowGidsReader>(); }

}  // namespace comm_probe::topology
