// How many answers equal NCCL's own? A table by machine over ../shared/data/oracle (NCCL 2.28.9):
// of the files with a section, how many have every field of it equal. Exit status 1 where one has
// not.
//   bench_oracle_score [SHARED_FOLDER] [MACHINE]
#include <fmt/format.h>

#include <array>
#include <map>

#include "cli/plan_graphs_json.h"
#include "cli/plan_json.h"
#include "cli/plan_tuning_json.h"
#include "tests/oracle/oracle_files.h"

namespace comm_probe {
namespace {

using oracle::Json;
namespace fs = std::filesystem;

struct Section {
  const char* name;
  std::vector<const char*> keys;  // of the file
};
const std::vector<Section>& sections() {
  static const std::vector<Section> all = {
      {"graphs", {"graphs", "graphs_domain1", "graphs_domain2", "graphs_domain3"}},
      {"channels", {"nccl_nodes", "channels"}},
      {"rings", {"rings"}},
      {"trees", {"trees"}},
      {"nvls", {"nvls"}},
      {"NICs", {"ring_net_node0"}},
      {"tuning", {"tuning"}},
      {"choice", {"choice"}}};
  return all;
}

struct Count {
  int files = 0;
  int equal = 0;
};
using Row = std::vector<Count>;  // paths, then the sections

class Score {
 public:
  void add_paths(const topology::Machine& machine, const fs::path& file) {
    Json expected = Json::parse(oracle::read_file(file));
    std::vector<std::string> differences;
    const auto reach = oracle::reach_of(machine, expected);
    for (const char* key : {"machine", "env_name", "env", "nccl_version", "end"})
      expected.erase(key);
    if (reach)
      oracle::compare(expected, cli::plan_paths_json(*reach), "paths", differences);
    else
      differences.push_back(reach.error().one_line());
    count(row_[0], file, differences);
  }

  void add_plan(const topology::Machine& machine, const fs::path& file) {
    const Json expected = Json::parse(oracle::read_file(file));
    const auto plan = oracle::plan_of(machine, expected);
    Json found = Json::object();
    const auto settings = nccl::read_tuning_settings(oracle::environment_of(expected));
    if (plan) cli::add_graphs_json(found, *plan, false);
    if (plan && settings) cli::add_tuning_json(found, nccl::tune(*plan, *settings));
    for (std::size_t i = 0; i < sections().size(); ++i) {
      std::vector<std::string> differences;
      bool is_there = false;
      for (const char* key : sections()[i].keys) {
        is_there = is_there || expected.contains(key) || found.contains(key);
        oracle::compare(expected.value(key, Json()), found.value(key, Json()), key, differences);
      }
      if (is_there) count(row_[i + 1], file, differences);
    }
  }

  // Prints the row and starts the next.
  void finish(const std::string& name) {
    fmt::print("{:24}", name);
    for (std::size_t i = 0; i < row_.size(); ++i) {
      fmt::print(" {:>9}", fmt::format("{}/{}", row_[i].equal, row_[i].files));
      total_[i].files += row_[i].files;
      total_[i].equal += row_[i].equal;
    }
    fmt::print("\n");
    row_ = Row(sections().size() + 1);
  }

  bool finish_all() {
    row_ = total_;
    total_ = Row(sections().size() + 1);
    finish("all");
    for (const std::string& miss : misses_) fmt::print("{}\n", miss);
    return misses_.empty();
  }

 private:
  void count(Count& count, const fs::path& file, const std::vector<std::string>& differences) {
    ++count.files;
    if (differences.empty()) {
      ++count.equal;
      return;
    }
    misses_.push_back(fmt::format("{}/{} {}", file.parent_path().filename().string(),
                                  file.filename().string(), differences.front()));
  }

  Row row_ = Row(sections().size() + 1);
  Row total_ = Row(sections().size() + 1);
  std::vector<std::string> misses_ = {};
};

}  // namespace
}  // namespace comm_probe

int main(int argc, char** argv) {
  using namespace comm_probe;
  const fs::path root = fs::path(argc > 1 ? argv[1] : "../shared") / "data/oracle";
  const std::string only = argc > 2 ? argv[2] : "";
  if (!fs::exists(root)) {
    fmt::print("no oracle data at {}; usage: bench_oracle_score [SHARED_FOLDER] [MACHINE]\n",
               root.string());
    return 0;
  }
  fmt::print("{:24} {:>9}", "files equal to NCCL's", "paths");
  for (const Section& section : sections()) fmt::print(" {:>9}", section.name);
  fmt::print("\n");
  Score score;
  for (const fs::path& folder : oracle::machines_of(root)) {
    const std::string name = folder.filename().string();
    if (!only.empty() && name != only) continue;
    const auto machine = oracle::machine_of(folder);
    if (!machine) {
      fmt::print("{}\n", machine.error().one_line());
      return 1;
    }
    for (const fs::path& file : oracle::files_of(folder, "paths")) score.add_paths(*machine, file);
    for (const fs::path& file : oracle::files_of(folder, "n")) score.add_plan(*machine, file);
    score.finish(name);
  }
  return score.finish_all() ? 0 : 1;
}
