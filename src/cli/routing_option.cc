#include "cli/routing_option.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "core/number.h"
#include "core/units.h"
#include "model/moe/skew.h"
#include "serving/readers/routing_file.h"

namespace comm_probe::cli {
namespace {

using core::input_error;

constexpr std::string_view kZipf = "zipf:";

core::Result<double> parse_skew(const std::string& text) {
  const auto skew = text.starts_with(kZipf)
                        ? core::whole_number<double>(std::string_view(text).substr(kZipf.size()))
                        : std::nullopt;
  if (!skew || !(*skew >= 0 && *skew <= model::kMostSkew))
    return input_error(
        fmt::format("'{}' is no skew", text),
        fmt::format("expected zipf:S with S from 0 (all experts alike) to {}", model::kMostSkew));
  return *skew;
}

// Shares of a recording whose ranks had unlike numbers of tokens are not those of its ranks.
std::vector<core::Caveat> uneven(const model::Routing& routing, std::int64_t ranks) {
  const std::int64_t tokens = routing.tokens();
  if (tokens % ranks == 0) return {};
  return {core::make_caveat(
      "calc.routing-uneven",
      fmt::format("{} tokens do not divide over {} ranks: {} or {} are counted for each, in order",
                  tokens, ranks, tokens / ranks, tokens / ranks + 1),
      "where the ranks had unlike numbers, tokens are counted for the wrong one")};
}

// Ties go to the lowest numbers, as in the frameworks' topk: then those experts seem hot.
std::vector<core::Caveat> undecided(const model::Routing& routing) {
  if (routing.undecided == 0) return {};
  return {core::make_caveat(
      "calc.routing-logits-equal",
      fmt::format("all logits of {} of {} tokens are equal: was this router ever run?",
                  routing.undecided, routing.tokens()),
      fmt::format("each of these tokens counts for experts 0 to {}", routing.topk - 1))};
}

// That none of many picks falls on the highest experts means that there are none: with 5 % of them
// never picked, 20 picks for each expert, chance is e^-256 for 256 of them.
std::vector<core::Caveat> fewer_experts(const model::Routing& routing) {
  constexpr double kShare = 0.95, kPicksEach = 20;
  int highest = -1;
  double picks = 0;
  for (const std::uint16_t pick : routing.picks) {
    if (pick == model::kNoExpert) continue;
    ++picks;
    highest = std::max<int>(highest, pick);
  }
  if (highest + 1 > routing.experts * kShare || picks < kPicksEach * routing.experts) return {};
  return {core::make_caveat(
      "calc.routing-fewer-experts",
      fmt::format("no token of it picks an expert above {}, and {} are assumed: --experts {}?",
                  highest, routing.experts, highest + 1),
      "with too many experts the last ranks seem idle and the others hot")};
}

bool picks_nothing(const model::Routing& routing) {
  return std::all_of(routing.picks.begin(), routing.picks.end(),
                     [](std::uint16_t pick) { return pick == model::kNoExpert; });
}

}  // namespace

void RoutingOption::add_to(CLI::App& app) {
  auto* file = app.add_option("--routing", file_,
                              "experts that the tokens picked (.npy, .csv, int32), or zipf:S");
  file->type_name("FILE");
  app.add_option("--skew", skew_, "draw them instead: zipf:S, S = 0 all alike, 1.2 is skewed")
      ->type_name("zipf:S")
      ->excludes(file);
  app.add_option("--seed", seed_, "of what is drawn")->capture_default_str()->type_name("N");
}

bool RoutingOption::reads_file() const { return !file_.empty() && !file_.starts_with(kZipf); }

core::Result<ChosenRouting> RoutingOption::load(model::MoeLayer& layer, bool knows_experts) const {
  if (file_.starts_with(kZipf)) return draw(layer, file_);
  return file_.empty() ? draw(layer, skew_) : read(layer, knows_experts);
}

core::Result<ChosenRouting> RoutingOption::read(model::MoeLayer& layer, bool knows_experts) const {
  auto input = core::Input::open(file_);
  if (!input) return input.error();
  auto routing = serving::read_routing(*input, {layer.topk, layer.experts});
  if (!routing) return routing.error();
  const std::int64_t per_rank = routing->tokens() / layer.ranks();
  if (routing->tokens() < layer.ranks())
    return input_error(fmt::format("{} holds {} tokens, fewer than the {} ranks", input->name(),
                                   routing->tokens(), layer.ranks()),
                       "it must hold those of all ranks, one rank after the other");
  if (layer.tokens != 0 && layer.tokens != per_rank)
    return input_error(
        fmt::format("{} holds {} tokens, {} for each of {} ranks, not {}", input->name(),
                    routing->tokens(), per_rank, layer.ranks(), layer.tokens),
        "leave --tokens out");
  if (picks_nothing(*routing))
    return input_error(
        fmt::format("{}: none of its {} tokens picks an expert", input->name(), routing->tokens()),
        "expected expert ids; -1 is a slot without one");
  layer.tokens = per_rank;
  auto caveats = uneven(*routing, layer.ranks());
  for (core::Caveat& caveat : undecided(*routing)) caveats.push_back(std::move(caveat));
  if (!knows_experts)
    for (core::Caveat& caveat : fewer_experts(*routing)) caveats.push_back(std::move(caveat));
  return ChosenRouting{std::move(routing).value(), input->name(), core::Basis::kRead,
                       core::InputRecord{file_, "moe-routing"}, std::move(caveats)};
}

core::Result<ChosenRouting> RoutingOption::draw(const model::MoeLayer& layer,
                                                const std::string& skew) const {
  const auto exponent = parse_skew(skew);
  if (!exponent) return exponent.error();
  const std::int64_t tokens = layer.tokens * layer.ranks();
  if (layer.tokens < 1)
    return input_error("no tokens to draw for", "give --tokens, those of one rank");
  if (tokens > serving::kMostPicks / layer.topk)
    return input_error(fmt::format("{} tokens on each of {} ranks with {} experts are more than {} "
                                   "picks",
                                   layer.tokens, layer.ranks(), layer.topk, serving::kMostPicks),
                       "draw for fewer tokens");
  return ChosenRouting{model::draw_routing({tokens, layer.topk, layer.experts, layer.nodes,
                                            layer.group_limit, *exponent, seed_}),
                       fmt::format("drawn: {}, seed {}", skew, seed_),
                       core::Basis::kComputed,
                       std::nullopt,
                       {}};
}

}  // namespace comm_probe::cli
