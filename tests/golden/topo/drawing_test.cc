// The drawing, read back as a program would: what stands in it is what the source says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;

struct Drawing {
  pugi::xml_document document = {};
  nlohmann::json shown = {};

  std::vector<pugi::xml_node> of_look(const std::string& look) const {
    std::vector<pugi::xml_node> found;
    for (const pugi::xml_node& node : document.child("svg").children()) {
      const std::string all = " " + std::string(node.attribute("class").value()) + " ";
      if (all.find(" " + look + " ") != std::string::npos) found.push_back(node);
    }
    return found;
  }
  std::multiset<std::string> names_of(const std::string& look) const {
    std::multiset<std::string> names;
    for (const auto& node : of_look(look)) names.insert(node.attribute("data-name").value());
    return names;
  }
};

void draw(const std::string& from, const std::string& text, Drawing& drawing) {
  const fs::path file =
      fs::path(testing::TempDir()) /
      (std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".svg");
  const BinaryRun run = run_binary(
      {"topo", "show", "--from", from, "--svg", file.string(), "--json"}, {.stdin_text = text});
  ASSERT_EQ(run.status, 0) << run;
  drawing.shown = nlohmann::json::parse(run.out);
  const auto parsed = drawing.document.load_file(file.c_str());
  ASSERT_TRUE(parsed) << from << ": " << parsed.description();
}

std::multiset<std::string> names(const nlohmann::json& devices) {
  std::multiset<std::string> names;
  for (const auto& device : devices) names.insert(device["name"].get<std::string>());
  return names;
}

fs::path shared(const std::string& path) { return fs::path(COMM_PROBE_SHARED) / path; }

// Every GPU once; a machine without a problem has no red; a wider link has the thicker line.
void expect_honest(const Drawing& drawing, const std::string& file) {
  const auto gpus = names(drawing.shown["result"]["gpus"]);
  // Hosts that are alike are drawn once.
  const bool is_one_host = gpus.empty() || gpus.begin()->starts_with("GPU");
  if (is_one_host) {
    EXPECT_EQ(drawing.names_of("gpu"), gpus) << file;
  }
  std::map<double, double> stroke_by_rate;
  for (const auto& line : drawing.document.child("svg").children("path")) {
    if (!line.attribute("data-gbps")) continue;
    stroke_by_rate[line.attribute("data-gbps").as_double()] =
        line.attribute("stroke-width").as_double();
  }
  double last = 0;
  for (const auto& [rate, stroke] : stroke_by_rate) {
    EXPECT_GT(stroke, last) << file << " at " << rate;
    last = stroke;
  }
}

TEST(Drawing, OracleMachines) {
  if (!fs::exists(shared("data/oracle"))) GTEST_SKIP() << "no " << shared("data/oracle");
  int drawn = 0;
  for (const auto& entry : fs::directory_iterator(shared("data/oracle"))) {
    const fs::path file = entry.path() / "system.xml";
    if (!fs::exists(file)) continue;
    Drawing drawing;
    draw(file.string(), "", drawing);
    expect_honest(drawing, file.string());
    ++drawn;
  }
  EXPECT_GE(drawn, 33);
}

TEST(Drawing, DgxH100) {
  if (!fs::exists(shared("data/oracle"))) GTEST_SKIP() << "no " << shared("data/oracle");
  Drawing drawing;
  draw(shared("data/oracle/dgxh100/system.xml").string(), "", drawing);
  EXPECT_EQ(drawing.names_of("nic"), names(drawing.shown["result"]["nics"]));
  EXPECT_EQ(drawing.of_look("switch").size(), 8U);
  EXPECT_EQ(drawing.of_look("cpu").size(), 2U);
  EXPECT_EQ(drawing.of_look("fabric").size(), 1U);  // one row
  int nvlinks = 0;
  for (const auto& line : drawing.of_look("nvlink"))
    if (line.attribute("data-gbps").as_double() == 370.8) ++nvlinks;
  EXPECT_EQ(nvlinks, 8);
  EXPECT_EQ(drawing.document.child("svg").attribute("width").as_int(), 1200);
  EXPECT_TRUE(drawing.of_look("wrong").empty());
  EXPECT_TRUE(drawing.of_look("wrong-line").empty());
}

TEST(Drawing, FieldFilesRedOnlyOnTheFaulty) {
  if (!fs::exists(shared("data/field/topo"))) GTEST_SKIP() << "no " << shared("data/field/topo");
  for (const auto& entry : fs::directory_iterator(shared("data/field/topo"))) {
    const std::string name = entry.path().filename().string();
    const bool is_refused = name.starts_with("t04") || name.starts_with("t33") ||
                            name.find("rccl") != std::string::npos;
    if ((name[0] != 't' && name[0] != 'x') || is_refused) continue;
    Drawing drawing;
    draw(entry.path().string(), "", drawing);
    expect_honest(drawing, name);
    const auto red = drawing.names_of("wrong");
    const auto expected =
        name.starts_with("t20") ? std::multiset<std::string>{"GPU2"} : std::multiset<std::string>{};
    EXPECT_EQ(red, expected) << name;
  }
}

// What a matrix does not say is not drawn as if it did: no line has a bandwidth.
TEST(Drawing, MatrixKnowsNoWidths) {
  Drawing drawing;
  draw("-",
       "\tGPU0\tGPU1\tGPU2\tNIC0\tNUMA Affinity\nGPU0\tX\tNV4\tNODE\tPIX\t0-7\t0\n"
       "GPU1\tNV4\tX\tSYS\tSYS\t8-15\t1\nGPU2\tNODE\tSYS\tX\tNODE\t0-"
       "7\t0\nNIC0\tPIX\tSYS\tNODE\tX\n",
       drawing);
  for (const auto& line : drawing.document.child("svg").children("path"))
    EXPECT_FALSE(line.attribute("data-gbps")) << line.attribute("data-name").value();
  EXPECT_EQ(drawing.names_of("cpu"), (std::multiset<std::string>{"NUMA node 0", "NUMA node 1"}));
  EXPECT_EQ(drawing.names_of("arc"), std::multiset<std::string>{"GPU0 - GPU1"});
  for (const auto& box : drawing.of_look("cpu"))
    EXPECT_THAT(box.attribute("class").value(), testing::HasSubstr("inferred"));
}

std::string with_net(const std::string& name) {
  return "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\"><pci "
         "busid=\"0000:18:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" "
         "link_width=\"16\"><gpu dev=\"0\" sm=\"90\" rank=\"0\" gdr=\"1\"/></pci><pci "
         "busid=\"0000:19:00.0\" class=\"0x020700\" link_speed=\"16.0 GT/s PCIe\" "
         "link_width=\"8\"><nic><net name=\"" +
         name + "\" dev=\"0\" speed=\"400000\" gdr=\"1\"/></nic></pci></cpu></system>";
}

TEST(Drawing, ProblemIsRedAndSaid) {
  Drawing drawing;
  draw("-", with_net("mlx5_0"), drawing);
  EXPECT_EQ(drawing.names_of("wrong"), std::multiset<std::string>{"mlx5_0"});
  EXPECT_EQ(drawing.names_of("wrong-line"), std::multiset<std::string>{"mlx5_0 - CPU0"});
  bool is_said = false;
  for (const auto& text : drawing.of_look("wrong-text"))
    is_said = is_said || std::string(text.child_value()).find("its slot") != std::string::npos;
  EXPECT_TRUE(is_said);
}

TEST(Drawing, HostileNamesStayText) {
  const std::string hostile =
      "&lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&quot;x&#27;&#1;";
  Drawing drawing;
  draw("-", with_net(hostile), drawing);
  EXPECT_TRUE(drawing.document.select_nodes("//script").empty());
  EXPECT_TRUE(drawing.document.select_nodes("//@onload").empty());
  const auto nics = drawing.names_of("nic");
  ASSERT_EQ(nics.size(), 1U);
  EXPECT_THAT(*nics.begin(), testing::HasSubstr("</text><script>alert(1)</script>\" onload=\"x"));
}

TEST(Drawing, CannotBeWritten) {
  const BinaryRun run =
      run_binary({"topo", "show", "--from", "-", "--svg", "/nonexistent/folder/a.svg"},
                 {.stdin_text = with_net("mlx5_0")});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
}

// Terminal art for up to 8 GPUs only, and within the screen.
TEST(Drawing, TerminalArt) {
  const BinaryRun run =
      run_binary({"topo", "show", "--from", "-"}, {.stdin_text = with_net("mlx5_0")});
  EXPECT_THAT(run.out, testing::HasSubstr("CPU0\n\u251c\u2500 GPU0 18:00.0 gen5 x16")) << run;
  EXPECT_THAT(run.out, testing::HasSubstr("\u2514\u2500 ! mlx5_0 19:00.0 gen4 x8")) << run;
  std::string many = "\t";
  for (int i = 0; i < 9; ++i) many += "GPU" + std::to_string(i) + "\t";
  for (int i = 0; i < 9; ++i) {
    many += "\nGPU" + std::to_string(i);
    for (int j = 0; j < 9; ++j) many += i == j ? "\tX" : "\tSYS";
  }
  const BinaryRun large = run_binary({"topo", "show", "--from", "-"}, {.stdin_text = many + "\n"});
  EXPECT_THAT(large.out, testing::Not(testing::HasSubstr("Groups"))) << large;
}

}  // namespace
}  // namespace comm_probe::test
