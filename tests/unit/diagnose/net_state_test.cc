// Counters of two snapshots against what they mean (the table of counters in the mlx5 and
// infiniband-diags documentation); each fault has a twin in which only the fault is missing.
#include "diagnose/net_state.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "core/finding_table.h"
#include "diagnose/net_rules.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using core::Severity;
using testing::HasSubstr;
using topology::NetSnapshot;
using topology::PortCounters;
using topology::RdmaPortFacts;
using Source = PortCounters::Source;

// A node of eight ports in the middle of a job: 60 s at 20 GB/s both ways, all counters there.
struct Node {
  std::string link_layer = "Ethernet";
  double elapsed = 60;
  std::vector<std::map<std::string, std::uint64_t>> more =
      std::vector<std::map<std::string, std::uint64_t>>(8);

  NetJudgement judged() const;
};

const std::vector<std::string> kHealthy = {"link_downed",
                                           "symbol_error",
                                           "local_ack_timeout_err",
                                           "packet_seq_err",
                                           "out_of_sequence",
                                           "rx_discards_phy",
                                           "port_xmit_discards",
                                           "rx_prio3_pause",
                                           "tx_prio3_pause",
                                           "rx_prio3_pause_duration",
                                           "tx_prio3_pause_duration",
                                           "np_ecn_marked_roce_packets",
                                           "np_cnp_sent",
                                           "rp_cnp_handled",
                                           "rp_cnp_ignored",
                                           "rnr_nak_retry_err",
                                           "out_of_buffer",
                                           "req_cqe_error",
                                           "resp_cqe_error",
                                           "req_transport_retries_exceeded",
                                           "req_remote_access_errors",
                                           "outbound_pci_stalled_wr",
                                           "outbound_pci_stalled_wr_events",
                                           "req_cqe_flush_error",
                                           "port_xmit_wait"};
constexpr std::uint64_t kWords = 300'000'000'000;  // x 4 B / 60 s = 20 GB/s
constexpr std::uint64_t kPackets = 300'000'000;

NetJudgement Node::judged() const {
  NetSnapshot before{.source = "before"};
  NetSnapshot after{.source = "after"};
  std::vector<RdmaPortFacts> known;
  for (std::size_t i = 0; i < more.size(); ++i) {
    PortCounters port{
        .device = fmt::format("mlx5_{}", i), .port = 1, .time = core::Duration::from_seconds(1e9)};
    port.from.source = fmt::format("/sys/{}/", port.device);
    for (const std::string& counter : kHealthy) port.counters[counter] = {5};
    for (const char* counter : {"port_xmit_data", "port_rcv_data"}) port.counters[counter] = {7};
    for (const char* counter : {"port_xmit_packets", "port_rcv_packets"})
      port.counters[counter] = {9};
    before.ports.push_back(port);
    port.time = core::Duration::from_seconds(1e9 + elapsed);
    for (auto& [counter, value] : port.counters) {
      if (counter.ends_with("_data")) value.value += kWords;
      if (counter.ends_with("_packets") && counter.starts_with("port")) value.value += kPackets;
    }
    for (const auto& [counter, count] : more[i]) port.counters[counter].value += count;
    after.ports.push_back(port);
    known.push_back({.device = port.device,
                     .state = "ACTIVE",
                     .link_layer = link_layer,
                     .interface = fmt::format("eth{}", i),
                     .rate = core::Bandwidth::from_Gbps(400)});
  }
  before.states = after.states = known;
  return judge_network(topology::change_between(before, after, known));
}

const Finding* find(const NetJudgement& judgement, const std::string& id) {
  for (const Finding& finding : judgement.findings)
    if (finding.id == id) return &finding;
  return nullptr;
}

std::string ids_of(const NetJudgement& judgement) {
  std::string ids;
  for (const Finding& finding : judgement.findings) ids += finding.id + " ";
  return ids;
}

TEST(NetState, AHealthyNodeIsQuiet) {
  for (const char* layer : {"Ethernet", "InfiniBand"}) {
    Node node{.link_layer = layer};
    // what a healthy node shows too: a few marks, a few pauses, flushes at the end of a job
    for (auto& port : node.more) {
      port["np_ecn_marked_roce_packets"] = 1000;
      port["rp_cnp_handled"] = 300;
      port["rx_prio3_pause"] = 40;
      port["rx_prio3_pause_duration"] = 900;
      port["req_cqe_flush_error"] = 64;
      port["port_xmit_wait"] = 1'000'000;
    }
    const NetJudgement judgement = node.judged();
    EXPECT_EQ(ids_of(judgement), "") << layer;
    EXPECT_TRUE(judgement.caveats.empty());
    for (const NetCheck& check : judgement.checks) {
      const bool is_of_other =
          layer == std::string("Ethernet") && check.what.find("InfiniBand") != std::string::npos;
      EXPECT_EQ(check.outcome == "fine", !is_of_other) << check.what << ": " << check.outcome;
    }
  }
}

struct FaultCase {
  const char* counter;
  std::uint64_t more;
  const char* id;
  Severity severity;
  const char* says;
};

// One counter of one port rises: that finding and no other.
TEST(NetState, EachCounterHasItsMeaning) {
  const FaultCase cases[] = {
      {"link_downed", 1, "topo.net-link-flap", Severity::kError, "mlx5_3 (1)"},
      {"symbol_error", 40, "topo.net-physical-errors", Severity::kWarning, "mlx5_3 (40)"},
      {"local_ack_timeout_err", 12, "topo.net-ack-timeout", Severity::kWarning, "mlx5_3 (12)"},
      {"packet_seq_err", 90000, "topo.net-packet-loss", Severity::kWarning, "mlx5_3 (90000)"},
      {"packet_seq_err", 3, "topo.net-packet-loss", Severity::kInfo, "mlx5_3 (3)"},
      {"out_of_sequence", 900000, "topo.net-out-of-order", Severity::kWarning, "sprays"},
      {"rx_discards_phy", 812, "topo.net-class-mismatch", Severity::kWarning, "mlx5_3 (812)"},
      {"rp_cnp_ignored", 7, "topo.net-cnp-ignored", Severity::kWarning, "mlx5_3 (7)"},
      {"req_transport_retries_exceeded", 1, "topo.net-completion-errors", Severity::kError,
       "status 12"},
      {"req_remote_access_errors", 1, "topo.net-completion-errors", Severity::kError, "status 10"},
      {"out_of_buffer", 5, "topo.net-receiver-late", Severity::kInfo, "mlx5_3 (5)"},
      // 0.64 ms x 2000 = 1.28 s of 60 s
      {"rnr_nak_retry_err", 2000, "topo.net-receiver-late", Severity::kWarning, "mlx5_3 (2000)"},
      // 15 million marks of 300 million packets
      {"np_ecn_marked_roce_packets", 15'000'000, "topo.net-congested", Severity::kWarning,
       "mlx5_3 (5 %)"},
      {"rp_cnp_handled", 600'000, "topo.net-congested", Severity::kWarning, "told to slow down"},
      // microseconds: 3 s of 60 s
      {"tx_prio3_pause_duration", 3'000'000, "topo.net-pause-sent", Severity::kWarning,
       "5 % of the time"},
      {"outbound_pci_stalled_wr_events", 9, "topo.net-pcie-stall", Severity::kWarning, "mlx5_3"},
  };
  for (const FaultCase& fault : cases) {
    Node node;
    node.more[3][fault.counter] = fault.more;
    const NetJudgement judgement = node.judged();
    EXPECT_EQ(ids_of(judgement), std::string(fault.id) + " ") << fault.counter;
    const Finding* finding = find(judgement, fault.id);
    if (finding == nullptr) continue;
    EXPECT_EQ(finding->severity, fault.severity) << fault.counter << " " << fault.more;
    EXPECT_THAT(finding->summary, HasSubstr(fault.says)) << fault.counter;
    ASSERT_FALSE(finding->evidence.empty()) << fault.counter;
    EXPECT_THAT(finding->evidence[0].source, testing::StartsWith("/sys/mlx5_3/"));
    EXPECT_THAT(finding->evidence[0].source, HasSubstr("counters/" + std::string(fault.counter)));
    EXPECT_THAT(finding->evidence[0].text, HasSubstr(fmt::format("5 -> {}", 5 + fault.more)));
    EXPECT_FALSE(finding->next.empty()) << fault.counter;
  }
}

TEST(NetState, DropsWithPausesAreNoClassMismatch) {
  Node node;
  node.more[3] = {{"rx_discards_phy", 812}, {"tx_prio3_pause", 4000}};
  EXPECT_EQ(ids_of(node.judged()), "topo.net-discards ");
}

TEST(NetState, DropsWithoutAnyPauseCounterAreNoClassMismatch) {
  NetSnapshot before{.source = "before"};
  NetSnapshot after{.source = "after"};
  before.ports.push_back(
      {.device = "mlx5_2", .port = 1, .counters = {{"rx_discards_phy", {0, 3}}}});
  after.ports.push_back({.device = "mlx5_2", .port = 1, .counters = {{"rx_discards_phy", {9, 3}}}});
  const NetJudgement judgement = judge_network(topology::change_between(before, after));
  EXPECT_EQ(ids_of(judgement), "topo.net-discards ");
  ASSERT_EQ(judgement.caveats.size(), 1U);
  EXPECT_EQ(judgement.caveats[0].id, "topo.counters-no-time");
}

// PFC does all the work; with marks it does not.
TEST(NetState, PausesWithAndWithoutMarks) {
  Node node;
  node.more[3] = {{"rx_prio3_pause", 50'000}, {"rx_prio3_pause_duration", 6'000'000}};
  EXPECT_EQ(ids_of(node.judged()), "topo.net-pause-without-ecn ");
  node.more[3]["rp_cnp_handled"] = 1000;
  EXPECT_EQ(ids_of(node.judged()), "topo.net-pause-received ");
}

TEST(NetState, OutOfOrderWithDropsIsNotSpraying) {
  Node node;
  node.more[3] = {{"out_of_sequence", 900'000}};
  node.more[4] = {{"rx_discards_phy", 10}, {"tx_prio3_pause", 1}};
  const NetJudgement judgement = node.judged();
  const Finding* finding = find(judgement, "topo.net-out-of-order");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->confidence, core::Confidence::kPossible);
  EXPECT_THAT(finding->summary, HasSubstr("lost on the way"));
}

TEST(NetState, CreditsAreOfInfiniBand) {
  Node node{.link_layer = "InfiniBand"};
  node.more[3]["port_xmit_wait"] = kWords / 2;
  EXPECT_EQ(ids_of(node.judged()), "topo.net-credit-wait ");
  node.link_layer = "Ethernet";
  EXPECT_EQ(ids_of(node.judged()), "");
}

TEST(NetState, UnevenUse) {
  Node node;
  for (std::size_t i = 0; i < 8; ++i)
    if (i != 5) node.more[i] = {};
  // wraps below what was counted before: this port carried 1/1000
  const auto without = [&](std::size_t port) {
    node.more[port]["port_xmit_data"] = static_cast<std::uint64_t>(-1) - kWords + kWords / 1000 + 1;
    node.more[port]["port_rcv_data"] = node.more[port]["port_xmit_data"];
  };
  without(5);
  NetJudgement judgement = node.judged();
  EXPECT_EQ(ids_of(judgement), "topo.net-uneven ");
  EXPECT_THAT(judgement.findings.at(0).summary, HasSubstr("1 of 8 like ports"));
  EXPECT_THAT(judgement.findings.at(0).summary, HasSubstr("mlx5_5"));
  for (const std::size_t port : {0U, 1U, 2U, 4U, 6U, 7U}) without(port);
  judgement = node.judged();
  EXPECT_EQ(ids_of(judgement), "topo.net-uneven ");
  EXPECT_EQ(judgement.findings.at(0).severity, Severity::kInfo);  // a job may use one NIC
}

// 25 % of the rate at rest: nobody was at work, nothing is compared.
TEST(NetState, APortAtItsRateIsTheCeiling) {
  Node node{.elapsed = 25};  // 1.2e12 B / 25 s = 48 GB/s of 50
  const NetJudgement judgement = node.judged();
  EXPECT_EQ(ids_of(judgement), "topo.net-full ");
  EXPECT_EQ(judgement.findings[0].severity, Severity::kInfo);
  EXPECT_THAT(judgement.findings[0].summary, HasSubstr("mlx5_0 (96 %)"));
}

TEST(NetState, ResetsAreSaidAndNotJudged) {
  NetSnapshot before{.source = "before"};
  NetSnapshot after{.source = "after"};
  before.ports.push_back({.device = "mlx5_0", .port = 1, .counters = {{"link_downed", {9}}}});
  after.ports.push_back({.device = "mlx5_0", .port = 1, .counters = {{"link_downed", {2}}}});
  after.ports.push_back({.device = "mlx5_1", .port = 1, .counters = {{"link_downed", {2}}}});
  const NetJudgement judgement = judge_network(topology::change_between(before, after));
  EXPECT_TRUE(judgement.findings.empty());
  std::vector<std::string> ids;
  for (const core::Caveat& caveat : judgement.caveats) ids.push_back(caveat.id);
  EXPECT_THAT(ids, testing::ElementsAre("topo.counters-went-back", "topo.counters-unpaired",
                                        "topo.counters-no-time"));
  EXPECT_TRUE(judgement.caveats[0].limits);
}

TEST(NetState, OneSnapshotIsInformationOnly) {
  NetSnapshot once{.source = "this machine"};
  once.ports.push_back({.device = "mlx5_0",
                        .port = 1,
                        .counters = {{"link_downed", {9}}, {"local_ack_timeout_err", {100000}}}});
  const NetJudgement judgement = judge_network(once);
  ASSERT_EQ(judgement.findings.size(), 2U);
  for (const Finding& finding : judgement.findings) {
    EXPECT_EQ(finding.id, "topo.net-counted-before");
    EXPECT_EQ(finding.severity, Severity::kInfo);
    EXPECT_EQ(finding.confidence, core::Confidence::kPossible);
    EXPECT_THAT(finding.next, testing::Contains(HasSubstr("--watch 60s")));
  }
  ASSERT_EQ(judgement.caveats.size(), 1U);
  EXPECT_EQ(judgement.caveats[0].id, "topo.counters-once");
  EXPECT_TRUE(judgement.caveats[0].limits);
}

// Drivers that are not mlx5: names from the kernel sources that net_names.cc cites. None of their
// troubles is passed over as fine.
NetJudgement of_driver(const std::string& device,
                       const std::map<std::string, std::uint64_t>& more) {
  NetSnapshot before{.source = "before"};
  NetSnapshot after{.source = "after"};
  PortCounters port{.source = Source::kRdmaStatistic, .device = device, .port = 1};
  port.time = core::Duration::from_seconds(1e9);
  for (const auto& [counter, count] : more) port.counters[counter] = {0};
  before.ports.push_back(port);
  port.time = core::Duration::from_seconds(1e9 + 60);
  for (const auto& [counter, count] : more) port.counters[counter] = {count};
  after.ports.push_back(port);
  return judge_network(topology::change_between(before, after));
}

TEST(NetState, CountersOfOtherDrivers) {
  struct Case {
    const char* device;
    const char* counter;
    const char* id;
  };
  for (const Case& each :
       {Case{"bnxt_re0", "max_retry_exceeded", "topo.net-completion-errors"},
        {"bnxt_re0", "remote_access_err", "topo.net-completion-errors"},
        {"bnxt_re0", "to_retransmits", "topo.net-ack-timeout"},
        {"bnxt_re0", "seq_err_naks_rcvd", "topo.net-packet-loss"},
        {"bnxt_re0", "rx_roce_discards", "topo.net-discards"},
        {"bnxt_re0", "rnr_naks_rcvd", "topo.net-receiver-late"},
        {"rdmap16s27", "unresponsive_remote_events", "topo.net-completion-errors"},
        {"rdmap16s27", "rdma_write_wr_err", "topo.net-completion-errors"},
        {"rdmap16s27", "retrans_timeout_events", "topo.net-ack-timeout"},
        {"rdmap16s27", "rx_drops", "topo.net-discards"},
        {"irdma0", "ip4InDiscards", "topo.net-discards"},
        {"irdma0", "tcpRetransSegs", "topo.net-packet-loss"},
        {"irdma0", "cnpIgnored", "topo.net-cnp-ignored"}}) {
    const NetJudgement judgement = of_driver(each.device, {{each.counter, 5000}, {"tx_pkts", 9}});
    EXPECT_EQ(ids_of(judgement), std::string(each.id) + " ") << each.counter;
    EXPECT_EQ(ids_of(of_driver(each.device, {{each.counter, 0}, {"tx_pkts", 9}})), "");
  }
}

// A counter of trouble that no rule knows, and counters of which none is known, are not fine.
TEST(NetState, UnknownTroubleIsSaid) {
  const auto caveats = [](const NetJudgement& judgement) {
    std::string ids;
    for (const core::Caveat& caveat : judgement.caveats)
      ids += caveat.limits ? caveat.id + " " : "";
    return ids;
  };
  EXPECT_EQ(caveats(of_driver("rdmap16s27", {{"impaired_remote_conn_events", 3}, {"rx_drops", 0}})),
            "topo.counters-unjudged ");
  EXPECT_EQ(caveats(of_driver("hns_0", {{"sent_things", 3}})), "topo.counters-unknown ");
  EXPECT_EQ(caveats(of_driver("bnxt_re0", {{"recoverable_errors", 900}, {"to_retransmits", 0}})),
            "");
}

// 2^32 - 1 words are what the counter holds, not what was sent: 0.7 ticks a word are not known.
TEST(NetState, AFullCounterIsNoDenominator) {
  NetSnapshot before{.source = "before"};
  NetSnapshot after{.source = "after"};
  PortCounters port{.source = Source::kPerfquery, .device = "mlx5_0", .port = 1};
  port.counters = {{"port_xmit_data", {1000}}, {"port_xmit_wait", {0}}, {"link_downed", {254}}};
  before.ports.push_back(port);
  port.counters = {
      {"port_xmit_data", {4294967295}}, {"port_xmit_wait", {3000000000}}, {"link_downed", {255}}};
  after.ports.push_back(port);
  const NetJudgement judgement = judge_network(topology::change_between(before, after));
  EXPECT_EQ(find(judgement, "topo.net-credit-wait"), nullptr);
  const Finding* flap = find(judgement, "topo.net-link-flap");
  ASSERT_NE(flap, nullptr);
  EXPECT_THAT(flap->summary, HasSubstr("mlx5_0 (at least 1)"));
  EXPECT_EQ(judgement.caveats.at(0).id, "topo.counters-full");
}

// Interfaces of ethtool alone, whose rates nobody shows.
TEST(NetState, IdleInterfacesOfUnknownRateAreOpen) {
  NetSnapshot before{.source = "before"};
  NetSnapshot after{.source = "after"};
  for (int i = 0; i < 10; ++i) {
    PortCounters port{.source = Source::kEthtool, .netdev = fmt::format("eth{}", i)};
    port.counters = {{"tx_bytes_phy", {5}}, {"rx_discards_phy", {0}}, {"tx_prio3_pause", {0}}};
    before.ports.push_back(port);
    if (i < 8) port.counters["tx_bytes_phy"] = {1'000'000'000'000};
    if (i == 9) port.counters["rx_discards_phy"] = {812};
    after.ports.push_back(port);
  }
  const NetJudgement judgement = judge_network(topology::change_between(before, after));
  for (const Finding& finding : judgement.findings)
    EXPECT_EQ(finding.severity, Severity::kInfo) << finding.id;
  std::vector<std::string> ids;
  for (const core::Caveat& caveat : judgement.caveats)
    if (caveat.limits) ids.push_back(caveat.id);
  EXPECT_THAT(ids, testing::UnorderedElementsAre("topo.net-likeness-open", "topo.net-drops-open"));
}

RdmaPortFacts port_of(const std::string& device, double gigabits, const std::string& state) {
  return {.device = device,
          .state = state,
          .physical_state = state == "ACTIVE" ? "LinkUp" : "Polling",
          .link_layer = "InfiniBand",
          .model = "MT4129",
          .rate = core::Bandwidth::from_Gbps(gigabits)};
}

TEST(NetState, PortsThatChanged) {
  NetSnapshot before{.source = "before"};
  NetSnapshot after{.source = "after"};
  for (int i = 0; i < 4; ++i) {
    before.states.push_back(port_of(fmt::format("mlx5_{}", i), 400, "ACTIVE"));
    before.ports.push_back({.device = fmt::format("mlx5_{}", i),
                            .port = 1,
                            .time = core::Duration::from_seconds(1e9),
                            .counters = {{"port_xmit_data", {0}}}});
    after.ports.push_back(before.ports.back());
    after.ports.back().time = core::Duration::from_seconds(1e9 + 60);
  }
  after.states = {port_of("mlx5_0", 200, "ACTIVE"), port_of("mlx5_1", 10, "DOWN"),
                  port_of("mlx5_2", 400, "ACTIVE")};
  after.ports.pop_back();
  after.ports[0].counters["port_xmit_data"] = {600'000'000'000};  // 40 GB/s of 50, then of 25
  const NetJudgement judgement =
      judge_network(topology::change_between(before, after, after.states));
  EXPECT_EQ(ids_of(judgement), "topo.net-port-gone topo.net-port-down topo.net-rate-fell ");
  EXPECT_THAT(judgement.findings[0].summary, HasSubstr("mlx5_3"));
  EXPECT_THAT(judgement.findings[1].summary, HasSubstr("mlx5_1 (ACTIVE -> DOWN, Polling)"));
  EXPECT_THAT(judgement.findings[2].summary, HasSubstr("mlx5_0 (400 Gb/s -> 200 Gb/s)"));
  after.states = before.states;
  after.ports[0].counters["port_xmit_data"] = {0};
  EXPECT_EQ(ids_of(judge_network(topology::change_between(before, after, after.states))), "");
}

// More than any rate allows: nothing is full, the rate or the time is wrong.
TEST(NetState, MoreThanTheRateIsNotFull) {
  const NetJudgement judgement = Node{.elapsed = 15}.judged();  // 80 GB/s of 50
  EXPECT_EQ(ids_of(judgement), "");
  ASSERT_EQ(judgement.caveats.size(), 1U);
  EXPECT_EQ(judgement.caveats[0].id, "topo.net-over-rate");
}

// One port is down all the time: its state is the reason that it carried nothing.
TEST(NetState, ADownPortAmongBusyOnes) {
  NetSnapshot before{.source = "before"};
  NetSnapshot after{.source = "after"};
  std::vector<RdmaPortFacts> known;
  for (int i = 0; i < 8; ++i) {
    PortCounters port{.device = fmt::format("mlx5_{}", i), .port = 1};
    port.time = core::Duration::from_seconds(1e9);
    port.counters = {{"port_xmit_data", {0}}};
    before.ports.push_back(port);
    port.time = core::Duration::from_seconds(1e9 + 60);
    if (i != 7) port.counters = {{"port_xmit_data", {kWords}}};
    after.ports.push_back(port);
    known.push_back(port_of(port.device, i == 7 ? 10 : 400, i == 7 ? "DOWN" : "ACTIVE"));
  }
  const NetJudgement judgement = judge_network(topology::change_between(before, after, known));
  EXPECT_EQ(ids_of(judgement), "topo.net-port-down ");
  EXPECT_EQ(judgement.findings.at(0).severity, Severity::kWarning);
  EXPECT_THAT(judgement.findings.at(0).summary, HasSubstr("mlx5_7 (DOWN, Polling)"));
  for (int i = 0; i < 4; ++i) known[static_cast<std::size_t>(i)].model = "MT4123";
  known[4].state = known[5].state = known[6].state = "DOWN";  // all of its kind: none is missing
  EXPECT_EQ(
      find(judge_network(topology::change_between(before, after, known)), "topo.net-port-down"),
      nullptr);
}

// 1 of 60 seconds is a moment, 6 are not.
TEST(NetState, OneStalledSecondIsAMoment) {
  Node node;
  node.more[2]["outbound_pci_stalled_wr_events"] = 1;
  const NetJudgement once = node.judged();
  ASSERT_EQ(ids_of(once), "topo.net-pcie-stall ");
  EXPECT_EQ(once.findings[0].severity, Severity::kInfo);
  node.more[2]["outbound_pci_stalled_wr_events"] = 6;
  EXPECT_EQ(node.judged().findings.at(0).severity, Severity::kWarning);
}

// Whatever the counters do: no negative count, every id in the table, every limit with a source.
TEST(NetState, AnyCountersAreJudged) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    NetSnapshot ends[2] = {{.source = "before"}, {.source = "after"}};
    for (NetSnapshot& snapshot : ends)
      for (int i = 0; i < 3; ++i) {
        PortCounters port{.device = fmt::format("mlx5_{}", i), .port = 1};
        if (round % 2 == 0) port.time = core::Duration::from_seconds(1 + random() % 100);
        for (const std::string& counter : kHealthy)
          port.counters[counter] = {random() >> (random() % 64)};
        for (const char* counter : {"port_xmit_data", "port_rcv_data", "port_rcv_packets"})
          port.counters[counter] = {random() >> (random() % 64)};
        snapshot.ports.push_back(std::move(port));
      }
    const NetJudgement judgement = judge_network(topology::change_between(ends[0], ends[1]));
    for (const Finding& finding : judgement.findings)
      EXPECT_NE(core::find_finding(finding.id), nullptr) << finding.id;
  }
  for (const NetLimit& row : net_limits()) {
    EXPECT_GT(row.value, 0) << row.name;
    EXPECT_NE(std::string(row.source), "") << row.name;
  }
}

}  // namespace
}  // namespace comm_probe::diagnose
