// Golden rows of chapters 2 and 3 that `topo show` answers with its table of links and `calc path`
// with what it says of queue pairs, and the count of all rows: none is without an answer of a
// command. Rows that are no figures of golden.tsv (ranges, settings, claims) stand here as text.
// g++ 12 finds uninitialized memory in its own <regex> where a sanitizer has changed the code.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "golden_box.h"
#include "run_binary.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

nlohmann::json calc_path(const std::string& gpu, const std::string& nic) {
  return run({"calc", "path", "--gpu", gpu, "--nic", nic}, "")["result"];
}
nlohmann::json figure(const nlohmann::json& result, const std::string& name) {
  for (const auto& figure : result["rdma"]["figures"])
    if (figure["name"] == name) return figure;
  ADD_FAILURE() << name;
  return {};
}

// Nominal, after coding, NCCL's and effective are four numbers, each under its own name.
TEST(GoldenLinks, PcieOneWay) {
  struct Case {
    const char* id;
    const char* speed;
    const char* name;
    double nominal;
    double nccl;
  };
  const Case cases[] = {{"G2-05", "8.0 GT/s PCIe", "PCIe gen3 x16", 16, 12},
                        {"G2-06", "16.0 GT/s PCIe", "PCIe gen4 x16", 32, 24},
                        {"G2-07", "32.0 GT/s PCIe", "PCIe gen5 x16", 64, 48}};
  for (const Case& one : cases) {
    const auto pcie = link(shown({.speed = one.speed}), one.name);
    EXPECT_NEAR(pcie["line_GBps"], number(one.id), 1e-6) << one.id;
    EXPECT_DOUBLE_EQ(pcie["nominal_GBps"], one.nominal) << one.id;
    EXPECT_DOUBLE_EQ(pcie["nccl_GBps"], one.nccl) << one.id;
    const double share = pcie["effective_share_of_line"];
    EXPECT_TRUE(share > 0.80 && share < 0.90) << "G2-08" << share;
    EXPECT_EQ(pcie["count"], 4);  // the switch, two GPUs, the NIC
  }
  const BinaryRun text =
      run_binary({"topo", "show", "--from", "-"}, {.stdin_text = xml_of({.nvlinks = 0})});
  EXPECT_THAT(text.out, HasSubstr("reach 80 to 90 % of nominal"));
}

// What NCCL's maintainers say of packets on NVLink 3 and 4; of others nothing is public.
TEST(GoldenLinks, NvlinkAfterPackets) {
  EXPECT_DOUBLE_EQ(link(shown({.sm = 80, .nvlinks = 12}), "NVLink 3 x12")["effective_GBps"], 240);
  EXPECT_NEAR(link(shown({}), "NVLink 4 x18")["effective_GBps"], 370, 1e-6);
  EXPECT_NEAR(path(shown({}), "GPU0", "GPU1")["effective_GBps"], 370, 1e-6);
  const auto unknown = link(shown({.sm = 100}), "NVLink 5 x18");
  EXPECT_TRUE(unknown["effective_GBps"].is_null());
  EXPECT_EQ(unknown["effective_source"], "no public figure is known");
}

// 9 holds for H100 with NDR only: the rows of A100 and of Blackwell with NDR are flagged.
TEST(GoldenLinks, NvlinkOverNics) {
  const std::pair<const char*, const char*> machines[] = {
      {"dgx-h100", "G2-14"}, {"dgx-a100", "G2-15"}, {"dgx-b200", "G2-16"}};
  for (const auto& [name, id] : machines) {
    const BinaryRun xml = run_binary({"machines", name, "--topo"});
    const auto document = run({"topo", "show", "--from", "-"}, xml.out);
    EXPECT_DOUBLE_EQ(document["result"]["nvlink_over_nics"]["ratio"], number(id)) << id;
  }
}

TEST(GoldenLinks, Latency) {
  const auto range = [](const nlohmann::json& result, int path) {
    const auto& latency = result["paths"][static_cast<std::size_t>(path)]["latency_us"];
    return fmt::format("{}–{}", latency[0].get<double>(), latency[1].get<double>());
  };
  EXPECT_EQ(fmt::format("{} / {} / {}", range(calc_path("H100", "NDR"), 2),
                        range(calc_path("H100", "400GbE"), 2), range(calc_path("H100", "NDR"), 0)),
            "1–2 / 2–4 / 15–50")
      << "G3-13";
  // through the CPU it takes longer
  EXPECT_EQ(calc_path("H100", "NDR")["gdr_through_cpu"]["latency_us"][1], 4);
}

TEST(GoldenLinks, QueuePairTimers) {
  const auto rdma = calc_path("H100", "NDR")["rdma"];
  const auto& old = rdma["timers"][0];
  const auto& recent = rdma["timers"][1];
  EXPECT_NEAR(recent["ack_timeout_s"], number("G3-14"), 1e-6);
  EXPECT_NEAR(recent["status_12_after_s"], number("G3-15"), 1e-6);
  // the row says 20; that is the default from 2.23 on only
  EXPECT_EQ(fmt::format("{} {}; {} {}", recent["NCCL_IB_TIMEOUT"].get<int>(),
                        recent["applies_when"].get<std::string>(),
                        old["NCCL_IB_TIMEOUT"].get<int>(), old["applies_when"].get<std::string>()),
            "20 NCCL from 2.23; 18 NCCL through 2.22")
      << "G3-16";
  EXPECT_NEAR(old["status_12_after_s"], 7.516, 1e-3) << "G3-16";
  EXPECT_EQ(recent["NCCL_IB_RETRY_CNT"], 7) << "G3-17";
  std::string names;
  for (const int code : {12, 13}) {
    const auto& status = rdma["statuses"][static_cast<std::size_t>(code)];
    EXPECT_EQ(status["code"], code);
    names += (names.empty() ? "" : " / ") + status["name"].get<std::string>();
  }
  EXPECT_EQ(names, golden("G3-18"));
  EXPECT_EQ(rdma["statuses"][13]["in_nccl"], "not reachable with NCCL defaults") << "G3-26";
  std::string states;
  for (const auto& state : rdma["queue_pair_states"])
    states += (states.empty() ? "" : ",") + state.get<std::string>();
  EXPECT_EQ(states, golden("G3-22"));
}

TEST(GoldenLinks, TimersAsGiven) {
  const auto given = run(
      {"calc", "path", "--gpu", "H100", "--nic", "NDR", "--ib-timeout", "22", "--ib-retry", "3"},
      "")["result"]["rdma"]["timers"][0];
  EXPECT_NEAR(given["status_12_after_s"], 3 * 4.096e-6 * (1 << 22), 1e-6);
  run({"calc", "path", "--gpu", "H100", "--nic", "NDR", "--ib-timeout", "0"}, "");
  const BinaryRun bad =
      run_binary({"calc", "path", "--gpu", "H100", "--nic", "NDR", "--ib-timeout", "32"});
  EXPECT_EQ(bad.status, 2) << bad;
  EXPECT_EQ(lines_of(bad.err).size(), 1U) << bad;
}

// Orders of magnitude: hundreds of milliseconds, one core, a few GB/s, less than 25 GB/s.
TEST(GoldenLinks, OrdersOfMagnitude) {
  const auto h100 = calc_path("H100", "NDR");
  const auto registration = figure(h100, "registration of 1 GB of host memory");
  EXPECT_TRUE(registration["low"] == 100 && registration["unit"] == "ms") << "G3-21";
  EXPECT_EQ(figure(h100, "CPU cores per NIC")["high"], 1) << "G3-25";
  EXPECT_EQ(h100["paths"][2]["cores_needed"], h100["pairs"]) << "G3-25";
  const auto across = figure(h100, "GPUDirect RDMA through the CPU");
  EXPECT_TRUE(across["low"] == 1 && across["high"] < 48) << "G2-24";
  EXPECT_THAT(across["source"], HasSubstr("perftest/issues/241")) << "G2-24";
  EXPECT_LT(calc_path("A100", "HDR")["paths"][1]["ceiling_GBps"], 25) << "G3-24";
  const auto cores = h100["tcp_cores_per_nic"];
  EXPECT_TRUE(cores[0] == 15 && cores[1] == 40) << "G3-06" << cores;
}

// The vendor's figure is both directions: twice what `topo show` prints.
TEST(GoldenLinks, VendorFiguresAreBothDirections) {
  std::string vendor;
  const Box boxes[] = {{.sm = 80, .nvlinks = 12}, {.sm = 90}, {.sm = 100}};
  for (const Box& box : boxes)
    vendor += fmt::format("{}{}", vendor.empty() ? "" : "/",
                          2 * path(shown(box), "GPU0", "GPU1")["nominal_GBps"].get<double>());
  EXPECT_EQ(vendor, golden("G2-04"));
}

// Rows of the table, and rows whose id stands in a test of this folder.
TEST(GoldenLinks, EveryRowOfChapters2And3IsAnsweredByACommand) {
  std::ifstream table(COMM_PROBE_SHARED "/spec/golden.csv");
  if (!table) GTEST_SKIP() << "no shared/spec/golden.csv beside this checkout";
  std::stringstream tests;
  for (const auto& file : std::filesystem::directory_iterator(
           std::filesystem::path(COMM_PROBE_SOURCE_DIR) / "tests/golden/topo"))
    if (file.path().filename().string().starts_with("golden_"))
      tests << std::ifstream(file.path()).rdbuf();
  int rows = 0;
  for (std::string line; std::getline(table, line);) {
    const std::string id = line.substr(0, line.find(','));
    if (!std::regex_search(id, std::regex("^(G[23]-|GA-0[45])"))) continue;
    ++rows;
    EXPECT_NE(tests.str().find('"' + id + '"'), std::string::npos) << id;
  }
  EXPECT_EQ(rows, 56);
}

}  // namespace
}  // namespace comm_probe::test
