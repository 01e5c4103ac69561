// The sections of `trace` about several ranks together, and those of NCCL Inspector logs.
#pragma once

#include <vector>

#include "cli/trace_reference.h"
#include "core/document.h"
#include "diagnose/trace_moe.h"
#include "torch/readers/inspector.h"
#include "torch/trace.h"

namespace comm_probe::cli {

struct AcrossRequest {
  diagnose::RateReference reference = {};
  core::Bytes message = {};  // of calls without a size; 0: they have none
  diagnose::MoeGiven moe = {};
};

// Adds findings, caveats, result and body. The traces have ranks that differ.
// The clocks of the traces, for who draws them on one line.
std::vector<torch::ClockOffset> add_across(const std::vector<torch::Trace>& traces,
                                           const AcrossRequest& request, core::Document& document);
// Everything of a document that has nothing but logs.
core::Document inspector_document(const std::vector<torch::InspectorLog>& logs,
                                  const AcrossRequest& request);

}  // namespace comm_probe::cli
