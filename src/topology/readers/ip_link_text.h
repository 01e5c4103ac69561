// What `ip -s link` prints of one interface (iproute2, ip/ipaddress.c): a heading, then for each
// direction a line of names and a line of their numbers. `-s -s` has a second pair of each.
//
//   "2: ens1f0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 ..." -> "ens1f0"
//   "RX:  bytes packets errors dropped  missed   mcast" -> rx_bytes, rx_packets, rx_errors, ...
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace comm_probe::topology {

// `ip -j link` and `ip -j addr`, at the beginning of a text or of a line.
bool looks_like_link_json(std::string_view text);

// Empty where the line is no heading. Of "eth0@if7" what stands before the sign.
std::string interface_of_heading(std::string_view line);
// Of a heading: bonds, loopback, tunnels, and what is stacked on another interface ("eth0@if7").
bool is_software_heading(std::string_view line);
// "docker0", "virbr0", "br-4f2a": as container and virtual machine tools call theirs.
bool is_software_name(std::string_view name);
// Software makes addresses with the bit "locally administered" (IEEE 802, 8.4); cards have theirs
// from the vendor. InfiniBand's are 20 bytes, and always of a card. Nothing: it does not tell, as
// the addresses that --mask writes.
std::optional<bool> is_address_of_card(std::string_view address);
// The names of the kernel (/sys/class/net/*/statistics, if_link.h), in order; "" for a column that
// has none. Empty where the line names no columns.
std::vector<std::string> columns_of_statistics(std::string_view line);
// The same of a key of JSON: ("rx", "over_errors") -> "rx_over_errors"; empty where it is none.
std::string counter_of_json(std::string_view side, std::string_view key);

}  // namespace comm_probe::topology
