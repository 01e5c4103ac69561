#include <algorithm>
#include <array>

#include "topology/readers/fact_reader.h"
#include "topology/readers/matrix_words.h"

namespace comm_probe::topology {
namespace {

// By which NICs reach GPU memory; the second is the name that nvidia_peermem had.
constexpr std::array<std::string_view, 2> kPeerMemory = {"nvidia_peermem", "nv_peer_mem"};

// `lsmod`: a header, then a row for each module that is loaded. Only below the header does the
// absence of a module say something, and only where a driver of GPUs or NICs is in the list: a
// text that was cut is no list of this.
class LsmodReader : public FactReader {
 public:
  void take(const SourceLine& line) override {
    const std::vector<std::string> words = words_of(line.text);
    if (words.size() == 4 && words[0] == "Module" && words[1] == "Size" && words[2] == "Used") {
      header_ = line.evidence();
      return;
    }
    const bool is_row =
        words.size() >= 3 && small_number(words[1], 1 << 30) && small_number(words[2]);
    if (!header_ || !is_row) return;
    has_driver_ = has_driver_ || words[0] == "nvidia" || words[0].starts_with("mlx");
    const bool is_one =
        std::find(kPeerMemory.begin(), kPeerMemory.end(), words[0]) != kPeerMemory.end();
    if (is_one && !loaded_) loaded_ = line.evidence();
  }
  bool put(HostFacts& facts) override {
    if (!header_ || !(has_driver_ || loaded_)) return false;
    facts.peermem = loaded_ ? Fact<bool>{true, *loaded_} : Fact<bool>{false, *header_};
    return true;
  }

 private:
  std::optional<core::Evidence> header_ = {};
  std::optional<core::Evidence> loaded_ = {};
  bool has_driver_ = false;
};

}  // namespace

std::unique_ptr<FactReader> lsmod_reader() { return std::make_unique<LsmodReader>(); }

}  // namespace comm_probe::topology
