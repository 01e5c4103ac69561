// `trace --moe tokens=128,topk=8`: dispatch and combine of a MoE job beside the ledger of calc moe.
#pragma once

#include <string>
#include <vector>

#include "cli/trace_reference.h"
#include "core/document.h"
#include "diagnose/trace_moe.h"

namespace comm_probe::cli {

class TraceMoeRequest {
 public:
  void add_to(CLI::App& app);
  // Facts of the layer that were given, and the links of the machine that was named. Fails on an
  // unknown name and on a value out of range.
  core::Result<diagnose::MoeGiven> given(const TraceReference& reference) const;

 private:
  std::vector<std::string> words_ = {};
};

// Adds result.moe, findings and a section; where no kernel of a MoE layer ran, result.moe is null.
void add_moe(const torch::AcrossRanks& across, const diagnose::MoeGiven& given,
             core::Document& document);

}  // namespace comm_probe::cli
