#include <algorithm>
#include <map>

#include "topology/readers/fact_reader.h"
#include "topology/readers/matrix_words.h"

namespace comm_probe::topology {
namespace {

// "available: 2 nodes (0-1)", "node 0 cpus: 0 1 2", "node 0 size: 193129 MB", then the matrix of
// distances: "node   0   1", "  0:  10  32".
class NumactlReader : public FactReader {
 public:
  void take(const SourceLine& line) override;
  bool put(HostFacts& facts) override;

 private:
  void take_node(const std::vector<std::string>& words);
  void take_distances(const std::vector<std::string>& words);

  bool has_begun_ = false;
  bool is_matrix_ = false;
  std::map<int, NumaNode> nodes_ = {};
};

void NumactlReader::take(const SourceLine& line) {
  const std::vector<std::string> words = words_of(line.text);
  if (words.empty()) return;
  if (words[0] == "available:" && words.size() > 2 && words[2].starts_with("node")) {
    has_begun_ = true;
    is_matrix_ = false;
  }
  if (!has_begun_) return;
  if (words[0] == "node" && words.size() > 1 && words[1] == "distances:") {
    is_matrix_ = true;
  } else if (words[0] == "node" && !is_matrix_) {
    take_node(words);
  } else if (is_matrix_ && words[0].ends_with(":")) {
    take_distances(words);
  } else if (words[0] != "node" && words[0] != "available:") {
    has_begun_ = false;
  }
}

void NumactlReader::take_node(const std::vector<std::string>& words) {
  const auto id = words.size() < 3 ? std::nullopt : small_number(words[1], 4095);
  if (!id) return;
  NumaNode& node = nodes_[*id];
  node.id = *id;
  if (words[2] == "cpus:")
    for (std::size_t i = 3; i < words.size(); ++i)
      if (const auto cpu = small_number(words[i], 65535)) node.cpus.push_back(*cpu);
  const auto megabytes = words.size() > 3 ? leading_number(words[3]) : std::nullopt;
  if (words[2] == "size:" && megabytes && words.size() > 4 && words[4] == "MB")
    node.memory = core::Bytes::of(*megabytes * 1024 * 1024);
}

void NumactlReader::take_distances(const std::vector<std::string>& words) {
  const auto id = small_number(std::string_view(words[0]).substr(0, words[0].size() - 1), 4095);
  const auto node = id ? nodes_.find(*id) : nodes_.end();
  if (node == nodes_.end()) return;
  node->second.distances.clear();
  for (std::size_t i = 1; i < words.size(); ++i)
    if (const auto distance = small_number(words[i], 65535))
      node->second.distances.push_back(*distance);
}

bool NumactlReader::put(HostFacts& facts) {
  for (const auto& [id, node] : nodes_) facts.numa_nodes.push_back(node);
  return !nodes_.empty();
}

}  // namespace

std::unique_ptr<FactReader> numactl_reader() { return std::make_unique<NumactlReader>(); }

}  // namespace comm_probe::topology
