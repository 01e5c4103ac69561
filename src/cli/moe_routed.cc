#include "cli/moe_routed.h"

#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "cli/decimal_bytes.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::format_duration;
using core::format_number;
using core::format_percent;
using core::Json;
using core::json_number;
using model::MoeScheme;
using model::RoutedPrice;
using Align = core::Column::Align;

constexpr int kMostRanksOfMatrix = 128;
constexpr std::size_t kHottestShown = 5;

RoutedLedger::Placed placed(const MoeQuestion& question, const model::Routing& routing,
                            const model::ExpertPlacement& placement) {
  const model::MoeLayer& layer = question.layer;
  RoutedLedger::Placed result;
  result.traffic = model::route(routing, placement, {layer.nodes, layer.ranks_per_node},
                                layer.ranks() <= kMostRanksOfMatrix);
  result.flat = model::price_routed(result.traffic, layer, question.links, MoeScheme::kFlat);
  result.dedup = model::price_routed(result.traffic, layer, question.links, MoeScheme::kDedup);
  return result;
}

std::uint64_t received_by_hottest(const RoutedLedger::Placed& one) {
  return one.traffic.ranks[static_cast<std::size_t>(one.traffic.hottest())].received;
}

std::vector<std::size_t> hottest_experts(const std::vector<std::uint64_t>& load) {
  std::vector<std::size_t> order(load.size());
  std::iota(order.begin(), order.end(), 0U);
  const std::size_t shown = std::min(kHottestShown, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&load](std::size_t a, std::size_t b) {
                      return load[a] != load[b] ? load[a] > load[b] : a < b;
                    });
  order.resize(shown);
  return order;
}

Json transfer_json(const model::MoeTransfer& transfer) {
  return {{"nic_bytes", core::json_bytes(transfer.nic)},
          {"nvlink_bytes", core::json_bytes(transfer.nvlink)},
          {"time_us", json_number(transfer.time().in_us())},
          {"limited_by", transfer.is_nic_bound() ? "nic" : "nvlink"}};
}

Json price_json(const RoutedPrice& price) {
  return {{"slowest_rank", price.slowest},
          {"nic_copies_mean", json_number(price.nic_mean)},
          {"nic_copies_most", price.nic_most},
          {"nvlink_copies_mean", json_number(price.nvlink_mean)},
          {"nvlink_copies_most", price.nvlink_most},
          {"dispatch", transfer_json(price.dispatch)},
          {"combine", transfer_json(price.combine)},
          {"time_us", json_number(price.time().in_us())}};
}

Json lanes_json(const model::LaneCopies& lanes) {
  return {{"nic_out", lanes.nic_out},
          {"nic_in", lanes.nic_in},
          {"nvlink_out", lanes.nvlink_out},
          {"nvlink_in", lanes.nvlink_in}};
}

Json placement_json(const RoutedLedger::Placed& one) {
  return {{"name", one.name},
          {"experts_per_rank", one.slots},
          {"hottest_rank", one.traffic.hottest()},
          {"hottest_received", received_by_hottest(one)},
          {"imbalance", json_number(one.traffic.imbalance())},
          {"balancedness", json_number(1 / one.traffic.imbalance())},
          {"flat", price_json(one.flat)},
          {"dedup", price_json(one.dedup)}};
}

core::Table placements_table(const RoutedLedger& ledger) {
  core::Table table{{{"experts", Align::kLeft},
                     {"per rank"},
                     {"hottest"},
                     {"imbalance"},
                     {"flat: NIC"},
                     {"layer"},
                     {"dedup: NIC"},
                     {ledger.question.peer_link},
                     {"layer"}},
                    {}};
  for (const RoutedLedger::Placed& one : ledger.placements)
    table.rows.push_back(
        {one.name, std::to_string(one.slots), std::to_string(one.traffic.hottest()),
         fmt::format("{:.2f}", one.traffic.imbalance()), decimal_bytes(one.flat.dispatch.nic),
         format_duration(one.flat.time()), decimal_bytes(one.dedup.dispatch.nic),
         decimal_bytes(one.dedup.dispatch.nvlink), format_duration(one.dedup.time())});
  return table;
}

std::string hottest_text(const RoutedLedger& ledger) {
  const RoutedLedger::Placed& now = ledger.placements.front();
  const double mean =
      static_cast<double>(now.traffic.pairs()) / static_cast<double>(now.traffic.ranks.size());
  return fmt::format(
      "rank {} computes {} (token, expert) pairs, the mean is {}: imbalance {:.2f}, "
      "balancedness {:.2f}",
      now.traffic.hottest(), received_by_hottest(now), format_number(mean, 6),
      now.traffic.imbalance(), 1 / now.traffic.imbalance());
}

std::string experts_text(const model::RoutedTraffic& traffic) {
  std::string text;
  const auto all = static_cast<double>(std::max<std::uint64_t>(1, traffic.pairs()));
  for (const std::size_t expert : hottest_experts(traffic.load))
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", expert,
                        format_percent(static_cast<double>(traffic.load[expert]) / all));
  return text + fmt::format("; {} each if all were alike",
                            format_percent(1.0 / static_cast<double>(traffic.load.size())));
}

std::string slowest_text(const char* scheme, const RoutedPrice& price, const MoeQuestion& asked) {
  const bool is_nic = price.dispatch.is_nic_bound();
  const std::string link = is_nic ? "NIC" : asked.peer_link;
  const double mean = is_nic ? price.nic_mean : price.nvlink_mean;
  const std::uint64_t most = is_nic ? price.nic_most : price.nvlink_most;
  return fmt::format("{}: rank {} sets the time ({}): {} copies on its {}, {:.2f} of the mean",
                     scheme, price.slowest, link, most, link,
                     mean > 0 ? static_cast<double>(most) / mean : 1);
}

// What a change of the experts saves, of the layer.
std::string saving_text(const RoutedLedger::Placed& now, const RoutedLedger::Placed& then) {
  const core::Duration saved = now.dedup.time() - then.dedup.time();
  if (saved <= core::Duration()) return "saves nothing with dedup";
  return fmt::format("saves {} of {} with dedup ({}), imbalance {:.2f} instead of {:.2f}",
                     format_duration(saved), format_duration(now.dedup.time()),
                     format_percent(saved / now.dedup.time()), then.traffic.imbalance(),
                     now.traffic.imbalance());
}

core::Table nodes_table(const RoutedLedger& ledger) {
  const model::MoeLayer& layer = ledger.question.layer;
  const model::RoutedTraffic& traffic = ledger.placements.front().traffic;
  constexpr int kMostNodesShown = 16;
  core::Table table{{{"from node"}}, {}};
  const auto nodes = static_cast<std::size_t>(std::min(layer.nodes, kMostNodesShown));
  const auto per_node = static_cast<std::size_t>(layer.ranks_per_node);
  const auto ranks = static_cast<std::size_t>(layer.ranks());
  for (std::size_t node = 0; node < nodes; ++node)
    table.columns.push_back({fmt::format("{}", node)});
  for (std::size_t from = 0; from < nodes; ++from) {
    std::vector<std::string> row = {std::to_string(from)};
    for (std::size_t to = 0; to < nodes; ++to) {
      std::uint64_t pairs = 0;
      for (std::size_t a = from * per_node; a < (from + 1) * per_node; ++a)
        for (std::size_t b = to * per_node; b < (to + 1) * per_node; ++b)
          pairs += traffic.matrix[a * ranks + b];
      row.push_back(std::to_string(pairs));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// The experts of a token stand on so many nodes at most.
int most_nodes_of(const model::Routing& routing, const model::MoeLayer& layer) {
  const int each = std::max(1, layer.experts / layer.nodes);
  std::vector<std::int64_t> seen_by(static_cast<std::size_t>(layer.experts / each + 1), -1);
  int most = 0;
  for (std::int64_t token = 0; token < routing.tokens(); ++token) {
    int nodes = 0;
    for (int i = 0; i < routing.topk; ++i) {
      const auto pick = routing.picks[static_cast<std::size_t>(token * routing.topk + i)];
      if (pick == model::kNoExpert) continue;
      std::int64_t& last = seen_by[static_cast<std::size_t>(pick / each)];
      nodes += last != token;
      last = token;
    }
    most = std::max(most, nodes);
  }
  return most;
}

std::string against_even(const RoutedLedger& ledger) {
  const int limit = ledger.question.layer.group_limit;
  std::string text = fmt::format("dedup takes {:.2f} times the {} of an even routing",
                                 ledger.placements[0].dedup.time() / ledger.balanced.time(),
                                 format_duration(ledger.balanced.time()));
  if (limit > 0 && ledger.most_nodes > limit)
    text += fmt::format(" without a limit: tokens of it go to {} nodes, not to {} (--group-limit)",
                        ledger.most_nodes, limit);
  return text;
}

}  // namespace

RoutedLedger price_routing(const MoeQuestion& question, const ChosenRouting& chosen) {
  const model::MoeLayer& layer = question.layer;
  RoutedLedger ledger{question, chosen.source, chosen.basis, chosen.routing.tokens(), {}, 0, {}};
  const int slots = layer.experts / layer.ranks();
  ledger.placements.push_back(
      placed(question, chosen.routing, model::equal_shares(layer.experts, layer.ranks())));
  ledger.placements.back().name = "as numbered";
  ledger.placements.back().slots = slots;
  const std::vector<std::uint64_t> load = ledger.placements.front().traffic.load;
  for (const int more : {0, 1}) {
    ledger.placements.push_back(placed(
        question, chosen.routing, model::balanced_placement(load, layer.ranks(), slots + more)));
    ledger.placements.back().name = more == 0 ? "packed by load" : "hottest copied";
    ledger.placements.back().slots = slots + more;
  }
  if (layer.group_limit > 0) ledger.most_nodes = most_nodes_of(chosen.routing, layer);
  // one that goes to more nodes is compared with what keeps no limit either
  const bool keeps_limit = layer.group_limit > 0 && ledger.most_nodes <= layer.group_limit;
  const auto scheme = keeps_limit ? MoeScheme::kGroup : MoeScheme::kDedup;
  ledger.balanced = model::price_moe(layer, question.links, scheme, model::MoeDraw::kDistinct);
  return ledger;
}

Json routed_json(const RoutedLedger& ledger) {
  const RoutedLedger::Placed& now = ledger.placements.front();
  Json experts = Json::array(), placements = Json::array(), ranks = Json::array();
  for (const std::size_t expert : hottest_experts(now.traffic.load))
    experts.push_back({{"expert", expert}, {"pairs", now.traffic.load[expert]}});
  for (const RoutedLedger::Placed& one : ledger.placements)
    placements.push_back(placement_json(one));
  for (const model::RankTraffic& rank : now.traffic.ranks)
    ranks.push_back({{"received", rank.received},
                     {"flat", lanes_json(rank.flat)},
                     {"dedup", lanes_json(rank.dedup)}});
  Json json = {{"source", ledger.source},
               {"basis", basis_name(ledger.basis)},
               {"tokens", ledger.tokens},
               {"pairs", now.traffic.pairs()},
               {"slowest_rank", now.dedup.slowest},
               {"hottest_rank", now.traffic.hottest()},
               {"imbalance", json_number(now.traffic.imbalance())},
               {"hottest_experts", experts},
               {"balanced_us", json_number(ledger.balanced.time().in_us())},
               {"placements", placements},
               {"ranks", ranks}};
  if (!now.traffic.matrix.empty()) {
    json["matrix"] = Json::array();
    const std::size_t size = now.traffic.ranks.size();
    for (std::size_t from = 0; from < size; ++from) {
      const auto row = now.traffic.matrix.begin() + static_cast<std::ptrdiff_t>(from * size);
      json["matrix"].push_back(
          std::vector<std::uint32_t>(row, row + static_cast<std::ptrdiff_t>(size)));
    }
  }
  return json;
}

std::string routed_sentence(const RoutedLedger& ledger) {
  const RoutedLedger::Placed& now = ledger.placements.front();
  return fmt::format(
      "; with this routing flat {}, dedup {}: rank {} is the hottest, {:.2f} times the mean",
      format_duration(now.flat.time()), format_duration(now.dedup.time()), now.traffic.hottest(),
      now.traffic.imbalance());
}

std::vector<core::Block> routed_blocks(const RoutedLedger& ledger) {
  const RoutedLedger::Placed& now = ledger.placements[0];
  core::KeyValues pairs;
  pairs.rows = {{"routing", fmt::format("{} tokens ({}: {})", ledger.tokens,
                                        basis_name(ledger.basis), ledger.source)},
                {"hottest rank", hottest_text(ledger)},
                {"hottest experts", experts_text(now.traffic)},
                {"slowest rank", slowest_text("flat", now.flat, ledger.question)},
                {"", slowest_text("dedup", now.dedup, ledger.question)},
                {"against even", against_even(ledger)},
                {"packed by load", saving_text(now, ledger.placements[1])},
                {"hottest copied", fmt::format("one more expert on every rank {}",
                                               saving_text(now, ledger.placements[2]))}};
  return {core::Heading{"With this routing"}, std::move(pairs),
          core::Heading{"Placing the experts"}, placements_table(ledger)};
}

std::vector<core::Block> routed_details(const RoutedLedger& ledger) {
  if (ledger.placements.front().traffic.matrix.empty()) return {};
  return {core::Heading{"(token, expert) pairs from node to node"}, nodes_table(ledger)};
}

}  // namespace comm_probe::cli
