// `machines` through the program itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json number(const json& entry, const std::string& name) {
  for (const json& found : entry.at("numbers"))
    if (found.at("name") == name) return found;
  ADD_FAILURE() << "no number " << name;
  return {};
}

TEST(Machines, ListFitsAHundredColumnsAndNamesEveryKindOfMachine) {
  const BinaryRun run = run_binary({"machines"});
  EXPECT_EQ(run.status, 0) << run;
  for (const std::string& line : lines_of(run.out)) EXPECT_LE(line.size(), 100U) << line;
  for (const char* name : {"dgx-a100", "dgx-h100", "dgx-h200", "dgx-b200", "hgx-a100-4gpu",
                           "8xl40s", "aws-p4d", "aws-p5", "azure-ndv4", "azure-ndv5"})
    EXPECT_THAT(run.out, HasSubstr(std::string("\n") + name)) << run;
  EXPECT_THAT(run.out, testing::Not(HasSubstr("left out to fit"))) << run;
}

TEST(Machines, ListsOfPartsFitAHundredColumns) {
  for (const char* flag : {"--gpus", "--nics", "--links"}) {
    const BinaryRun run = run_binary({"machines", flag});
    EXPECT_EQ(run.status, 0) << run;
    for (const std::string& line : lines_of(run.out)) EXPECT_LE(line.size(), 100U) << line;
  }
}

// golden G2-02, G2-10, G2-14, G2-18
TEST(Machines, OneMachineWithNumbersAndSources) {
  const BinaryRun run = run_binary({"machines", "DGX-H100", "--json"});
  ASSERT_EQ(run.status, 0) << run;
  const json document = json::parse(run.out);
  EXPECT_EQ(document.at("command"), "machines");
  const json& machine = document.at("result");
  EXPECT_EQ(number(machine, "intra_node_one_way_GBps").at("value"), 450);
  EXPECT_EQ(number(machine, "nic_share_GBps").at("value"), 50);
  EXPECT_EQ(number(machine, "nvlink_over_nic").at("value"), 9);
  EXPECT_EQ(number(machine.at("gpu"), "links_nccl_GBps").at("value"), 370.8);
  for (const json& found : machine.at("numbers")) {
    EXPECT_FALSE(found.at("source").get<std::string>().empty()) << found;
    EXPECT_TRUE(found.at("basis") == "catalog" || found.at("basis") == "computed") << found;
  }
}

TEST(Machines, FindsTheGpuOfALogLine) {
  const BinaryRun run = run_binary({"machines", "NVIDIA A100-SXM4-80GB", "--json"});
  ASSERT_EQ(run.status, 0) << run;
  EXPECT_EQ(json::parse(run.out).at("result").at("name"), "A100-SXM-80GB");
}

TEST(Machines, UnknownNameSuggestsTheNearest) {
  const BinaryRun run = run_binary({"machines", "dgx-h10"});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_EQ(run.out, "") << run;
  EXPECT_EQ(run.err,
            "comm-probe: the catalog knows no machine, GPU, NIC or model 'dgx-h10'; did you mean "
            "'dgx-h100'?\n");
}

TEST(Machines, TopologyIsXmlAndNothingElse) {
  const BinaryRun run = run_binary({"machines", "dgx-a100", "--topo"});
  ASSERT_EQ(run.status, 0) << run;
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(run.out.c_str())) << run;
  EXPECT_EQ(document.select_nodes("//gpu").size(), 8U);
  const BinaryRun alone = run_binary({"machines", "--topo"});
  EXPECT_EQ(alone.status, 2) << alone;
  const BinaryRun amd = run_binary({"machines", "oci-mi300x", "--topo"});
  EXPECT_EQ(amd.status, 2) << amd;
  EXPECT_THAT(amd.err, HasSubstr("MI300X")) << amd;
}

// Every name that `calc path --nic` takes is known here too.
TEST(Machines, KnowsPortRates) {
  const BinaryRun run = run_binary({"machines", "NDR", "--json"});
  ASSERT_EQ(run.status, 0) << run;
  EXPECT_EQ(json::parse(run.out).at("result").at("one_way_GBps"), 50);
}

TEST(Machines, TopologyOfAPartNamesItsMachines) {
  const BinaryRun run = run_binary({"machines", "H100", "--topo"});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_THAT(run.err, HasSubstr("is a GPU")) << run;
  EXPECT_THAT(run.err, HasSubstr("dgx-h100")) << run;
}

// `machines`, `calc` and the readers of curves take the way out of a node from one function.
TEST(Machines, CalcUsesTheSameShare) {
  for (const char* name : {"aws-p5", "dgx-h100", "aws-p4d", "hgx-h100-2nic"}) {
    const BinaryRun shown = run_binary({"machines", name, "--json"});
    const BinaryRun priced = run_binary(
        {"calc", "all_reduce", "--machine", name, "--nodes", "2", "-s", "1GB", "--json"});
    ASSERT_EQ(priced.status, 0) << priced;
    EXPECT_EQ(number(json::parse(shown.out).at("result"), "nic_share_GBps").at("value"),
              json::parse(priced.out)["result"]["links"]["between"].at("beta_GBps"))
        << name;
  }
}

// NCCL sees a rack of GB200 as one machine of 18 hosts, as the file of the oracle has it.
TEST(Machines, ARackHasAllItsTrays) {
  const BinaryRun rack = run_binary({"machines", "gb200-nvl72-tray", "--topo", "--trays", "18"});
  EXPECT_THAT(rack.out, HasSubstr("host_hash=\"0x12\"")) << rack;
  EXPECT_THAT(rack.out, HasSubstr("rank=\"71\"")) << rack;
  const BinaryRun more = run_binary({"machines", "gb200-nvl72-tray", "--topo", "--trays", "19"});
  EXPECT_EQ(more.status, 2) << more;
  EXPECT_EQ(run_binary({"machines", "dgx-h100", "--topo", "--trays", "2"}).status, 2);
}

TEST(Machines, TakesAUsersCatalog) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("catalog-test-" + std::to_string(::getpid()));
  std::ofstream(path) << "[[machine]]\nname = \"ours\"\nbase = \"dgx-h100\"\n"
                         "description = \"ours\"\nnic = \"ConnectX-6\"\nsource = \"our rack\"\n";
  const BinaryRun run = run_binary({"machines", "ours", "--catalog", path.string(), "--json"});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_EQ(number(json::parse(run.out).at("result"), "nic_total_GBps").at("value"), 200);
  std::ofstream(path) << "[[machine]]\nname = \"ours\"\nbase = \"dgx-h100\"\nnics = \"eight\"\n";
  const BinaryRun bad = run_binary({"machines", "--catalog", path.string()});
  EXPECT_EQ(bad.status, 2) << bad;
  EXPECT_THAT(bad.err, HasSubstr(path.string() + ":1: machine 'ours': 'source' is missing")) << bad;
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace comm_probe::test
