// The part of `topo check` that asks NCCL's rules.
#pragma once

#include "core/document.h"
#include "diagnose/topo.h"

namespace comm_probe::cli {

// Adds findings to the judgement and lines to the document; where NCCL would not start on this
// machine, a caveat. Nothing where the source shows no graph or no GPU.
void add_policy(const topology::Survey& survey, int nodes, diagnose::TopoJudgement& judgement,
                core::Document& document);

}  // namespace comm_probe::cli
