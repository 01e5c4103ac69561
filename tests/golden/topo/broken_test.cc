// Hostile machines, through every command that reads one: one clear line, exit 2.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string around(const std::string& inside) {
  return "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\">" + inside + "</cpu></system>";
}
std::string pci(const std::string& bus, const std::string& inside, const char* code = "0x060400") {
  return "<pci busid=\"" + bus + "\" class=\"" + code +
         "\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">" + inside + "</pci>";
}
std::string gpu(const std::string& bus, int index) {
  return pci(bus, fmt::format("<gpu dev=\"{0}\" sm=\"90\" rank=\"{0}\" gdr=\"1\"/>", index),
             "0x030200");
}
std::string two_gpus() { return around(gpu("0000:18:00.0", 0) + gpu("0000:19:00.0", 1)); }

std::string written(const std::string& name, const std::string& text) {
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / ("broken_" + test + "_" + name);
  std::ofstream(file) << text;
  return file.string();
}

// `said` stands in the one line of every command.
void expect_refused(const std::string& said, const std::string& text) {
  const std::string whole = written("whole.xml", two_gpus());
  const std::string broken = written("machine", text);
  const std::vector<std::string> commands[] = {{"topo", "show", "--from", broken},
                                               {"topo", "check", "--from", broken},
                                               {"topo", "diff", whole, broken},
                                               {"nccl", "plan", "--topo", broken}};
  for (const auto& command : commands) {
    const BinaryRun run = run_binary(command);
    EXPECT_EQ(run.status, 2) << said << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << said << run.err.substr(0, 300);
    EXPECT_TRUE(run.out.empty()) << said << run;
    EXPECT_THAT(run.err, HasSubstr(said)) << run;
    EXPECT_THAT(run.err, HasSubstr("_machine:")) << said;
  }
}

TEST(BrokenMachines, Xml) {
  std::string switches;
  std::string gpus;
  std::string deep;
  for (int i = 0; i < 100000; ++i) {
    switches += pci(fmt::format("{:04x}:{:02x}:00.0", i / 256, i % 256), "");
    gpus += gpu(fmt::format("{:04x}:{:02x}:00.0", i / 256, i % 256), i);
    deep += "<pci busid=\"0000:01:00.0\" class=\"0x060400\">";
  }
  const auto linked_to = [](const char* target) {
    return pci("0000:10:00.0",
               fmt::format("<pcilink target=\"{}\"/>", target) + gpu("0000:18:00.0", 0));
  };
  expect_refused("well-formed", around(gpu("0000:18:00.0", 0)).substr(0, 60));
  expect_refused("well-formed", "<system version=\"1\"><cpu numaid=0></system>");
  expect_refused("under no cpu", "<system version=\"1\">" + gpu("0000:18:00.0", 0) + "</system>");
  expect_refused("two devices have the bus id",
                 around(gpu("0000:18:00.0", 0) + gpu("0000:18:00.0", 1)));
  expect_refused("two cpu elements",
                 "<system version=\"1\"><cpu numaid=\"0\"/>" +
                     two_gpus().substr(std::string("<system version=\"1\">").size()));
  expect_refused("more than 576", around(switches));
  expect_refused("more than 576", around(gpus));
  expect_refused("linked to itself", around(linked_to("0000:10:00.0")));
  expect_refused("no reverse",
                 around(linked_to("0000:20:00.0") + pci("0000:20:00.0", gpu("0000:28:00.0", 1))));
  expect_refused("", around(deep));  // refused by the XML reader or for its depth
}

// The graph of a saved topology: nodes[0] is the CPU, then the two GPUs.
TEST(BrokenMachines, SavedJson) {
  const BinaryRun show =
      run_binary({"topo", "show", "--from", "-", "--json"}, {.stdin_text = two_gpus()});
  const json saved = json::parse(show.out);
  const auto changed = [&](const std::function<void(json&)>& change) {
    json document = saved;
    change(document["result"]);
    return document.dump();
  };
  const auto link_to = [](int node) {
    return json{{"type", "PCI"}, {"to", node}, {"count", 1}, {"nccl_GBps", 48.0}};
  };
  expect_refused("not well-formed JSON", show.out.substr(0, 900));
  expect_refused("closes a circle", changed([&](json& result) {
                   result["graph"]["nodes"][1]["links"].push_back(link_to(2));
                   result["graph"]["nodes"][2]["links"].push_back(link_to(1));
                 }));
  expect_refused("leads to node 1 of 3", changed([&](json& result) {
                   result["graph"]["nodes"][1]["links"].push_back(link_to(1));
                 }));
  expect_refused("leads to node 99 of 3", changed([&](json& result) {
                   result["graph"]["nodes"][0]["links"][0]["to"] = 99;
                 }));
  expect_refused("has not one link back", changed([&](json& result) {
                   result["graph"]["nodes"][1]["links"] = json::array();
                 }));
  expect_refused("stands under no CPU", changed([&](json& result) {
                   result["graph"]["nodes"][0]["links"].erase(0);
                   result["graph"]["nodes"][1]["links"] = json::array();
                 }));
  expect_refused("two devices have the bus id", changed([&](json& result) {
                   result["graph"]["nodes"][2]["bus_id"] = "0000:18:00.0";
                 }));
  expect_refused("stands at another device too",
                 changed([&](json& result) { result["gpus"].push_back(result["gpus"][0]); }));
  expect_refused("more than 8192 nodes", changed([&](json& result) {
                   json nodes = result["graph"]["nodes"];
                   for (int i = 0; i < 100000; ++i) nodes.push_back(nodes[1]);
                   result["graph"]["nodes"] = nodes;
                 }));
}

}  // namespace
}  // namespace comm_probe::test
