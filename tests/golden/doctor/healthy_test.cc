// `doctor` on healthy machines (tests/inputs/healthy, made by make.py there): nothing is found,
// every file is recognised, exit 0. Then each pile with one fault, made by a small edit of what is
// there: the first finding is that fault, exit 1. What an edit leaves is what the tools print of
// it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kHealthy = fs::path(COMM_PROBE_SOURCE_DIR) / "tests/inputs/healthy";

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// A folder of this test alone; gone with it.
class Scratch {
 public:
  Scratch() {
    static int count = 0;
    path_ = fs::temp_directory_path() /
            ("comm-probe-pile-" + std::to_string(getpid()) + "-" + std::to_string(count++));
    fs::create_directories(path_);
  }
  ~Scratch() { fs::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct Told {
  json document = {};
  int status = -1;

  std::vector<json> weighty() const {
    std::vector<json> findings;
    for (const json& finding : document["findings"])
      if (finding["severity"] != "info") findings.push_back(finding);
    return findings;
  }
};

Told doctor(const fs::path& pile) {
  const BinaryRun run = run_binary({"doctor", "--json", pile.string()});
  Told told{json::parse(run.out, nullptr, false), run.status};
  EXPECT_TRUE(told.document.is_object()) << run;
  if (!told.document.is_object()) told.document = {{"findings", json::array()}};
  return told;
}

class HealthyPile : public testing::TestWithParam<const char*> {};

TEST_P(HealthyPile, NothingIsFound) {
  const Told told = doctor(kHealthy / GetParam());
  EXPECT_EQ(told.status, 0) << told.document["caveats"].dump(1);
  EXPECT_TRUE(told.weighty().empty()) << json(told.weighty()).dump(1);
  EXPECT_TRUE(told.document["result"]["unrecognised"].empty())
      << told.document["result"]["unrecognised"].dump(1);
}

INSTANTIATE_TEST_SUITE_P(All, HealthyPile, testing::Values("dgx-h100", "ndr-2n", "pcie-box"),
                         [](const auto& info) {
                           return std::regex_replace(std::string(info.param), std::regex("-"), "_");
                         });

// One folder, names that say nothing: files are known by what is in them.
TEST(HealthyPiles, NamesDoNotMatter) {
  for (const char* pile : {"dgx-h100", "pcie-box"}) {
    Scratch scratch;
    int number = 1;
    for (const fs::path& file : files_of(kHealthy / pile))
      fs::copy_file(file, scratch.path() / (std::to_string(number++) + ".txt"));
    const Told told = doctor(scratch.path());
    EXPECT_TRUE(told.weighty().empty()) << json(told.weighty()).dump(1);
    // No dump says whose it is: ranks are guessed by the order of the names, which is said.
    EXPECT_TRUE(told.status == 0 || told.status == 5) << told.status;
    EXPECT_EQ(told.document["result"]["job"]["machines"].size(), 1U) << pile;
  }
}

// ------------------------------------------------------------------------------------- faults
using Edit = std::function<void(const fs::path& pile)>;

// In every file whose path within the pile begins so.
Edit with_texts(const std::string& begins, const std::function<void(std::string&)>& change) {
  return [=](const fs::path& pile) {
    bool is_changed = false;
    for (const fs::path& file : files_of(pile)) {
      if (!fs::relative(file, pile).string().starts_with(begins)) continue;
      const std::string before = text_of(file);
      std::string text = before;
      change(text);
      if (text == before) continue;
      write(file, text);
      is_changed = true;
    }
    EXPECT_TRUE(is_changed) << "the edit of " << begins << " changes nothing";
  };
}

Edit once(const std::string& file, const std::string& from, const std::string& to) {
  return with_texts(file, [=](std::string& text) {
    if (const std::size_t at = text.find(from); at != text.npos) text.replace(at, from.size(), to);
  });
}

Edit everywhere(const std::string& files, const std::string& pattern, const std::string& to) {
  return with_texts(
      files, [=](std::string& text) { text = std::regex_replace(text, std::regex(pattern), to); });
}

Edit appended(const std::string& file, const std::string& line) {
  return with_texts(file, [=](std::string& text) { text += line; });
}

Edit in_turn(const std::vector<Edit>& edits) {
  return [=](const fs::path& pile) {
    for (const Edit& edit : edits) edit(pile);
  };
}

// Every row from 1 MiB on takes eight times as long.
void slow_down(std::string& text) {
  std::istringstream lines(text);
  std::ostringstream slow;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    double size = 0, count = 0;
    std::string type, redop, root;
    double cells[8];
    if (!(words >> size >> count >> type >> redop >> root) || size < (1 << 20)) {
      slow << line << "\n";
      continue;
    }
    for (double& cell : cells) words >> cell;
    slow << std::fixed;
    slow.precision(0);
    slow << size << " " << count << " " << type << " " << redop << " " << root;
    for (const int half : {0, 4}) {
      slow.precision(2);
      slow << " " << cells[half] * 8 << " " << cells[half + 1] / 8 << " " << cells[half + 2] / 8
           << " 0";
    }
    slow << "\n";
  }
  text = slow.str();
}

// What NCCL prints where it finds no RDMA device.
Edit over_sockets() {
  return in_turn(
      {everywhere("logs", "[^\\n]*(NET/IB ?:|GPU Direct RDMA|NET plugin IB\\n)[^\\n]*\\n?", ""),
       everywhere("logs", "Using network IB", "Using network Socket"),
       everywhere("logs", "via NET/IB/[0-9]/GDRDMA", "via NET/Socket/0")});
}

constexpr const char* kUp = "State: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400";
constexpr const char* kDown = "State: Down\n\t\tPhysical state: Polling\n\t\tRate: 10";
constexpr const char* kRedirects = "ReqRedir+ CmpltRedir+ UpstreamFwd+";
constexpr const char* kNoRedirects = "ReqRedir- CmpltRedir- UpstreamFwd-";

struct Fault {
  std::string name;
  std::string pile;
  Edit edit;
  std::string first;  // id of the first finding
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

const std::vector<Fault> kFaults = {
    {"one_nvlink_inactive", "dgx-h100",
     once("dgx01/nvlink.txt", "Link 3: 26.562 GB/s", "Link 3: <inactive>"), "topo.nvlink-inactive"},
    {"a_gpu_off_nvlink", "dgx-h100",
     in_turn({everywhere("dgx01/topo.txt", "(\\nGPU[013-7](?:\\t[^\\t\\n]*){2}\\t)NV18", "$1SYS"),
              everywhere("dgx01/topo.txt",
                         "\\nGPU2\\tNV18\\tNV18\\t X \\tNV18\\tNV18\\tNV18\\tNV18\\tNV18",
                         "\nGPU2\tSYS\tSYS\t X \tSYS\tSYS\tSYS\tSYS\tSYS")}),
     "topo.nvlink-incomplete"},
    {"acs_on", "dgx-h100", once("dgx01/acs.txt", kNoRedirects, kRedirects), "topo.acs-redirects"},
    {"wrong_results", "dgx-h100", once("all_reduce.txt", "       0\n", "      12\n"),
     "curve.wrong-results"},
    {"an_eighth_on_one_node", "dgx-h100", with_texts("all_reduce.txt", slow_down),
     "curve.plateau-low"},
    {"a_gpu_fell_off_the_bus", "dgx-h100",
     appended("train.log",
              "[ 9713.114402] NVRM: Xid (PCI:0000:9a:00): 79, pid=41212, "
              "name=python, GPU has fallen off the bus.\n"),
     "log.gpu-fault"},

    {"a_port_down", "ndr-2n", once("node02/ibstat.txt", kUp, kDown), "topo.port-not-active"},
    {"a_port_at_half_rate", "ndr-2n", once("node02/ibstat.txt", "Rate: 400", "Rate: 200"),
     "topo.port-slow"},
    {"sockets_although_ports_are_up", "ndr-2n", over_sockets(), "job.network-ignored"},
    {"sockets_and_what_they_cost", "ndr-2n",
     in_turn({over_sockets(), with_texts("all_reduce_2n.txt", slow_down)}), "job.network-ignored"},
    {"no_gdr_on_one_node", "ndr-2n",
     in_turn({everywhere("logs/nccl.node02",
                         "RDMA Enabled for GPU ([0-9]) / HCA ([0-9]) \\(distance [0-9] <= 5\\)",
                         "RDMA Disabled for GPU $1 / HCA $2 (distance 8 > 5)"),
              everywhere("logs/nccl.node02", "/GDRDMA", "")}),
     "log.gdr-one-side"},
    {"a_far_nic", "ndr-2n", everywhere("logs/nccl.node01.41200", "NET/IB/0/", "NET/IB/4/"),
     "job.nic-far"},
    {"seven_of_eight_nics", "ndr-2n",
     in_turn({everywhere("logs", " \\[7\\]mlx5_7:1/IB", ""),
              everywhere("logs", "NET/IB/7/", "NET/IB/6/")}),
     "job.nics-unused"},
    {"one_node_lists_fewer_nics", "ndr-2n",
     in_turn({everywhere("logs/nccl.node02", " \\[7\\]mlx5_7:1/IB", ""),
              everywhere("logs/nccl.node02", "NET/IB/7/", "NET/IB/6/")}),
     "log.nics-differ"},
    {"one_node_has_fewer_nvlinks", "ndr-2n", everywhere("node02/topo.txt", "NV18", "NV16"),
     "topo.diff-link"},
    {"an_eighth_on_two_nodes", "ndr-2n", with_texts("all_reduce_2n.txt", slow_down), "job.gap"},
    {"errors_of_a_cable", "ndr-2n",
     once("node02/counters_after.txt", "SymbolErrorCounter:..............0",
          "SymbolErrorCounter:..............912"),
     "topo.net-physical-errors"},
    {"no_answer_from_the_peer", "ndr-2n",
     appended("logs/nccl.node02.41224",
              "node02:41224:41240 [0] transport/net_ib.cc:1684 NCCL WARN NET/IB : mlx5_0:1 Got "
              "completion from peer 192.0.2.11<41000> with status=12 opcode=0 len=0 vendor err 129 "
              "(Recv) localGid fe80::1 remoteGidsfe80::2 hca mlx5_0\n"),
     "log.ib-no-answer"},

    // GPUs and NIC of a socket below one tree of switches: only there does a redirect change the
    // way.
    {"acs_on_in_the_box", "pcie-box",
     in_turn({everywhere("box/topo.txt", "\tNODE", "\tPXB"),
              once("box/acs.txt", kNoRedirects, kRedirects)}),
     "topo.acs-redirects"},
    {"an_eighth_in_the_box", "pcie-box", with_texts("all_reduce.txt", slow_down),
     "curve.plateau-low"},
    {"packets_dropped_without_a_pause", "pcie-box",
     once("box/counters_after.txt", "rx_discards_phy: 0", "rx_discards_phy: 8120"),
     "topo.net-class-mismatch"},
    {"wrong_results_in_the_box", "pcie-box", once("all_reduce.txt", "       0\n", "      12\n"),
     "curve.wrong-results"},
    {"an_exception", "pcie-box",
     appended("train.log",
              "Traceback (most recent call last):\n"
              "  File \"/opt/train/data.py\", line 88, in __next__\n"
              "    raise ValueError(\"shard 17 is empty\")\n"
              "ValueError: shard 17 is empty\n"),
     "log.exception"},
    // The newest call hangs: rank 3 came with two elements, the others with one.
    {"a_rank_with_another_count", "pcie-box",
     in_turn({everywhere("dumps",
                         "(.*)\"state\":\"completed\"(.*\"time_discovered_completed_ns\":)[0-9]+",
                         "$1\"state\":\"started\"$020"),
              everywhere("dumps", "(\"last_completed_collective\":)\"1\"", "$1\"0\""),
              everywhere("dumps/nccl_trace_rank_3", "\\[\\[1\\]\\]", "[[2]]")}),
     "hang.param-mismatch"},
};

// No two devices of this box share a switch: what passes between them meets the root complex
// anyway.
TEST(HealthyPiles, RedirectsWithoutASharedSwitchChangeNothing) {
  Scratch scratch;
  fs::copy(kHealthy / "pcie-box", scratch.path(), fs::copy_options::recursive);
  everywhere("box/acs.txt", "ReqRedir- CmpltRedir- UpstreamFwd-", kRedirects)(scratch.path());
  const Told told = doctor(scratch.path());
  EXPECT_EQ(told.status, 0);
  EXPECT_TRUE(told.weighty().empty()) << json(told.weighty()).dump(1);
}

class PlantedFault : public testing::TestWithParam<Fault> {};

TEST_P(PlantedFault, IsTheFirstFinding) {
  const Fault& fault = GetParam();
  Scratch scratch;
  fs::copy(kHealthy / fault.pile, scratch.path(), fs::copy_options::recursive);
  fault.edit(scratch.path());
  const Told told = doctor(scratch.path());
  EXPECT_EQ(told.status, 1);
  ASSERT_FALSE(told.weighty().empty());
  EXPECT_EQ(told.document["findings"][0]["id"], fault.first)
      << json(told.weighty()).dump(1).substr(0, 4000);
  EXPECT_FALSE(told.document["findings"][0]["evidence"].empty());
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFault, testing::ValuesIn(kFaults),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace comm_probe::test
