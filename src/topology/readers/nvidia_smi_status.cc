#include <map>

#include "topology/readers/fact_reader.h"
#include "topology/readers/matrix_words.h"

namespace comm_probe::topology {
namespace {

bool is_status(std::string_view word) {
  constexpr std::string_view kWords[] = {"OK", "CNS", "GNS", "TNS", "DR", "NS", "U"};
  for (const std::string_view known : kWords)
    if (word == known) return true;
  return false;
}

std::optional<int> gpu_index(std::string_view word) {
  if (!word.starts_with("GPU")) return std::nullopt;
  return small_number(word.substr(3), 1023);
}

// `nvidia-smi topo -p2p r`: which capability was asked for stands in the prompt only.
class PeerStatusReader : public FactReader {
 public:
  void take(const SourceLine& line) override;
  bool put(HostFacts& facts) override;

 private:
  void take_row(const SourceLine& line, const std::vector<std::string>& words);

  char capability_ = 'u';  // unknown
  std::vector<int> columns_ = {};
  std::vector<PeerStatus> cells_ = {};
};

void PeerStatusReader::take(const SourceLine& line) {
  if (const std::size_t at = line.text.find("-p2p "); at != std::string_view::npos) {
    const std::string_view rest = trimmed(line.text.substr(at + 5));
    if (!rest.empty() && rest[0] >= 'a' && rest[0] <= 'z') capability_ = rest[0];
  }
  const std::vector<std::string> words = words_of(line.text);
  if (words.empty() || !gpu_index(words[0])) return;
  bool is_header = true;
  for (const std::string& word : words) is_header = is_header && gpu_index(word);
  if (!is_header) return take_row(line, words);
  columns_.clear();
  for (const std::string& word : words) columns_.push_back(*gpu_index(word));
}

void PeerStatusReader::take_row(const SourceLine& line, const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i] != "X" && !is_status(words[i])) return;
  for (std::size_t i = 1; i < words.size() && i <= columns_.size(); ++i)
    if (words[i] != "X" && cells_.size() < (kMostRecords << 4))
      cells_.push_back(
          {*gpu_index(words[0]), columns_[i - 1], capability_, words[i], line.evidence()});
}

bool PeerStatusReader::put(HostFacts& facts) {
  facts.peers.insert(facts.peers.end(), cells_.begin(), cells_.end());
  return !cells_.empty();
}

// "GPU 3: Tesla V100-SXM2-32GB (UUID: ...)", then "Link 0: 25.781 GB/s" or "Link 3: <inactive>".
class NvlinkStatusReader : public FactReader {
 public:
  void take(const SourceLine& line) override;
  bool put(HostFacts& facts) override;

 private:
  std::optional<GpuFacts> gpu_ = {};
  std::map<int, GpuFacts> gpus_ = {};
  std::vector<NvlinkState> links_ = {};
};

void NvlinkStatusReader::take(const SourceLine& line) {
  const std::string_view text = trimmed(line.text);
  const std::size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return;
  const std::string_view value = trimmed(text.substr(colon + 2));
  if (text.starts_with("GPU ")) {
    gpu_.reset();
    const auto index = small_number(text.substr(4, colon - 4), 1023);
    const std::size_t end = value.find(" (UUID");
    if (!index || end == std::string_view::npos) return;
    gpu_ = GpuFacts{.index = *index, .name = std::string(value.substr(0, end))};
    gpu_->from = line.evidence();
    return;
  }
  if (!gpu_ || !text.starts_with("Link ")) return;
  const auto link = small_number(text.substr(5, colon - 5), 255);
  const bool is_inactive = value.starts_with("<inactive>");
  const auto rate = leading_number(value);
  if (!link || (!is_inactive && (!rate || value.find("GB/s") == std::string_view::npos))) return;
  if (links_.size() >= kMostRecords) return;
  gpus_.emplace(gpu_->index, *gpu_);
  NvlinkState state{.gpu = gpu_->index, .link = *link, .is_active = !is_inactive};
  if (rate && !is_inactive) state.speed = core::Bandwidth::from_GBps(*rate);
  state.from = line.evidence();
  links_.push_back(std::move(state));
}

bool NvlinkStatusReader::put(HostFacts& facts) {
  for (const auto& [index, gpu] : gpus_) facts.gpus.push_back(gpu);
  facts.nvlinks.insert(facts.nvlinks.end(), links_.begin(), links_.end());
  return !links_.empty();
}

}  // namespace

std::unique_ptr<FactReader> peer_status_reader() { return std::make_unique<PeerStatusReader>(); }
std::unique_ptr<FactReader> nvlink_status_reader() {
  return std::make_unique<NvlinkStatusReader>();
}

}  // namespace comm_probe::topology
