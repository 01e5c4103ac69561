// `topo diff` through the program: exit statuses, folders, inputs that cannot be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TopoDiffCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::string folder() const { return folder_.string(); }

 private:
  fs::path folder_ = {};
};

// GPU `off` without NVLink; -1 for none.
std::string matrix(int off) {
  std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\tNUMA Affinity\n";
  for (int a = 0; a < 4; ++a) {
    text += "GPU" + std::to_string(a);
    for (int b = 0; b < 4; ++b) text += a == b ? "\tX" : a == off || b == off ? "\tNODE" : "\tNV18";
    text += "\t0-31\t0\n";
  }
  return text;
}

TEST_F(TopoDiffCommand, AlikeIsQuiet) {
  write("a.txt", matrix(-1));
  write("b.txt", matrix(-1));
  const BinaryRun run = run_binary({"topo", "diff", folder()});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_THAT(run.out, HasSubstr("2 machines, all alike"));
}

TEST_F(TopoDiffCommand, OddOneOutOfThree) {
  write("a.txt", matrix(-1));
  write("b.txt", matrix(2));
  write("c.txt", matrix(-1));
  const BinaryRun run = run_binary({"topo", "diff", folder(), "--json"});
  EXPECT_EQ(run.status, 1) << run;
  const auto document = nlohmann::json::parse(run.out);
  EXPECT_EQ(document["result"]["odd"], nlohmann::json({"b.txt"}));
  EXPECT_EQ(document["result"]["compared_with"], "majority");
  EXPECT_EQ(document["result"]["differences"].size(), 3U);  // GPU2 and its three pairs
  ASSERT_EQ(document["findings"].size(), 1U);
  const auto& finding = document["findings"][0];
  EXPECT_EQ(finding["id"], "topo.diff-link");
  EXPECT_THAT(finding["summary"],
              HasSubstr("b.txt: GPU2: path to GPU0 NODE, 2 of 3 machines have NV18"));
  EXPECT_EQ(finding["evidence"][0]["line"], 4);  // of GPU2 in b.txt
}

TEST_F(TopoDiffCommand, UnreadableInputLimitsTheConclusion) {
  write("a.txt", matrix(-1));
  write("b.txt", matrix(-1));
  write("c.txt", "nothing of that kind\n");
  const BinaryRun run = run_binary({"topo", "diff", folder()});
  EXPECT_EQ(run.status, 5) << run;
  EXPECT_THAT(run.out, HasSubstr("topo.diff-unread"));
}

TEST_F(TopoDiffCommand, OneMachineIsNoComparison) {
  const std::string file = write("a.txt", matrix(-1));
  for (const auto& arguments :
       {std::vector<std::string>{file}, {file, folder() + "/none"}, {folder() + "/none"}}) {
    std::vector<std::string> all = {"topo", "diff"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const BinaryRun run = run_binary(all);
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(lines_of(run.err).size(), 1U) << run;
  }
}

// A matrix and a tree of the same machine: what both say is the same.
TEST(TopoDiffSources, MatrixAgainstTree) {
  const fs::path tree = fs::path(COMM_PROBE_SHARED) / "data/oracle/dgxh100/system.xml";
  if (!fs::exists(tree)) GTEST_SKIP() << "no " << tree;
  std::string text = "\t";
  for (int i = 0; i < 8; ++i) text += "GPU" + std::to_string(i) + "\t";
  for (int i = 0; i < 8; ++i) text += "mlx5_" + std::to_string(i) + "\t";
  const auto word = [](int a, int b) {
    if (a == b) return "PIX";
    return (a < 4) == (b < 4) ? "NODE" : "SYS";
  };
  for (int a = 0; a < 16; ++a) {
    text += "\n" + std::string(a < 8 ? "GPU" : "mlx5_") + std::to_string(a % 8);
    for (int b = 0; b < 16; ++b) {
      const bool is_gpu_pair = a < 8 && b < 8;
      text += a == b ? "\tX" : is_gpu_pair ? "\tNV18" : std::string("\t") + word(a % 8, b % 8);
    }
  }
  const BinaryRun run =
      run_binary({"topo", "diff", tree.string(), "-"}, {.stdin_text = text + "\n"});
  EXPECT_EQ(run.status, 0) << run;
}

// A thousand saved machines and one odd one: it is named, and the text is one screen.
TEST_F(TopoDiffCommand, AFleet) {
  const std::string saved =
      run_binary({"topo", "show", "--from", write("m.txt", matrix(-1)), "--json"}).out;
  fs::remove(folder() + "/m.txt");
  for (int i = 0; i < 1000; ++i) write("node" + std::to_string(1000 + i) + ".json", saved);
  write("node1637.json",
        run_binary({"topo", "show", "--from", "-", "--json"}, {.stdin_text = matrix(2)}).out);
  const BinaryRun run = run_binary({"topo", "diff", folder()}, {.limit = std::chrono::seconds(60)});
  EXPECT_EQ(run.status, 1) << run;
  EXPECT_THAT(run.out, HasSubstr("1 of 1000 machines differs from the majority: node1637.json"));
  EXPECT_THAT(run.out, HasSubstr("999 like node1000.json"));
  EXPECT_LT(lines_of(run.out).size(), 40U) << run;
}

// Two NICs have changed their names: the GPUs' rails no longer line up.
TEST_F(TopoDiffCommand, RailsThatCross) {
  const std::string dgx = run_binary({"machines", "dgx-h100", "--topo"}).out;
  std::string other = dgx;
  const auto rename = [&](const std::string& from, const std::string& to) {
    other.replace(other.find(from), from.size(), to);
  };
  rename("name=\"mlx5_1\" dev=\"1\"", "name=\"?\" dev=\"9\"");
  rename("name=\"mlx5_2\" dev=\"2\"", "name=\"mlx5_1\" dev=\"1\"");
  rename("name=\"?\" dev=\"9\"", "name=\"mlx5_2\" dev=\"2\"");
  for (const char* name : {"a.xml", "b.xml", "c.xml"}) write(name, dgx);
  write("d.xml", other);
  const BinaryRun run = run_binary({"topo", "diff", folder(), "--json"});
  EXPECT_EQ(run.status, 1) << run;
  const auto document = nlohmann::json::parse(run.out);
  ASSERT_EQ(document["findings"].size(), 1U) << run;  // one change is told once
  std::string evidence;
  for (const auto& line : document["findings"][0]["evidence"])
    evidence += line["text"].get<std::string>() + "\n";
  EXPECT_THAT(evidence, HasSubstr("rails: GPU1 has mlx5_2, elsewhere mlx5_1\n"));
  EXPECT_EQ(document["result"]["rails"][1]["nics"][2], "mlx5_1");
  // one NIC fewer: its GPU takes a neighbour's
  std::string fewer = dgx;
  const std::size_t nic = fewer.find("<pci busid=\"0000:12:00.0\"");
  fewer.erase(nic, fewer.find("</pci>", nic) + 6 - nic);
  write("d.xml", fewer);
  EXPECT_THAT(run_binary({"topo", "diff", folder()}).out, HasSubstr("rails: GPU0 has mlx5_"));
}

// The same devices and paths, but the plugin counts the NICs of one machine otherwise: nothing else
// differs, so the rails are the finding.
TEST_F(TopoDiffCommand, RailsAlone) {
  const std::string dgx = run_binary({"machines", "dgx-h100", "--topo"}).out;
  std::string slower = dgx;
  const std::string port = "name=\"mlx5_1\" dev=\"1\"";
  slower.erase(slower.find(port) + std::string("name=\"mlx5_1\"").size(), 8);  // no plugin index
  for (const char* name : {"a.xml", "b.xml", "c.xml"}) write(name, dgx);
  write("d.xml", slower);
  const BinaryRun run = run_binary({"topo", "diff", folder()});
  EXPECT_EQ(run.status, 1) << run;
  EXPECT_THAT(run.out, HasSubstr("topo.diff-rails"));
  EXPECT_THAT(run.out, HasSubstr("GPU1 has mlx5_"));
}

// The name of one machine begins that of another: each has its own finding.
TEST_F(TopoDiffCommand, RailsOfAMachineWhoseNameBeginsAnother) {
  const std::string dgx = run_binary({"machines", "dgx-h100", "--topo"}).out;
  std::string fewer = dgx;
  const std::size_t nic = fewer.find("<pci busid=\"0000:12:00.0\"");
  fewer.erase(nic, fewer.find("</pci>", nic) + 6 - nic);
  std::string uncounted = dgx;  // a port without the plugin's index: only rails differ
  const std::string port = "name=\"mlx5_1\" dev=\"1\"";
  uncounted.erase(uncounted.find(port) + std::string("name=\"mlx5_1\"").size(), 8);
  std::vector<std::string> command = {"topo", "diff", write("n10", fewer), write("n1", uncounted)};
  for (const char* name : {"n2", "n3", "n4", "n5", "n6"}) command.push_back(write(name, dgx));
  command.emplace_back("--json");
  const BinaryRun run = run_binary(command);
  EXPECT_EQ(run.status, 1) << run;
  const auto document = nlohmann::json::parse(run.out);
  int rails = 0;
  for (const auto& finding : document["findings"]) {
    const std::string summary = finding["summary"];
    if (finding["id"] != "topo.diff-rails") {
      EXPECT_TRUE(summary.starts_with("n10")) << run;
      continue;
    }
    ++rails;
    EXPECT_TRUE(summary.starts_with("n1:")) << run;
  }
  EXPECT_EQ(rails, 1) << run;
}

}  // namespace
}  // namespace comm_probe::test
