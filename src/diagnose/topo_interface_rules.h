// Rules on network interfaces as `ip link` shows them: one that was set up and has no carrier, one
// whose MTU is unlike that of its siblings, a bond that runs on a part of its links. Interfaces
// that nobody set up, bridges, containers' pairs and loopback are not judged.
//
//   8 RoCE ports, 7 interfaces with mtu 9000, one with 1500 -> topo.mtu-differs: its packets carry
//   1024 B instead of 4096, 92.6 % of the line instead of 98.0 %
#pragma once

#include <string>
#include <vector>

#include "diagnose/job.h"
#include "diagnose/topo_rules.h"

namespace comm_probe::diagnose {

// "ens1f0np0: no carrier (cable, transceiver, switch port)"; empty where the interface has a link.
std::string trouble_of(const topology::LinkFacts& link);
// Somebody gave it an address, a bond, or another MTU than the one that interfaces begin with.
bool is_set_up(const topology::LinkFacts& link);
// What a packet of RoCE carries at most over an interface of this MTU.
core::Bytes roce_payload(core::Bytes mtu);

// Interfaces of which no source says whether they are of an RDMA port.
RuleAnswer interfaces_linked(const topology::Survey& survey);
RuleAnswer mtus_alike(const topology::Survey& survey);
RuleAnswer bonds_whole(const topology::Survey& survey);

// An interface of one name that has a smaller MTU on one host than on nearly all others: of several
// machines, each of which is a host.
std::vector<core::Finding> mtus_alike_across(const std::vector<JobMachine>& machines);

}  // namespace comm_probe::diagnose
