// The search part of `nccl plan` for people: what each search found and what it had to give up, the
// orders of GPUs with the NICs at both ends, how many channels each kind of traffic gets.
#pragma once

#include "core/document.h"
#include "nccl/nccl.h"

namespace comm_probe::cli {

// `is_every_order`: of each search all orders of ranks, else the first few.
void add_graph_blocks(core::Document& document, const nccl::JobPlan& plan, bool is_every_order);
// Every ring and tree; for --explain.
void add_rings_and_trees(core::Document& document, const nccl::JobPlan& plan);

// "10 tries; settled for 24 instead of 48 GB/s, orders that differ by channel; step budget spent in
// 3 of them"
std::string search_story(const nccl::Graph& graph);

}  // namespace comm_probe::cli
