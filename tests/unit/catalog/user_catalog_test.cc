// A user's own catalog file: what it adds, what it replaces, and what is said about its faults.
#include <gtest/gtest.h>

#include "catalog/builtin_files.h"
#include "catalog/catalog.h"

namespace comm_probe::catalog {
namespace {

std::string error_of(const std::string& text) {
  const auto catalog = Catalog::with_text("my.toml", text);
  return catalog.ok() ? "" : catalog.error().one_line();
}

constexpr const char* kMachine = R"(
[[machine]]
name = "lab-box"
aliases = ["lab"]
description = "two cards and a NIC"
gpu = "L40S"
gpus = 2
fabric = "pcie"
cpu = "AMD Genoa"
nic = "ConnectX-7"
nics = 1
branches = [{ numa = 0, kind = "switch", gpus = [0, 1], nets = [0] }]
source = "our rack, 2026"
)";

TEST(UserCatalog, AddsAMachine) {
  const auto catalog = Catalog::with_text("my.toml", kMachine);
  ASSERT_TRUE(catalog.ok()) << catalog.error().one_line();
  const Machine* machine = catalog->find_machine("LAB");
  ASSERT_NE(machine, nullptr);
  EXPECT_DOUBLE_EQ(nic_share(*machine).value.in_GBps(), 25);
  EXPECT_EQ(machine->source, "our rack, 2026");
  EXPECT_NE(catalog->find_machine("dgx-h100"), nullptr);
}

TEST(UserCatalog, ReplacesAGpuAlsoInsideOfBuiltInMachines) {
  const auto catalog = Catalog::with_text("my.toml", R"(
[[gpu]]
name = "H100-SXM"
printed = ["NVIDIA H100 80GB HBM3"]
sm = 90
memory = "80GB"
memory_bandwidth = "3TB/s"
links = { nvlink = 4, count = 18, per_link = "20GB/s" }
pcie = "gen5 x16"
source = "measured here"
)");
  ASSERT_TRUE(catalog.ok()) << catalog.error().one_line();
  const auto inside = intra_node_one_way(*catalog->find_machine("dgx-h100"));
  EXPECT_DOUBLE_EQ(inside->value.in_GBps(), 360);
  EXPECT_NE(inside->source.find("measured here"), std::string::npos);
}

TEST(UserCatalog, StartsFromAnotherMachine) {
  const auto catalog = Catalog::with_text("my.toml", R"(
[[machine]]
name = "ours"
base = "dgx-h100"
description = "DGX H100 with HDR cards"
nic = "ConnectX-6"
source = "our rack, 2026"
)");
  ASSERT_TRUE(catalog.ok()) << catalog.error().one_line();
  EXPECT_DOUBLE_EQ(nic_total(*catalog->find_machine("ours")).value.in_GBps(), 200);
}

TEST(UserCatalog, NamesFileAndLineOfEveryFault) {
  const std::string gpu = "[[gpu]]\nname = \"X\"\nmemory = \"1GB\"\nmemory_bandwidth = \"1GB/s\"\n";
  const std::pair<std::string, const char*> cases[] = {
      {"[[gpu]\n", "my.toml:1: not a TOML document: error while parsing"},
      {gpu, "my.toml:1: gpu 'X': 'source' is missing"},
      {gpu + "source = \"\"\n", "my.toml:5: gpu 'X': 'source' is empty"},
      {gpu + "source = \"me\"\nmemroy = 1\n", "my.toml:6: gpu 'X': unknown key 'memroy'"},
      {gpu + "source = \"me\"\npcie = \"gen9 x16\"\n", "my.toml:6: gpu 'X': 'pcie' is 'gen9 x16'"},
      {gpu + "source = \"me\"\nsm = \"90\"\n", "my.toml:6: gpu 'X': 'sm' is text"},
      {gpu + "source = \"me\"\nlinks = { nvlink = 9, count = 1 }\n",
       "my.toml:6: gpu 'X', 'links': 'nvlink' is 9, expected 1 to 5"},
      {"[[gpu]]\nname = \"X\"\nmemory = \"80\"\nmemory_bandwidth = \"3\"\nsource = \"me\"\n",
       "my.toml:4: gpu 'X': bandwidth '3' has no unit"},
      {"[[gpus]]\nname = \"X\"\n", "my.toml:1: unknown catalog section 'gpus'"},
      {"gpu = 3\n", "my.toml:1: section 'gpu' is a whole number"},
      {"[[gpu]]\nmemory = \"1GB\"\n", "my.toml:1: a gpu has no 'name'"},
      {std::string(kMachine) + kMachine, "my.toml:15: machine 'lab-box' stands in the file twice"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string error = error_of(text);
    EXPECT_EQ(error.substr(0, std::string_view(expected).size()), expected) << text;
  }
}

TEST(UserCatalog, RefusesLayoutsThatCannotBe) {
  const auto with = [](std::string_view old_text, std::string_view new_text) {
    std::string text = kMachine;
    text.replace(text.find(old_text), old_text.size(), new_text);
    return error_of(text);
  };
  EXPECT_NE(with("gpus = [0, 1]", "gpus = [0]").find("GPU 1 stands on 0 branches"),
            std::string::npos);
  EXPECT_NE(with("gpus = [0, 1]", "gpus = [0, 1, 1]").find("GPU 1 stands on 2 branches"),
            std::string::npos);
  EXPECT_NE(with("gpus = [0, 1]", "gpus = [0, 1, 2]").find("there are only 2"), std::string::npos);
  EXPECT_NE(with("nics = 1", "nics = 2").find("net 1 stands on 0 branches"), std::string::npos);
  EXPECT_NE(with("\"pcie\"", "\"nvswitch\"").find("switch_links"), std::string::npos);
  EXPECT_NE(with("\"pcie\"", "\"mesh\"\nlinks_per_pair = 4").find("4 links of a GPU that has 0"),
            std::string::npos);
  EXPECT_NE(with("\"pcie\"", "\"token-ring\"").find("'fabric' is 'token-ring'"), std::string::npos);
  EXPECT_NE(with("\"L40S\"", "\"L40X\"").find("knows no gpu 'L40X'"), std::string::npos);
  EXPECT_NE(with("gpus = 2", "gpus = 2000000000").find("expected 1 to 64"), std::string::npos);
}

TEST(UserCatalog, SurvivesHostileText) {
  EXPECT_NE(error_of(std::string(100000, '[')), "");
  EXPECT_NE(error_of("a = " + std::string(100000, '[')), "");
  EXPECT_NE(error_of(std::string("[[gpu]]\nname = \"\0\"", 18)), "");
  EXPECT_NE(error_of("\xff\xfe\x00 binary"), "");
  EXPECT_EQ(error_of(""), "");
}

// Damaged copies of the files that are compiled in: any answer will do, but there must be one.
TEST(UserCatalog, SurvivesDamagedFiles) {
  std::uint32_t random = 1;
  const auto next = [&random](std::size_t bound) {
    random = random * 1664525U + 1013904223U;
    return (random >> 8) % bound;
  };
  for (const BuiltinFile& file : builtin_files())
    for (int round = 0; round < 30; ++round) {
      std::string text(file.text.substr(0, next(file.text.size())));
      for (int flips = 0; flips < round % 3; ++flips)
        if (!text.empty()) text[next(text.size())] = static_cast<char>(next(256));
      const auto catalog = Catalog::with_text("damaged.toml", text);
      if (!catalog.ok()) {
        EXPECT_EQ(catalog.error().where.file, "damaged.toml");
        EXPECT_TRUE(catalog.error().where.line) << catalog.error().message;
      }
    }
}

TEST(UserCatalog, MissingFileIsOneError) {
  const auto catalog = Catalog::with_file("/nonexistent/catalog.toml");
  ASSERT_FALSE(catalog.ok());
  EXPECT_NE(catalog.error().one_line().find("/nonexistent/catalog.toml"), std::string::npos);
}

}  // namespace
}  // namespace comm_probe::catalog
