// The golden rows of chapters 2 and 3 and of exercise A4 and A5, as the commands print them: what a
// person reads, not what a function returns (that is tests/golden/arithmetic). Expected values come
// from tests/golden/arithmetic/golden.tsv.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "golden_box.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

// G2-01..03 and G2-17..19: the same links, by the standard and by NCCL; never mixed.
TEST(GoldenRows, NvlinkOneWay) {
  struct Case {
    Box box;
    const char* nominal;
    const char* per_link;
  };
  const Case cases[] = {
      {{.sm = 80, .nvlinks = 12, .speed = "16.0 GT/s PCIe", .port = 200000}, "G2-01", "G2-17"},
      {{.sm = 90}, "G2-02", "G2-18"},
      {{.sm = 100}, "G2-03", "G2-19"},
  };
  for (const Case& one : cases) {
    const auto nvlink = path(shown(one.box), "GPU0", "GPU1");
    EXPECT_EQ(nvlink["type"], "NVL");
    EXPECT_DOUBLE_EQ(nvlink["nominal_GBps"], number(one.nominal)) << one.nominal;
    EXPECT_NEAR(nvlink["bandwidth_GBps"], one.box.nvlinks * number(one.per_link), 1e-3);
  }
  EXPECT_DOUBLE_EQ(path(shown({}), "GPU0", "GPU1")["nominal_GBps"], number("G2-26"));
}

// G2-09, G2-10, G2-20, G3-10.
TEST(GoldenRows, PortsAndPcie) {
  const auto hdr = shown({.sm = 80, .nvlinks = 12, .speed = "16.0 GT/s PCIe", .port = 200000});
  EXPECT_DOUBLE_EQ(hdr["result"]["nics"][0]["port_GBps"], number("G2-09"));
  EXPECT_DOUBLE_EQ(shown({})["result"]["nics"][0]["port_GBps"], number("G2-10"));
  const auto up = path(hdr, "GPU0", "CPU0");
  EXPECT_DOUBLE_EQ(up["bandwidth_GBps"], number("G2-20"));
  EXPECT_DOUBLE_EQ(up["nominal_GBps"], 32);
  EXPECT_NEAR(up["effective_GBps"], number("G3-10"), 1e-6);
}

// G2-11..13: 78 % is a match, and `topo check` is quiet; one generation less is not.
TEST(GoldenRows, PortOverSlot) {
  const std::pair<const char*, int> matches[] = {
      {"16.0 GT/s PCIe", 200000}, {"32.0 GT/s PCIe", 400000}, {"64.0 GT/s PCIe", 800000}};
  for (const auto& [speed, port] : matches)
    run({"topo", "check", "--from", "-"}, xml_of({.speed = speed, .port = port}), 0);
  // GA-04a: what the slot leaves of the port.
  const auto findings =
      run({"topo", "check", "--from", "-"}, xml_of({.speed = "16.0 GT/s PCIe"}), 1)["findings"];
  nlohmann::json wrong;
  for (const auto& finding : findings)
    if (finding["severity"] != "info") wrong = finding;
  EXPECT_EQ(wrong["id"], "topo.nic-wider-than-slot");
  EXPECT_DOUBLE_EQ(wrong["expected"]["value"], number("G2-10"));
  EXPECT_NEAR(wrong["observed"]["value"], number("GA-04a"), 1e-6);
  const std::tuple<const char*, const char*, const char*, const char*> shares[] = {
      {"A100", "HDR", "4", "G2-11"}, {"H100", "NDR", "5", "G2-12"}, {"B200", "XDR", "6", "G2-13"}};
  for (const auto& [gpu, nic, pcie, row] : shares) {
    const auto result =
        run({"calc", "path", "--gpu", gpu, "--nic", nic, "--pcie", pcie}, "")["result"];
    EXPECT_NEAR(result["nic_over_pcie"].get<double>() * 100, number(row), 1e-6) << row;
  }
}

// G2-21: 6 to 40 GB/s between sockets, by the model of the CPU.
TEST(GoldenRows, BetweenSockets) {
  const std::pair<int, double> models[] = {{79, 6}, {85, 10}, {143, 22}, {207, 40}};
  for (const auto& [model, rate] : models) {
    const auto document = shown(
        {.cpu = fmt::format("arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"{}\"",
                            model)});
    const auto across = path(document, "GPU0", "CPU1");
    EXPECT_EQ(across["type"], "SYS");
    EXPECT_DOUBLE_EQ(across["bandwidth_GBps"], rate) << "G2-21" << model;
  }
}

// G2-22, G2-25: the words as printed, best to worst, with NCCL's word for each.
TEST(GoldenRows, SixWords) {
  const auto document = run({"topo", "show", "--from", "-"},
                            "\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\tNIC3\tNIC4\n"
                            "GPU0\tX\tNV12\tPIX\tPXB\tPHB\tNODE\tSYS\n"
                            "GPU1\tNV12\tX\tPIX\tPXB\tPHB\tNODE\tSYS\n");
  std::string printed = "NV#";
  std::string nccl = path(document, "GPU0", "GPU1")["nccl_type"];
  for (int nic = 0; nic < 5; ++nic) {
    const auto way = path(document, "GPU0", fmt::format("NIC{}", nic));
    printed += "/" + way["type"].get<std::string>();
    nccl += "/" + way["nccl_type"].get<std::string>();
  }
  EXPECT_EQ(printed, golden("G2-22"));
  EXPECT_EQ(nccl, "NVL/PIX/PXB/PHB/PHB/SYS");
  EXPECT_EQ(path(document, "GPU0", "GPU1")["type"].get<std::string>() + " / " +
                path(document, "GPU0", "NIC0")["type"].get<std::string>() + " / " +
                path(document, "GPU0", "NIC4")["type"].get<std::string>(),
            golden("G2-25"));
}

std::string level(const Box& box, const std::string& version, const std::string& rule) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) /
      (std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".xml");
  std::ofstream(file) << xml_of(box);
  const auto document =
      run({"nccl", "plan", "--topo", file.string(), "--nodes", "2", "--version", version}, "");
  for (const auto& line : document["result"]["policy"])
    if (line["rule"] == rule) return line["outcome"];
  return "";
}

const char* const kAmd = "arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"25\" modelid=\"1\"";

// G2-23: SYS through 2.22 (but Intel: PXB); PXB from 2.23, but SYS on AMD with at most two GPUs.
TEST(GoldenRows, PeerLevelByVersion) {
  EXPECT_EQ(level({.cpu = kAmd, .gpus = 4}, "2.22", "P2P level"), "SYS");
  EXPECT_EQ(level({.cpu = kAmd, .gpus = 4}, "2.23", "P2P level"), "PXB");
  EXPECT_EQ(level({.cpu = kAmd, .gpus = 2}, "2.28", "P2P level"), "SYS");
  EXPECT_EQ(level({}, "2.22", "P2P level"), "PXB");
  EXPECT_EQ(level({}, "2.28", "P2P level"), "PXB") << "G2-23";
}

// G3-19: PXB through 2.28, P2C from 2.29.
TEST(GoldenRows, GdrLevelByVersion) {
  EXPECT_EQ(level({}, "2.28", "GPUDirect RDMA level"), "PXB");
  EXPECT_EQ(level({}, "2.29", "GPUDirect RDMA level"), "P2C") << "G3-19";
}

// G3-20, GA-05: what the log line of a PHB pair says depends on the release.
TEST(GoldenRows, DistanceOfAPhbPair) {
  const auto document = run({"topo", "check", "--from", "-"}, xml_of({.is_under_switch = false}));
  std::string reason;
  for (const auto& line : document["result"]["policy"])
    if (line["rule"] == "GPUDirect RDMA") reason = line["reason"];
  EXPECT_THAT(reason, HasSubstr("distance PHB is beyond the level PXB"));
  EXPECT_THAT(reason, HasSubstr("8 > 5")) << "G3-20";  // 2.27 and 2.28
  EXPECT_EQ(golden("GA-05"), "version dependent");
}

// G3-01..05, G3-07..12, GA-04b.
TEST(GoldenRows, ThreePaths) {
  const auto ndr = run({"calc", "path", "--gpu", "H100", "--nic", "NDR"}, "")["result"]["paths"];
  EXPECT_EQ(ndr[0]["copies"], number("G3-01"));
  EXPECT_EQ(ndr[0]["host_memory_accesses_per_byte"], number("G3-02"));
  EXPECT_EQ(fmt::format("{}/{}", ndr[1]["copies"].get<int>(),
                        ndr[1]["host_memory_accesses_per_byte"].get<int>()),
            golden("G3-03"));
  EXPECT_EQ(fmt::format("{}/{}", ndr[2]["copies"].get<int>(),
                        ndr[2]["host_memory_accesses_per_byte"].get<int>()),
            golden("G3-04"));
  EXPECT_DOUBLE_EQ(ndr[0]["host_memory_traffic_GBps"].get<double>() / 1000, number("G3-05"));
  EXPECT_DOUBLE_EQ(ndr[2]["ceiling_nominal_GBps"], number("G3-07"));
  EXPECT_DOUBLE_EQ(ndr[2]["ceiling_nominal_GBps"].get<double>() * 8, number("G3-11"));
  EXPECT_DOUBLE_EQ(ndr[2]["host_memory_traffic_GBps"], number("G3-12"));
  EXPECT_DOUBLE_EQ(ndr[1]["host_memory_traffic_GBps"], number("G3-23"));
  const auto hdr = run({"calc", "path", "--gpu", "A100", "--nic", "HDR"}, "")["result"]["paths"];
  EXPECT_DOUBLE_EQ(hdr[2]["ceiling_nominal_GBps"], number("G3-08"));
  const auto mixed = run({"calc", "path", "--gpu", "A100", "--nic", "NDR"}, "")["result"]["paths"];
  EXPECT_DOUBLE_EQ(mixed[2]["ceiling_nominal_GBps"], number("G3-09"));
  EXPECT_NEAR(mixed[2]["ceiling_GBps"], number("G3-10"), 1e-6);
  EXPECT_NEAR(mixed[2]["ceiling_GBps"], number("GA-04c"), 0.02 * number("GA-04c"));
  const double wasted = 1 - mixed[2]["ceiling_nominal_GBps"].get<double>() / number("G2-10");
  EXPECT_NEAR(100 * wasted, number("GA-04b"), 1e-6);
}

}  // namespace
}  // namespace comm_probe::test
