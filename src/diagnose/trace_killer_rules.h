// The rules behind trace_killers.h: what one rank shows, and how one finding is said of all ranks
// that show it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/trace_killers.h"
#include "torch/killer_limits.h"

namespace comm_probe::diagnose {

struct Example {
  torch::KillerHit hit = {};
  std::string more = {};  // behind its line
};

// One rule on one rank.
struct Strike {
  const torch::OverlapFacts* facts = nullptr;
  KillerUse use = {};
  std::vector<Example> examples = {};  // first ones: where to look in a viewer
  bool is_doubtful = false;            // the trace lacks what would prove it
};

// What the rule says about all ranks that it struck: the worst rank, the ranks, the cost in words.
struct Struck {
  const Strike* worst = nullptr;
  std::string ranks = {};  // "on ranks 0-3"
  std::string cost =
      {};  // "0.56 ms per step (14.8 %): 0.38 ms idle, 0.15 ms exposed communication"
};

enum class RuleWeight {
  kJudged,     // a warning where it costs enough
  kOfTheMost,  // the same, said only where half of the ranks have it
  kNote,       // normal: information whatever it costs
  kLeastNote,  // the same, where all ranks have it; of the one that it costs least
};

struct KillerRule {
  std::string id;
  std::optional<Strike> (*strike)(const torch::OverlapFacts& facts);
  std::string (*summary)(const Struck& struck);
  std::vector<std::string> cure;  // one line each
  core::Confidence confidence = core::Confidence::kLikely;
  RuleWeight weight = RuleWeight::kJudged;
};
std::vector<KillerRule> host_rules();    // K1 to K3
std::vector<KillerRule> stream_rules();  // K4 to K6, the last bucket
std::vector<KillerRule> load_rules();    // K7 to K9, the first collective

// A strike of some hits with their cost and first examples.
Strike strike_of(const torch::OverlapFacts& facts, std::string id, const torch::KillerHits& hits);
// "step 10, ts 4458677009853.422: cudaMemcpyAsync 523 us (aten::item), thread 40000, ..."
std::string hit_text(const torch::OverlapFacts& facts, const torch::KillerHit& hit);
// "5 copies per step", "15 copies in 3 steps", "1 copy".
std::string count_text(const Strike& strike, const std::string& one, const std::string& many);
std::string ms_text(double ns);  // "0.56 ms"
// At least 1 % of the window.
bool matters(const torch::OverlapFacts& facts, std::int64_t lost);

}  // namespace comm_probe::diagnose
