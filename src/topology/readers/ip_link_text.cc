#include "topology/readers/ip_link_text.h"

#include <algorithm>
#include <array>

#include "topology/readers/matrix_words.h"

namespace comm_probe::topology {
namespace {

struct Column {
  std::string_view printed;
  std::string_view receiving;
  std::string_view sending;
};
// iproute2 ip/ipaddress.c __print_link_stats; the kernel's include/uapi/linux/if_link.h.
constexpr std::array kColumns = {
    Column{"bytes", "rx_bytes", "tx_bytes"},
    Column{"packets", "rx_packets", "tx_packets"},
    Column{"errors", "rx_errors", "tx_errors"},
    Column{"dropped", "rx_dropped", "tx_dropped"},
    Column{"missed", "rx_missed_errors", ""},
    Column{"overrun", "rx_over_errors", ""},
    Column{"mcast", "multicast", ""},
    Column{"carrier", "", "tx_carrier_errors"},
    Column{"collsns", "", "collisions"},
    Column{"length", "rx_length_errors", ""},
    Column{"crc", "rx_crc_errors", ""},
    Column{"frame", "rx_frame_errors", ""},
    Column{"fifo", "rx_fifo_errors", "tx_fifo_errors"},
    Column{"aborted", "", "tx_aborted_errors"},
    Column{"window", "", "tx_window_errors"},
    Column{"heartbeat", "", "tx_heartbeat_errors"},
    Column{"transns", "", "carrier_changes"},
    // names of JSON
    Column{"multicast", "multicast", ""},
    Column{"over_errors", "rx_over_errors", ""},
    Column{"carrier_errors", "", "tx_carrier_errors"},
    Column{"collisions", "", "collisions"},
    Column{"length_errors", "rx_length_errors", ""},
    Column{"crc_errors", "rx_crc_errors", ""},
    Column{"frame_errors", "rx_frame_errors", ""},
    Column{"fifo_errors", "rx_fifo_errors", "tx_fifo_errors"},
    Column{"missed_errors", "rx_missed_errors", ""},
    Column{"carrier_changes", "", "carrier_changes"},
};

std::string name_of(std::string_view printed, bool is_receiving) {
  for (const Column& column : kColumns)
    if (column.printed == printed)
      return std::string(is_receiving ? column.receiving : column.sending);
  return {};
}

}  // namespace

std::string interface_of_heading(std::string_view line) {
  const std::size_t digits = line.find_first_not_of("0123456789");
  if (digits == 0 || digits == line.npos || !line.substr(digits).starts_with(": ")) return {};
  line.remove_prefix(digits + 2);
  const std::size_t colon = line.find(':');
  if (colon == line.npos || !line.substr(colon).starts_with(": <")) return {};
  std::string_view name = line.substr(0, colon);
  name = name.substr(0, name.find('@'));
  return name.find(' ') == name.npos ? std::string(name) : std::string();
}

bool is_software_name(std::string_view name) {
  constexpr std::array<std::string_view, 14> kHeads = {"docker", "virbr",   "br-",   "veth",  "cni",
                                                       "cali",   "flannel", "vxlan", "tun",   "tap",
                                                       "dummy",  "lxc",     "kube-", "podman"};
  return name == "lo" || std::any_of(kHeads.begin(), kHeads.end(),
                                     [&](std::string_view head) { return name.starts_with(head); });
}

bool is_software_heading(std::string_view line) {
  const std::size_t flags = line.find('<');
  if (flags == line.npos || line.substr(0, flags).find('@') != line.npos) return true;
  const std::string_view text = line.substr(flags, line.find('>', flags) - flags);
  for (const std::string_view flag : {"LOOPBACK", "MASTER", "POINTOPOINT"})
    if (text.find(flag) != text.npos) return true;
  return is_software_name(interface_of_heading(line));
}

std::optional<bool> is_address_of_card(std::string_view address) {
  constexpr std::size_t kEthernet = 17;  // "98:03:9b:00:a1:b2"
  if (address.size() != kEthernet) return address.size() > kEthernet;
  if (address.starts_with("02:") && !address.starts_with("02:42:")) return std::nullopt;
  const std::size_t digit = std::string_view("0123456789abcdef").find(address[1]);
  return digit != address.npos && (digit & 2U) == 0;
}

std::string counter_of_json(std::string_view side, std::string_view key) {
  return side == "rx" || side == "tx" ? name_of(key, side == "rx") : std::string();
}

std::vector<std::string> columns_of_statistics(std::string_view line) {
  const bool is_receiving = line.starts_with("RX: ") || line.starts_with("RX errors: ");
  if (!is_receiving && !line.starts_with("TX: ") && !line.starts_with("TX errors: ")) return {};
  std::vector<std::string> names;
  for (const std::string& word : words_of(line.substr(line.find(": ") + 2)))
    names.push_back(name_of(word, is_receiving));
  return names;
}

}  // namespace comm_probe::topology
