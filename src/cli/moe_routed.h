// What a known routing does to the ledger of `calc moe`: the slowest rank, and what moving or
// copying the hottest experts would save.
#pragma once

#include "cli/moe_request.h"
#include "cli/routing_option.h"

namespace comm_probe::cli {

struct RoutedLedger {
  MoeQuestion question = {};
  std::string source = {};
  core::Basis basis = core::Basis::kRead;
  std::int64_t tokens = 0;  // of all ranks
  // As the experts are numbered; packed by load; with one more expert per rank.
  struct Placed {
    const char* name = "";
    int slots = 0;  // experts per rank
    model::RoutedTraffic traffic = {};
    model::RoutedPrice flat = {};
    model::RoutedPrice dedup = {};
  };
  std::vector<Placed> placements = {};
  int most_nodes = 0;             // of a token's experts; counted where a limit was asked for
  model::MoePrice balanced = {};  // dedup, or group, if every expert were picked alike
};
RoutedLedger price_routing(const MoeQuestion& question, const ChosenRouting& chosen);

core::Json routed_json(const RoutedLedger& ledger);
std::string routed_sentence(const RoutedLedger& ledger);
std::vector<core::Block> routed_blocks(const RoutedLedger& ledger);
std::vector<core::Block> routed_details(const RoutedLedger& ledger);

}  // namespace comm_probe::cli
