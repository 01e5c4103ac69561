// `ip link` and `ip -s link`: what state interfaces are in, and what they count; healthy twins
// beside each.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kUp = "BROADCAST,MULTICAST,UP,LOWER_UP";
constexpr const char* kDark = "NO-CARRIER,BROADCAST,MULTICAST,UP";
constexpr const char* kOff = "BROADCAST,MULTICAST";

std::string link_of(int index, const std::string& name, const std::string& flags, int mtu,
                    const std::string& mac = "98:03:9b:00:a1") {
  return fmt::format(
      "{}: {}: <{}> mtu {} qdisc mq state {} mode DEFAULT group default qlen 1000\n"
      "    link/ether {}:{:02x} brd ff:ff:ff:ff:ff:ff\n",
      index, name, flags, mtu, flags == kUp ? "UP" : "DOWN", mac, index);
}

// What every host has beside its NICs, in states that are no fault: loopback, a management port,
// one that nobody uses, docker's bridge without a container, a pair of a container.
std::string usual_links() {
  return "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT\n"
         "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n" +
         link_of(2, "eno1", kUp, 1500) + link_of(3, "eno2", kDark, 1500) +
         link_of(4, "eno3", kOff, 1500) + link_of(5, "docker0", kDark, 1500, "02:42:5e:11:22") +
         link_of(6, "virbr0", kDark, 9000, "52:54:00:11:22") +
         link_of(7, "veth12ab@if8", kDark, 8950, "9a:11:22:33:44");
}

std::string rail(int i) { return fmt::format("ens{}f0np0", 10 + i); }

// Eight RoCE interfaces, one of them otherwise.
std::string rails(int odd, const std::string& flags, int mtu) {
  std::string text = usual_links();
  for (int i = 0; i < 8; ++i)
    text += link_of(20 + i, rail(i), i == odd ? flags : kUp, i == odd ? mtu : 9000);
  return text;
}

// `rdma link`; the port of an interface without a carrier is DOWN.
std::string rdma_link(int down) {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += fmt::format("link mlx5_{}/1 state {} physical_state {} netdev {} \n", i,
                        i == down ? "DOWN" : "ACTIVE", i == down ? "POLLING" : "LINK_UP", rail(i));
  return text;
}

struct Counts {
  long packets = 0;
  long errors = 0;
  long dropped = 0;
};

std::string ip_link(const std::string& minute, const Counts& counts,
                    const std::string& name = "ens1f0") {
  return fmt::format(
      "Mon Nov 30 02:{}:00 UTC 2026\n$ ip -s link show {}\n"
      "2: {}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT\n"
      "    link/ether 98:03:9b:00:a1:b2 brd ff:ff:ff:ff:ff:ff\n"
      "    RX:  bytes packets errors dropped  missed   mcast           \n"
      "    1000000000 {} {} {} 0 0 \n"
      "    TX:  bytes packets errors dropped carrier collsns           \n"
      "    1000000000 7000000 0 0 0 0 \n",
      minute, name, name, counts.packets, counts.errors, counts.dropped);
}

std::string severity_of(const json& document, const std::string& id) {
  for (const json& finding : document["findings"])
    if (finding["id"] == id) return finding["severity"];
  return "";
}

class IpLink : public Pile {
 protected:
  json judged(const Counts& first, const Counts& second) {
    put("before.txt", ip_link("10", first));
    put("after.txt", ip_link("11", second));
    return told({folder()});
  }
  json of_files(const std::vector<std::pair<std::string, std::string>>& files) {
    for (const auto& [name, text] : files) put(name, text);
    return told({folder()});
  }
};

TEST_F(IpLink, HealthyInterfacesAreQuiet) {
  const json alone = of_files({{"ip.txt", rails(-1, kUp, 9000)}});
  EXPECT_EQ(alone["findings"].size(), 0) << alone["findings"];
  EXPECT_THAT(alone.dump(), HasSubstr("ip-link"));
  const json both = of_files({{"rdma.txt", rdma_link(-1)}});
  EXPECT_EQ(both["findings"].size(), 0) << both["findings"];
}

// Its interface is set up as those that have a carrier: it is missed. One that is switched off is
// not.
TEST_F(IpLink, AConfiguredRdmaPortWithoutCarrier) {
  const json dark = of_files({{"rdma.txt", rdma_link(3)}, {"ip.txt", rails(3, kDark, 9000)}});
  EXPECT_EQ(severity_of(dark, "topo.port-not-active"), "warning") << dark["findings"];
  EXPECT_THAT(dark.dump(), HasSubstr("ens13f0np0: no carrier"));
  EXPECT_THAT(dark.dump(), HasSubstr("mlx5_3"));
  const json off = of_files({{"ip.txt", rails(3, kOff, 1500)}});
  EXPECT_EQ(severity_of(off, "topo.port-not-active"), "info") << off["findings"];
  EXPECT_THAT(off.dump(), HasSubstr("not switched on"));
}

TEST_F(IpLink, WithoutRdmaTheOthersShowIt) {
  const json dark = of_files({{"ip.txt", rails(3, kDark, 9000)}});
  EXPECT_EQ(severity_of(dark, "topo.interface-dark"), "warning") << dark["findings"];
  EXPECT_THAT(dark.dump(), HasSubstr("ens13f0np0"));
  for (const char* innocent : {"eno2", "docker0", "virbr0", "veth"})
    EXPECT_THAT(dark["findings"].dump(), Not(HasSubstr(innocent)));
  const json off = of_files({{"ip.txt", rails(3, kOff, 9000)}});
  EXPECT_EQ(off["findings"].size(), 0) << off["findings"];
}

// Linux 6.1 iboe_get_mtu: 1500 carries 1024 B, 9000 4096 B; 82 B of headers: 92.6 and 98.0 %.
TEST_F(IpLink, OneMtuUnlikeTheOthers) {
  const json low = of_files({{"rdma.txt", rdma_link(-1)}, {"ip.txt", rails(5, kUp, 1500)}});
  EXPECT_EQ(severity_of(low, "topo.mtu-differs"), "warning") << low["findings"];
  EXPECT_THAT(low.dump(), HasSubstr("ens15f0np0 has MTU 1500 B, 7 of 8"));
  EXPECT_THAT(low.dump(), HasSubstr("92.6 % of the line instead of 98"));
  EXPECT_THAT(low["findings"].dump(), Not(HasSubstr("eno1")));
  const json same_packets = of_files({{"ip.txt", rails(5, kUp, 4200)}});
  EXPECT_EQ(same_packets["findings"].size(), 0) << same_packets["findings"];
}

// Eight of ten are a full set: the two others may be of storage.
TEST_F(IpLink, PortsBeyondAFullSetAreOnlyNoted) {
  std::string links = rails(-1, kUp, 9000), ports = rdma_link(-1);
  for (int i = 8; i < 10; ++i) {
    links += link_of(20 + i, rail(i), kUp, 1500);
    ports +=
        fmt::format("link mlx5_{}/1 state ACTIVE physical_state LINK_UP netdev {}\n", i, rail(i));
  }
  const json document = of_files({{"rdma.txt", ports}, {"ip.txt", links}});
  EXPECT_EQ(severity_of(document, "topo.mtu-differs"), "info") << document["findings"];
}

TEST_F(IpLink, ABondOnOneOfItsLinks) {
  const auto bond = [](bool is_whole) {
    std::string text = usual_links();
    for (int i = 0; i < 2; ++i) {
      const bool is_up = is_whole || i == 0;
      text += fmt::format(
          "{}: ens1f{}np{}: <{}BROADCAST,MULTICAST,SLAVE,UP{}> mtu 9000 qdisc mq master bond0 "
          "state "
          "{}\n    link/ether 98:03:9b:00:a1:b0 brd ff:ff:ff:ff:ff:ff\n",
          20 + i, i, i, is_up ? "" : "NO-CARRIER,", is_up ? ",LOWER_UP" : "",
          is_up ? "UP" : "DOWN");
    }
    return text +
           "30: bond0: <BROADCAST,MULTICAST,MASTER,UP,LOWER_UP> mtu 9000 qdisc noqueue state UP\n"
           "    link/ether 98:03:9b:00:a1:b0 brd ff:ff:ff:ff:ff:ff\n";
  };
  const std::string device =
      "link mlx5_bond_0/1 state ACTIVE physical_state LINK_UP netdev bond0\n";
  const json whole = of_files({{"ip.txt", bond(true)}, {"rdma.txt", device}});
  EXPECT_EQ(whole["findings"].size(), 0) << whole["findings"];
  const json short_one = of_files({{"ip.txt", bond(false)}});
  EXPECT_EQ(severity_of(short_one, "topo.bond-short"), "warning") << short_one["findings"];
  EXPECT_THAT(short_one.dump(), HasSubstr("bond0 runs on 1 of its 2 links, ens1f1np1 has no"));
  // of which nobody says that it is RDMA's
  fs::remove(fs::path(folder()) / "rdma.txt");
  EXPECT_EQ(severity_of(told({folder()}), "topo.bond-short"), "info");
}

TEST_F(IpLink, JsonSaysTheSame) {
  json links = json::array();
  for (int i = 0; i < 8; ++i)
    links.push_back({{"ifindex", 20 + i},
                     {"ifname", rail(i)},
                     {"flags", {"BROADCAST", "MULTICAST", "UP", "LOWER_UP"}},
                     {"mtu", i == 5 ? 1500 : 9000},
                     {"operstate", "UP"},
                     {"link_type", "ether"},
                     {"address", fmt::format("98:03:9b:00:a1:{:02x}", i)}});
  const json document = of_files({{"rdma.txt", rdma_link(-1)}, {"ip.json", links.dump()}});
  EXPECT_EQ(severity_of(document, "topo.mtu-differs"), "warning") << document;
  EXPECT_THAT(document.dump(), HasSubstr("ens15f0np0"));
}

// One interface of several hosts, as a launcher like pdsh prints it.
TEST_F(IpLink, SeveralHosts) {
  const auto hosts = [](int odd) {
    std::string text;
    for (int i = 1; i <= 8; ++i)
      text += fmt::format("node{:02}: 4: ens1f0np0: <{}> mtu {} qdisc mq state UP mode DEFAULT\n",
                          i, kUp, i == odd ? 1500 : 9000);
    return text;
  };
  EXPECT_EQ(of_files({{"pdsh.txt", hosts(0)}})["findings"].size(), 0);
  const json document = of_files({{"pdsh.txt", hosts(6)}});
  EXPECT_THAT(document["findings"].dump(),
              HasSubstr("node06 ens1f0np0 has MTU 1500 B, 7 of 8 hosts"))
      << document;
}

TEST_F(IpLink, BadPacketsAreSaid) {
  const json document = judged({7000000, 0, 0}, {9000000, 4000, 0});
  ASSERT_TRUE(has_id(document["findings"], "topo.net-physical-errors")) << document;
  EXPECT_THAT(document.dump(), HasSubstr("rx_errors 0 -> 4000"));
  EXPECT_THAT(document.dump(), HasSubstr("ens1f0 (4000) in 60 s"));
  EXPECT_TRUE(has_id(document["caveats"], "topo.net-drops-open"));  // of the job or not
  // 60 of 2 million are few
  EXPECT_EQ(judged({7000000, 0, 0}, {9000000, 60, 0})["findings"].size(), 0);
}

// `rdma link` says that a device of RDMA is behind it: then it is a warning, where it is 12 a
// second or more, whatever the load.
TEST_F(IpLink, JoinedWithTheDevice) {
  put("rdma.txt", "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1f0 \n");
  const json document = judged({7000000, 0, 0}, {9000000, 4000, 0});
  EXPECT_EQ(severity_of(document, "topo.net-physical-errors"), "warning") << document["findings"];
  EXPECT_FALSE(has_id(document["caveats"], "topo.net-drops-open"));
  EXPECT_EQ(severity_of(judged({7000000, 0, 0}, {9000000, 40, 0}), "topo.net-physical-errors"),
            "info");
}

TEST_F(IpLink, DropsCountByTheirPart) {
  EXPECT_TRUE(has_id(judged({0, 0, 0}, {2000000, 0, 4000})["findings"], "topo.net-discards"));
  // protocols that nobody listens to: few of the packets, or few a second
  EXPECT_FALSE(has_id(judged({0, 0, 0}, {2000000, 0, 60})["findings"], "topo.net-discards"));
  EXPECT_FALSE(has_id(judged({0, 0, 0}, {200, 0, 60})["findings"], "topo.net-discards"));
}

TEST_F(IpLink, WhatDoesNotRiseIsNoFault) {
  const json document = judged({7000000, 4000, 4000}, {9000000, 4000, 4000});
  EXPECT_EQ(document["findings"].size(), 0) << document["findings"];
  EXPECT_FALSE(has_id(document["caveats"], "topo.net-drops-open"));
}

// Names that say nothing of time: the address of the interface says that it is one machine.
TEST_F(IpLink, OneMachineByItsAddress) {
  put("10.txt", ip_link("10", {7000000, 0, 0}));
  put("11.txt", ip_link("11", {9000000, 4000, 0}));
  const json document = told({folder()});
  EXPECT_TRUE(has_id(document["findings"], "topo.net-physical-errors")) << document;
  EXPECT_FALSE(has_id(document["caveats"], "topo.counters-whose"));
  std::string other = ip_link("11", {9000000, 4000, 0});
  other.replace(other.find("98:03:9b:00:a1:b2"), 17, "98:03:9b:00:a1:b3");
  put("11.txt", other);
  const json two = told({folder()});
  EXPECT_EQ(two["findings"].size(), 0) << two["findings"];
  EXPECT_TRUE(has_id(two["caveats"], "topo.counters-whose"));
}

TEST_F(IpLink, DevicesByIbdev2netdev) {
  std::string ports;
  for (int i = 0; i < 8; ++i) ports += fmt::format("mlx5_{} port 1 ==> {} (Up)\n", i, rail(i));
  const json low = of_files({{"ibdev.txt", ports}, {"ip.txt", rails(5, kUp, 1500)}});
  EXPECT_EQ(severity_of(low, "topo.mtu-differs"), "warning") << low["findings"];
  const json dark = of_files({{"ip.txt", rails(5, kDark, 9000)}});
  EXPECT_EQ(severity_of(dark, "topo.port-not-active"), "warning") << dark["findings"];
  const json healthy = of_files({{"ip.txt", rails(-1, kUp, 9000)}});
  EXPECT_EQ(healthy["findings"].size(), 0) << healthy["findings"];
}

// Bridges and pairs of containers drop as they like.
TEST_F(IpLink, SoftwareIsNotCounted) {
  put("before.txt", ip_link("10", {0, 0, 0}, "docker0"));
  put("after.txt", ip_link("11", {2000000, 9000, 9000}, "docker0"));
  EXPECT_EQ(told({folder()})["findings"].size(), 0);
}

}  // namespace
}  // namespace comm_probe::test
