// A saved topology read again is the same: writing it once more gives the same JSON. Generated
// machines, files of the field, recorded trees; and documents that were damaged on purpose.
#include "topology/saved_topology.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

namespace comm_probe::topology {
namespace {

using core::Input;

std::string saved_text(const Survey& survey) {
  return core::Json{{"command", "topo"}, {"result", saved_json(survey)}}.dump();
}

core::Result<Survey> read_again(const std::string& text) {
  Input input = Input::from_memory("saved.json", text);
  return read_survey(input);
}

void expect_same_again(const Survey& survey, const std::string& name) {
  const auto again = read_again(saved_text(survey));
  ASSERT_TRUE(again.ok()) << name << ": " << again.error().one_line();
  EXPECT_EQ(saved_json(*again), saved_json(survey)) << name;
  EXPECT_EQ(again->machine.has_value(), survey.machine.has_value()) << name;
  if (!survey.machine) return;
  // The graph itself: paths found anew on it are the paths that were saved.
  const auto anew = survey_of(*again->machine);
  ASSERT_TRUE(anew.ok()) << name;
  EXPECT_EQ(saved_json(*anew)["paths"], saved_json(*survey_of(*survey.machine))["paths"]) << name;
}

std::string random_xml(unsigned seed) {
  std::mt19937 random(seed);
  const auto up_to = [&](unsigned most) { return static_cast<int>(random() % most) + 1; };
  std::string text = "<system version=\"1\">";
  int bus = 0, gpus = 0, nics = 0;
  for (int cpu = 0, cpus = up_to(2); cpu < cpus; ++cpu) {
    text += fmt::format(
        "<cpu numaid=\"{}\" affinity=\"0000ffff\" arch=\"x86_64\" vendor=\"AuthenticAMD\">", cpu);
    for (int i = up_to(3); i > 0; --i) {
      text += fmt::format("<pci busid=\"0000:{:02x}:00.0\" class=\"0x060400\">", ++bus);
      for (int j = up_to(4); j > 0; --j) {
        const bool is_gpu = random() % 2 == 0;
        text += fmt::format("<pci busid=\"0000:{:02x}:00.0\" class=\"0x03\" link_width=\"{}\">",
                            ++bus, up_to(16));
        text += is_gpu ? fmt::format(
                             "<gpu dev=\"{0}\" sm=\"90\" rank=\"{0}\" gdr=\"1\"><nvlink "
                             "target=\"f\" count=\"18\" tclass=\"0x068000\"/></gpu>",
                             gpus++)
                       : fmt::format(
                             "<nic><net name=\"mlx5_{}\" dev=\"{}\" speed=\"{}\" "
                             "latency=\"0.7\" guid=\"0xab{}\"/></nic>",
                             nics % 3, nics, up_to(400000), nics);
        nics += is_gpu ? 0 : 1;
        text += "</pci>";
      }
      text += "</pci>";
    }
    text += "</cpu>";
  }
  return text + "</system>";
}

TEST(SavedTopology, GeneratedMachines) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Input input = Input::from_memory("generated.xml", random_xml(seed));
    const auto survey = read_survey(input);
    ASSERT_TRUE(survey.ok()) << survey.error().one_line();
    expect_same_again(*survey, fmt::format("seed {}", seed));
  }
}

TEST(SavedTopology, FilesOfTheField) {
  namespace fs = std::filesystem;
  const fs::path shared = COMM_PROBE_SHARED;
  if (!fs::exists(shared / "data")) GTEST_SKIP() << "no " << shared / "data";
  int read = 0;
  for (const char* folder : {"data/field/topo", "data/oracle"})
    for (const auto& entry : fs::recursive_directory_iterator(shared / folder)) {
      const auto extension = entry.path().extension();
      if (extension != ".xml" && extension != ".txt") continue;
      auto input = Input::open(entry.path().string());
      const auto survey = read_survey(*input);
      if (!survey) continue;
      expect_same_again(*survey, entry.path().string());
      ++read;
    }
  EXPECT_GE(read, 70);
}

TEST(SavedTopology, RecordedMachines) {
  for (const char* name : {"two-socket", "kvm-2cpu"}) {
    const auto host =
        core::Host::recorded(COMM_PROBE_SOURCE_DIR "/tests/inputs/hosts/" + std::string(name));
    const auto survey = survey_of(*host);
    ASSERT_TRUE(survey.ok());
    expect_same_again(*survey, name);
  }
}

std::string small_document() {
  Input input = Input::from_memory("generated.xml", random_xml(7));
  return saved_text(*read_survey(input));
}

// Whatever is cut, doubled or overwritten: a survey, or one error with a place.
TEST(SavedTopology, DamagedDocuments) {
  const std::string whole = small_document();
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string text = whole;
    const std::size_t at = random() % text.size();
    switch (round % 4) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text[at] = static_cast<char>(random() % 256);
        break;
      case 2:
        text.replace(at, random() % 40, "-7e99");
        break;
      case 3:
        text.insert(at, text.substr(random() % text.size(), 60));
        break;
    }
    const auto survey = read_again(text);
    if (!survey) {
      EXPECT_EQ(survey.error().one_line().find('\n'), std::string::npos);
      continue;
    }
    if (survey->machine) (void)survey_of(*survey->machine).ok();
  }
}

std::string changed(const char* pointer, const core::Json& value) {
  core::Json document = core::Json::parse(small_document());
  document[core::Json::json_pointer(pointer)] = value;
  return document.dump();
}

TEST(SavedTopology, FaultsNameTheirPlace) {
  struct Case {
    const char* pointer;
    core::Json value;
    const char* message;
  };
  const Case kCases[] = {
      {"/result/gpus", 7, "gpus: expected a list"},
      {"/result/gpus/0/name", 7, "gpus[0].name: expected text"},
      {"/result/gpus/0/name", "CPU0", "cpus[0].name: stands at another device too"},
      {"/result/gpus/0/slot_width", 1e30, "gpus[0].slot_width: expected a whole number, 0 to 64"},
      {"/result/gpus/0/node", 4000, "GPU0: is node 4000"},
      {"/result/paths/0/to", "nobody", "paths[0].to: no device has this name"},
      {"/result/paths/0/nccl_type", "XYZ", "paths[0].nccl_type: expected a type of path"},
      {"/result/paths/0/bandwidth_GBps", -1, "paths[0].bandwidth_GBps: expected a number"},
      {"/result/graph/nodes/0/links/0/to", 7777, "graph.nodes[0].links[0] leads to node 7777"},
      {"/result/graph/nodes/0/links/0/to", 0, "graph.nodes[0].links[0] leads to node 0"},
      {"/result/graph/nodes/1/type", "TREE", "graph.nodes[1].type: not one of the words"},
  };
  for (const Case& wrong : kCases) {
    const auto survey = read_again(changed(wrong.pointer, wrong.value));
    ASSERT_FALSE(survey.ok()) << wrong.pointer;
    EXPECT_THAT(survey.error().one_line(), testing::HasSubstr(wrong.message)) << wrong.pointer;
  }
}

TEST(SavedTopology, OtherJsonAndDeepJsonAreRefused) {
  for (const std::string& text :
       {std::string("[1,2]"), std::string("{\"result\": {}}"), std::string("{\"gpus\": ["),
        std::string(100000, '['), "{\"a\":" + std::string(100000, '{')}) {
    const auto survey = read_again(text);
    ASSERT_FALSE(survey.ok());
    EXPECT_LT(survey.error().one_line().size(), 300U);
  }
}

// Three switches that stand above each other in a circle.
TEST(SavedTopology, CirclesAreRefused) {
  std::string nodes;
  for (int i = 0; i < 3; ++i)
    nodes += fmt::format(
        "{}{{\"type\":\"PCI\",\"links\":[{{\"to\":{},\"type\":\"PCI\"}},{{\"to\":{},\"type\":"
        "\"PCI\"}}]}}",
        i == 0 ? "" : ",", (i + 1) % 3, (i + 2) % 3);
  const auto survey = read_again(
      "{\"result\":{\"gpus\":[],\"nics\":[],\"cpus\":[],\"paths\":[],\"graph\":{"
      "\"nodes\":[" +
      nodes + "]}}}");
  ASSERT_FALSE(survey.ok());
  EXPECT_THAT(survey.error().one_line(), testing::HasSubstr("closes a circle"));
}

}  // namespace
}  // namespace comm_probe::topology
