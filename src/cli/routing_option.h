// --routing FILE, or --skew zipf:S with --seed: which experts the tokens pick, for `calc moe` and
// `bench all_to_all`.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/document.h"
#include "model/moe/routing.h"

namespace comm_probe::cli {

struct ChosenRouting {
  model::Routing routing = {};
  std::string source = {};  // "FILE", "zipf:1.2, seed 1"
  core::Basis basis = core::Basis::kRead;
  std::optional<core::InputRecord> input = {};
  std::vector<core::Caveat> caveats = {};  // what the file leaves open
};

class RoutingOption {
 public:
  void add_to(CLI::App& app);
  bool is_given() const { return !file_.empty() || !skew_.empty(); }
  bool reads_file() const;  // not zipf:S
  // Of `layer`, whose tokens per rank are those of the file where none were given (0).
  // `knows_experts`: somebody said how many there are; else a file that never picks the highest
  // ones is a caveat.
  core::Result<ChosenRouting> load(model::MoeLayer& layer, bool knows_experts) const;

 private:
  core::Result<ChosenRouting> read(model::MoeLayer& layer, bool knows_experts) const;
  core::Result<ChosenRouting> draw(const model::MoeLayer& layer, const std::string& skew) const;

  std::string file_ = {};
  std::string skew_ = {};
  std::uint64_t seed_ = 1;
};

}  // namespace comm_probe::cli
