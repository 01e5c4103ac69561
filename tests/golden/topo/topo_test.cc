// `topo show` and `topo check` through the program: contract of the JSON, exit statuses, verdicts
// on the files of the field (../shared/data/field/topo/INDEX.md says which are faulty).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "report/layout.h"
#include "run_binary.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

const char* const kSwitched =
    "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" "
    "familyid=\"6\" modelid=\"143\"><pci busid=\"0000:10:00.0\" class=\"0x060400\" "
    "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">"
    "<pci busid=\"0000:18:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" "
    "link_width=\"16\"><gpu dev=\"0\" sm=\"90\" rank=\"0\" gdr=\"1\"/></pci>"
    "<pci busid=\"0000:19:00.0\" class=\"0x020700\" link_speed=\"16.0 GT/s PCIe\" "
    "link_width=\"16\"><nic><net name=\"mlx5_0\" dev=\"0\" speed=\"400000\" gdr=\"1\"/></nic></pci>"
    "</pci></cpu></system>";

nlohmann::json json_of(const std::vector<std::string>& arguments, const std::string& text,
                       int status) {
  std::vector<std::string> all = arguments;
  all.insert(all.end(), {"--from", "-", "--json"});
  const BinaryRun run = run_binary(all, {.stdin_text = text});
  EXPECT_EQ(run.status, status) << run;
  return nlohmann::json::parse(run.out, nullptr, false);
}

TEST(TopoShow, PathsWithHopsByDeviceName) {
  const auto result = json_of({"topo", "show"}, kSwitched, 0)["result"];
  EXPECT_EQ(result["gpus"][0]["name"], "GPU0");
  EXPECT_EQ(result["nics"][0]["name"], "mlx5_0");
  EXPECT_EQ(result["cpus"][0]["numa"], 0);
  const auto& path = result["paths"][0];
  EXPECT_EQ(path["from"], "GPU0");
  EXPECT_EQ(path["to"], "mlx5_0");
  EXPECT_EQ(path["type"], "PIX");
  EXPECT_EQ(path["hops"], nlohmann::json({"switch 0000:10:00.0", "nic 0000:19:00.0", "mlx5_0"}));
  EXPECT_EQ(path["bandwidth_GBps"], 24);  // 16 lanes of gen4 for NCCL
  EXPECT_EQ(path["nominal_GBps"], 32);    // the same link by the standard
}

// Golden GA-04: a 400G port behind gen4 x16 gets 28.2 GB/s.
TEST(TopoCheck, NicWiderThanItsSlot) {
  const auto document = json_of({"topo", "check"}, kSwitched, 1);
  ASSERT_EQ(document["findings"].size(), 1U) << document;
  const auto& finding = document["findings"][0];
  EXPECT_EQ(finding["id"], "topo.nic-wider-than-slot");
  EXPECT_DOUBLE_EQ(finding["expected"]["value"], 50);
  EXPECT_NEAR(finding["observed"]["value"].get<double>(), 28.2, 0.1);
}

const char* const kOffFabric =
    "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\tX\tNV18\tNODE\tNV18\nGPU1\tNV18\tX\tNODE\tNV18\n"
    "GPU2\tNODE\tNODE\tX\tSYS\nGPU3\tNV18\tNV18\tSYS\tX\n";

TEST(TopoCheck, GpuOffTheFabricIsTheOneNamed) {
  const auto document = json_of({"topo", "check"}, kOffFabric, 1);
  ASSERT_EQ(document["findings"].size(), 1U) << document;
  EXPECT_EQ(document["findings"][0]["id"], "topo.nvlink-incomplete");
  EXPECT_THAT(document["findings"][0]["summary"], HasSubstr("GPU2 has NVLink to 0 of 3"));
  EXPECT_EQ(document["findings"][0]["evidence"][0]["line"], 4);
}

TEST(TopoCheck, FewerLinksThanTheOthers) {
  const auto document = json_of({"topo", "check"},
                                "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV18\tNV17\nGPU1\tNV18\tX\tNV17\n"
                                "GPU2\tNV17\tNV17\tX\n",
                                1);
  ASSERT_EQ(document["findings"].size(), 1U) << document;
  EXPECT_EQ(document["findings"][0]["id"], "topo.nvlink-inactive");
  EXPECT_THAT(document["findings"][0]["summary"], HasSubstr("GPU2 has 17 NVLinks"));
}

TEST(Topo, RefusesWithOneLine) {
  for (const char* verb : {"show", "check"}) {
    for (const std::string& text : {std::string(), std::string("\x89PNG\r\n\x1a\n\0\0\0", 11),
                                    std::string("hello\n"), std::string("<a>")}) {
      const BinaryRun run = run_binary({"topo", verb, "--from", "-"}, {.stdin_text = text});
      EXPECT_EQ(run.status, 2) << run;
      EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
    }
  }
}

TEST(Topo, TextFitsTheScreen) {
  for (const char* verb : {"show", "check"}) {
    const BinaryRun run =
        run_binary({"topo", verb, "--from", "-", "--explain"}, {.stdin_text = kSwitched});
    for (const std::string& line : lines_of(run.out))
      EXPECT_LE(report::display_width(line), 100U) << line;
  }
}

// Faulty by INDEX.md: t20, t20b. Everything else ends without a warning: 0, or 5 where rows are
// cut.
TEST(TopoCheck, FieldFilesFaultyFoundHealthyQuiet) {
  const std::filesystem::path folder = std::filesystem::path(COMM_PROBE_SHARED) / "data/field/topo";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no field data at " << folder;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool is_refused = name.starts_with("t04") || name.starts_with("t33") ||
                            name.find("rccl") != std::string::npos;
    if ((name[0] != 't' && name[0] != 'x') || is_refused) continue;
    const BinaryRun run = run_binary({"topo", "check", "--from", entry.path().string(), "-q"});
    if (name.starts_with("t20")) {
      EXPECT_EQ(run.status, 1) << run;
      EXPECT_THAT(run.out, HasSubstr("GPU2 has NVLink to 0 of 7 GPUs")) << run;
    } else {
      EXPECT_TRUE(run.status == 0 || run.status == 5) << run;
    }
    const bool is_template = name[0] == 'x' && !name.starts_with("x03") && !name.starts_with("x07");
    EXPECT_EQ(is_template, run.out.find("topo.template") != std::string::npos) << run;
  }
}

// Our own H200: a virtual machine that hides its tree.
TEST(TopoCheck, VirtualMachineHidesTheTree) {
  const std::filesystem::path file =
      std::filesystem::path(COMM_PROBE_SHARED) / "data/h200/system/nccl-topo.xml";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no recording at " << file;
  const BinaryRun run = run_binary({"topo", "check", "--from", file.string()});
  EXPECT_EQ(run.status, 5) << run;
  EXPECT_THAT(run.out, HasSubstr("distances in it cannot be trusted")) << run;
}

}  // namespace
}  // namespace comm_probe::test
