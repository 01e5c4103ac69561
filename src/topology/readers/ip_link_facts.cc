// `ip link`, with -s, -d or -br, `ip addr`, and the JSON of both: what state the kernel shows its
// interfaces in. Their counters are of readers/counter_text.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/json.h"
#include "topology/readers/counter_text.h"
#include "topology/readers/fact_reader.h"
#include "topology/readers/ip_link_text.h"
#include "topology/readers/matrix_words.h"

namespace comm_probe::topology {
namespace {

std::optional<core::Bytes> mtu_of(std::string_view text) {
  constexpr int kLargest = 65536;  // of the loopback
  const auto bytes = small_number(text, kLargest);
  return bytes ? std::optional(core::Bytes::of(*bytes)) : std::nullopt;
}

bool is_link_local(std::string_view address) {
  return address.starts_with("fe80") || address.starts_with("169.254.");
}

// Interfaces of one text. A machine lists an interface once; a second one of that name with another
// address is of another machine, and then the listings are called by the lines they begin at.
class Links {
 public:
  LinkFacts* open(LinkFacts link, bool begins_listing) {
    if (links_.size() >= kMostRecords) return nullptr;
    if (begins_listing)
      listing_ = fmt::format("{}:{}", link.from.source, link.from.line.value_or(0));
    listings_.push_back(listing_);
    addresses_.emplace_back();
    links_.push_back(std::move(link));
    return &links_.back();
  }
  void set_address(std::string_view address) {
    addresses_.back() = address;
    if (!links_.back().is_of_card) links_.back().is_of_card = is_address_of_card(address);
    constexpr std::size_t kInfiniBand = 59;  // 20 bytes
    links_.back().is_infiniband = address.size() == kInfiniBand;
  }
  LinkFacts* last() { return links_.empty() ? nullptr : &links_.back(); }
  bool put(HostFacts& facts);

 private:
  bool are_of_several_machines() const;

  std::string listing_ = {};
  std::vector<LinkFacts> links_ = {};
  std::vector<std::string> listings_ = {};   // of each link
  std::vector<std::string> addresses_ = {};  // of each link
};

bool Links::are_of_several_machines() const {
  std::map<std::pair<std::string, std::string>, std::string> known;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (!links_[i].is_of_card.value_or(false)) continue;
    const auto [place, is_new] =
        known.emplace(std::pair(links_[i].host, links_[i].name), addresses_[i]);
    if (!is_new && place->second != addresses_[i]) return true;
  }
  return false;
}

bool Links::put(HostFacts& facts) {
  const bool are_several = are_of_several_machines();
  std::set<std::string> masters;
  for (const LinkFacts& link : links_) masters.insert(link.master);
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (are_several && links_[i].host.empty()) links_[i].host = listings_[i];
    if (masters.contains(links_[i].name)) links_[i].is_of_card = false;
    // of one machine at two times the later counts
    const auto [place, is_new] =
        places.emplace(std::pair(links_[i].host, links_[i].name), facts.links.size());
    if (is_new)
      facts.links.push_back(std::move(links_[i]));
    else
      facts.links[place->second] = std::move(links_[i]);
  }
  return !facts.links.empty();
}

// What stands between "<" and ">", or in "flags" of JSON.
void take_flag(std::string_view flag, LinkFacts& link) {
  if (flag == "UP") link.is_switched_on = true;
  if (flag == "LOWER_UP") link.has_carrier = true;
  if (flag == "SLAVE") link.is_bond_port = true;
  if (flag == "MASTER" || flag == "LOOPBACK" || flag == "POINTOPOINT") link.is_of_card = false;
}

class IpLinkReader : public FactReader {
 public:
  void take(const SourceLine& line) override;
  bool put(HostFacts& facts) override { return links_.put(facts); }

 private:
  bool take_heading(std::string_view text, const SourceLine& line, std::string host);
  bool take_brief(const std::vector<std::string>& words, const SourceLine& line);
  void take_body(const std::vector<std::string>& words);
  void take_flags(std::string_view text, LinkFacts& link);
  void take_json(const SourceLine& line);
  void take_json_link(const core::Json& entry, const SourceLine& line);

  Links links_ = {};
  std::string host_ = {};       // of the prompt
  std::string line_host_ = {};  // of the lines of a launcher like pdsh
  bool is_open_ = false;
};

// "node07: 2: ens1f0: <...>" -> "node07", and the rest.
std::pair<std::string, std::string_view> host_before(std::string_view text) {
  const std::size_t colon = text.find(": ");
  if (colon == text.npos || colon == 0 || colon > 64) return {"", text};
  const std::string_view host = text.substr(0, colon);
  const bool is_number = host.find_first_not_of("0123456789") == host.npos;
  if (is_number || host.find_first_of(" \t/\"<") != host.npos) return {"", text};
  return {std::string(host), text.substr(colon + 2)};
}

void IpLinkReader::take_flags(std::string_view text, LinkFacts& link) {
  const std::size_t begin = text.find('<');
  const std::size_t end = text.find('>', begin == text.npos ? 0 : begin);
  if (begin == text.npos || end == text.npos) return;
  std::string flags(text.substr(begin + 1, end - begin - 1));
  std::replace(flags.begin(), flags.end(), ',', ' ');
  for (const std::string& flag : words_of(flags)) take_flag(flag, link);
}

bool IpLinkReader::take_heading(std::string_view text, const SourceLine& line, std::string host) {
  std::string name = interface_of_heading(text);
  if (name.empty() || name.size() > 64) return false;
  const bool is_first = text.starts_with("1: ");
  LinkFacts link{
      .host = host.empty() ? host_ : std::move(host), .name = name, .from = line.evidence()};
  if (is_software_heading(text)) link.is_of_card = false;
  take_flags(text, link);
  const std::vector<std::string> words = words_of(text.substr(text.find('>') + 1));
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "mtu") link.mtu = mtu_of(words[i + 1]);
    if (words[i] == "master") link.master = words[i + 1].substr(0, 64);
  }
  is_open_ = links_.open(std::move(link), is_first) != nullptr;
  return true;
}

// "ens1f0np0        UP             98:03:9b:00:a1:b2 <BROADCAST,MULTICAST,UP,LOWER_UP>"
bool IpLinkReader::take_brief(const std::vector<std::string>& words, const SourceLine& line) {
  constexpr std::array<std::string_view, 6> kStates = {"UP",      "DOWN",    "UNKNOWN",
                                                       "DORMANT", "TESTING", "LOWERLAYERDOWN"};
  if (words.size() != 4 || !words[3].starts_with("<") || !words[3].ends_with(">")) return false;
  if (std::find(kStates.begin(), kStates.end(), words[1]) == kStates.end()) return false;
  LinkFacts link{
      .host = host_, .name = words[0].substr(0, words[0].find('@')), .from = line.evidence()};
  if (words[0].find('@') != std::string::npos || is_software_name(link.name))
    link.is_of_card = false;
  take_flags(words[3], link);
  if (link.name.size() <= 64 && links_.open(std::move(link), words[0] == "lo") != nullptr)
    links_.set_address(words[2]);
  is_open_ = false;
  return true;
}

// Lines below a heading: "link/ether 98:03:9b:00:a1:b2 brd ...", "inet 10.0.0.4/24 ...", and of -d
// "bond mode 802.3ad ...", "vxlan id 4 ...".
void IpLinkReader::take_body(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 14> kMadeOfSoftware = {
      "bond", "bridge", "vlan", "vxlan", "veth",   "tun",    "macvlan",
      "ipip", "sit",    "gre",  "dummy", "ipvlan", "geneve", "openvswitch"};
  LinkFacts& link = *links_.last();
  const std::string& first = words.front();
  if (std::find(kMadeOfSoftware.begin(), kMadeOfSoftware.end(), first) != kMadeOfSoftware.end())
    link.is_of_card = false;
  if (words.size() < 2) return;
  if (first == "link/ether" || first == "link/infiniband") links_.set_address(words[1]);
  if ((first == "inet" || first == "inet6") && !is_link_local(words[1])) link.has_address = true;
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "parentdev") link.bus_id = normal_bus_id(words[i + 1]);
}

void IpLinkReader::take(const SourceLine& line) {
  if (looks_like_link_json(line.text)) return take_json(line);
  if (line.text.size() > 65536) return;
  auto [host, text] = host_before(line.text);
  if (is_open_ && !line_host_.empty() && line_host_ != host) is_open_ = false;
  const std::string_view plain = trimmed(text);
  if (plain.empty()) return;
  if (take_heading(plain, line, host)) {
    line_host_ = host;
    return;
  }
  if (std::string prompt = host_of_prompt(plain); !prompt.empty()) host_ = std::move(prompt);
  const std::vector<std::string> words = words_of(plain.substr(0, 4096));
  if (take_brief(words, line)) return;
  is_open_ = is_open_ && !text.empty() && (text[0] == ' ' || text[0] == '\t');
  if (is_open_) take_body(words);
}

std::string text_in(const core::Json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_string() ? found->get<std::string>().substr(0, 128)
                                                    : std::string();
}

void IpLinkReader::take_json_link(const core::Json& entry, const SourceLine& line) {
  if (!entry.is_object() || text_in(entry, "operstate").empty()) return;
  LinkFacts link{.host = host_, .name = text_in(entry, "ifname"), .from = line.evidence()};
  if (link.name.empty()) return;
  const auto info = entry.find("linkinfo");
  if (entry.contains("link") || entry.contains("link_index") || is_software_name(link.name) ||
      (info != entry.end() && info->is_object() && info->contains("info_kind")))
    link.is_of_card = false;
  std::string flags;
  if (const auto list = entry.find("flags"); list != entry.end() && list->is_array())
    for (const core::Json& flag : *list)
      if (flag.is_string()) {
        take_flag(flag.get<std::string>(), link);
        flags += (flags.empty() ? "" : ",") + flag.get<std::string>().substr(0, 32);
      }
  if (const auto mtu = entry.find("mtu"); mtu != entry.end() && mtu->is_number_unsigned())
    link.mtu = mtu_of(mtu->dump());
  link.master = text_in(entry, "master");
  link.bus_id = normal_bus_id(text_in(entry, "parentdev"));
  if (const auto list = entry.find("addr_info"); list != entry.end() && list->is_array())
    for (const core::Json& address : *list)
      if (address.is_object() && !text_in(address, "local").empty() &&
          !is_link_local(text_in(address, "local")))
        link.has_address = true;
  link.from.text =
      fmt::format("{}: <{}> mtu {} state {}", link.name, flags,
                  link.mtu.value_or(core::Bytes()).whole(), text_in(entry, "operstate"));
  const bool is_loopback = link.name == "lo";
  if (links_.open(std::move(link), is_loopback) != nullptr)
    links_.set_address(text_in(entry, "address"));
}

void IpLinkReader::take_json(const SourceLine& line) {
  const core::Json all = core::Json::parse(line.text.begin(), line.text.end(), nullptr, false);
  if (!all.is_array()) return;
  for (const core::Json& entry : all) take_json_link(entry, line);
  is_open_ = false;
}

}  // namespace

bool looks_like_link_json(std::string_view text) {
  return text.starts_with('[') && text.find("\"ifname\"") != text.npos &&
         text.find("\"operstate\"") != text.npos;
}

std::unique_ptr<FactReader> ip_link_reader() { return std::make_unique<IpLinkReader>(); }

}  // namespace comm_probe::topology
