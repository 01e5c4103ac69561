#include "model/closed_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/units.h"
#include "model/algorithms.h"
#include "model/protocol.h"

namespace comm_probe::model {
namespace {

using core::Bandwidth;
using core::Bytes;
using core::Duration;

double seconds_per_byte(const Part& part) {
  return part.share == 0 ? 0 : part.share / part.link.beta.in_bytes_per_second();
}

std::string known_algorithms(Op op) {
  std::string known;
  for (const Recipe& recipe : recipes())
    if (recipe.op == op)
      known += (known.empty() ? "" : ", ") + std::string(algorithm_name(recipe.algorithm));
  return known;
}

core::Result<Parts> parts_of(const Collective& collective, const Method& method,
                             const Fabric& fabric) {
  const Recipe* recipe = find_recipe(collective.op, method.algorithm);
  if (recipe == nullptr)
    return core::input_error(fmt::format("{} is not an algorithm for {}",
                                         algorithm_name(method.algorithm), op_name(collective.op)),
                             "known for it: " + known_algorithms(collective.op));
  if (collective.ranks == 1) return Parts{};
  if (recipe->needs == std::string_view(kNeedsSwitch) && !fabric.switch_reduces.value_or(true))
    return core::input_error(fmt::format("{} needs {}, and this machine has none",
                                         algorithm_name(method.algorithm), kNeedsSwitch),
                             "it comes with the NVSwitches of Hopper and later");
  return recipe->build(place(collective.ranks, fabric));
}

// Bytes on the wire: the payload divided by the share that the protocol leaves for it.
void apply_protocol(Parts& parts, Protocol protocol) {
  const double share = payload_share(protocol);
  if (share == 1) return;
  for (Part& part : parts) {
    part.share /= share;
    part.hidden_share /= share;
    part.reason += fmt::format("; x {} for the flags of {}", core::format_number(1 / share),
                               protocol_name(protocol));
  }
}

Term term_of(const Part& part, Bytes bytes) {
  return {part.name, part.steps, bytes * part.share, bytes * part.hidden_share,
          part.link, part.reason};
}

bool same_link(const Link& a, const Link& b) { return a.alpha == b.alpha && a.beta == b.beta; }

Duration time_on(const Link& link, const std::vector<Term>& terms) {
  Duration sum;
  for (const Term& term : terms)
    if (same_link(term.link, link)) sum += term.time();
  return sum;
}

// The link that costs most at this size is the one that the ledger names.
Link dominating(const std::vector<Term>& terms) {
  Link worst = terms.front().link;
  for (const Term& term : terms)
    if (time_on(term.link, terms) > time_on(worst, terms)) worst = term.link;
  return worst;
}

void fill_curve(Ledger& ledger, const Parts& parts) {
  double slope = 0;
  for (const Part& part : parts) slope += seconds_per_byte(part);
  if (slope == 0) return;
  ledger.knee = Bytes::of(ledger.latency().in_seconds() / slope);
  ledger.plateau90 = ledger.knee * 9;
  ledger.plateau_busbw = Bandwidth::from_bytes_per_second(1 / slope) *
                         busbw_factor(ledger.collective.op, ledger.collective.ranks);
}

Ledger ledger_of(const Collective& collective, const Method& method, const Parts& parts) {
  Ledger ledger{
      .collective = collective, .algorithm = method.algorithm, .protocol = method.protocol};
  for (const Part& part : parts) {
    ledger.steps += part.steps;
    ledger.terms.push_back(term_of(part, collective.bytes));
  }
  if (parts.empty()) return ledger;
  ledger.link = dominating(ledger.terms);
  for (const Term& term : ledger.terms)
    if (same_link(term.link, ledger.link)) ledger.bytes_per_rank += term.bytes;
  fill_curve(ledger, parts);
  return ledger;
}

std::string compared(Duration time, Duration chosen) {
  const double ratio = time / chosen;
  if (std::abs(ratio - 1) < 1e-9) return "the same time";
  return fmt::format("x {}{}", core::format_number(ratio, 3), ratio < 1 ? ", faster" : "");
}

// What stands on screen about the links between nodes.
std::string crossing_of(const Placement& at, const Fabric& fabric) {
  if (at.nodes == 1 || !fabric.inter) return "";
  const std::string rate = core::format_bandwidth(fabric.rail.value_or(at.inter.beta));
  if (fabric.rail)
    return fmt::format("{} rail{} of {} out of every node, all in use by every algorithm",
                       fabric.rails, fabric.rails == 1 ? "" : "s", rate);
  return fmt::format(
      "one rail of {} for a ring or nccl-tree; where many ranks cross at once, each has {}", rate,
      rate);
}

// The alpha of the dominating link belongs to one of the two places.
std::string alpha_source_of(const Ledger& ledger, const Fabric& fabric) {
  const bool is_between = fabric.inter && ledger.link.alpha == fabric.inter->alpha &&
                          ledger.link.alpha != fabric.link.alpha;
  return is_between ? fabric.inter_alpha_source : fabric.alpha_source;
}

// A hierarchy of one level is the flat algorithm again.
bool is_degenerate(const Ledger& chosen, const Recipe& recipe, const Fabric& fabric) {
  const Placement at = place(chosen.collective.ranks, fabric);
  return recipe.algorithm == Algorithm::kHierarchical && (at.nodes == 1 || at.ranks_per_node == 1);
}

// Without protocol shares of its own an algorithm is compared under the protocol of the ledger.
Rejected candidate(const Ledger& chosen, const Recipe& recipe, const Fabric& fabric) {
  const bool has_it =
      recipe.needs == std::string_view(kNeedsSwitch) && fabric.switch_reduces.value_or(false);
  Rejected rejected{recipe.algorithm, chosen.protocol, {}, has_it ? "" : recipe.needs, {}};
  rejected.is_optional = *recipe.needs != '\0';
  if (is_degenerate(chosen, recipe, fabric)) {
    rejected.reason = "one level only, nothing to divide";
    return rejected;
  }
  const auto other = price(chosen.collective, {recipe.algorithm, chosen.protocol}, fabric);
  if (!other) {
    rejected.reason = other.error().message;
    return rejected;
  }
  rejected.time = other->time();
  rejected.reason =
      chosen.time() > Duration() ? compared(other->time(), chosen.time()) : "free too";
  return rejected;
}

}  // namespace

core::Result<bool> check(const Collective& collective, const Fabric& fabric) {
  if (collective.ranks < 1 || collective.ranks > kMostRanks)
    return core::input_error(
        fmt::format("{} ranks are outside 1 to {}", collective.ranks, kMostRanks));
  if (fabric.ranks_per_node < 0)
    return core::input_error(fmt::format("{} ranks per node is below 1", fabric.ranks_per_node));
  if (fabric.rails < 1 || fabric.rails > kMostRanks)
    return core::input_error(fmt::format("{} rails are outside 1 to {}", fabric.rails, kMostRanks));
  const auto too_slow = [](const Link& link) {
    return link.beta < Bandwidth::from_bytes_per_second(1);
  };
  if (too_slow(fabric.link) || (fabric.inter && too_slow(*fabric.inter)))
    return core::input_error("a link below 1 B/s cannot be priced");
  return true;
}

namespace {

// `fabric` has the alphas of the protocol.
core::Result<Ledger> price_alone(const Collective& collective, const Method& method,
                                 const Fabric& fabric) {
  auto parts = parts_of(collective, method, fabric);
  if (!parts) return parts.error();
  std::erase_if(*parts, [](const Part& part) { return part.steps == 0 && part.share == 0; });
  apply_protocol(*parts, method.protocol);
  Ledger ledger = ledger_of(collective, method, *parts);
  if (parts->empty()) ledger.link = fabric.link;
  ledger.basis = fabric.basis;
  ledger.source = fabric.source;
  ledger.alpha_source = alpha_source_of(ledger, fabric);
  ledger.crossing = crossing_of(place(collective.ranks, fabric), fabric);
  return ledger;
}

void double_beta(std::optional<Bandwidth>& beta) {
  if (beta) *beta = *beta * 2;
}

Fabric changed(Fabric fabric, bool is_inside, bool is_alpha) {
  Link& link = is_inside ? fabric.link : *fabric.inter;
  if (is_alpha) {
    link.alpha = link.alpha * 0.5;
    return fabric;
  }
  link.beta = link.beta * 2;
  if (is_inside) {
    double_beta(fabric.one_peer);
    double_beta(fabric.all_peers);
  } else {
    double_beta(fabric.rail);
  }
  return fabric;
}

// Each kind of link priced again with half the alpha, then with twice the bandwidth.
std::vector<PlaceSaving> savings_by_place(const Ledger& ledger, const Fabric& fabric) {
  const Placement at = place(ledger.collective.ranks, fabric);
  if (!fabric.inter || at.nodes == 1 || at.ranks_per_node == 1) return {};
  const auto saved = [&](bool is_inside, bool is_alpha) {
    const auto other = price_alone(ledger.collective, {ledger.algorithm, ledger.protocol},
                                   changed(fabric, is_inside, is_alpha));
    return other ? std::max(Duration(), ledger.time() - other->time()) : Duration();
  };
  return {{"inside the node", fabric.link, saved(true, true), saved(true, false)},
          {"between nodes", *fabric.inter, saved(false, true), saved(false, false)}};
}

}  // namespace

core::Result<Ledger> price(const Collective& collective, const Method& method,
                           const Fabric& given) {
  const auto checked = check(collective, given);
  if (!checked) return checked.error();
  const Fabric fabric = with_protocol(given, method.protocol);
  auto ledger = price_alone(collective, method, fabric);
  if (ledger) ledger->by_place = savings_by_place(*ledger, fabric);
  return ledger;
}

Algorithm usual_algorithm(const Collective& collective, const Fabric& fabric) {
  if (collective.op == Op::kAllToAll || collective.op == Op::kSendRecv) return Algorithm::kDirect;
  if (!fabric.inter || find_recipe(collective.op, Algorithm::kHierarchical) == nullptr)
    return Algorithm::kRing;
  const Placement at = place(collective.ranks, fabric);
  return at.nodes > 1 && at.ranks_per_node > 1 && at.is_even ? Algorithm::kHierarchical
                                                             : Algorithm::kRing;
}

core::Result<Ledger> price_fastest(const Collective& collective, Protocol protocol,
                                   const Fabric& fabric) {
  auto best = price(collective, {usual_algorithm(collective, fabric), protocol}, fabric);
  if (!best) return best;
  for (const Recipe& recipe : recipes()) {
    if (recipe.op != collective.op || *recipe.needs != '\0') continue;
    auto other = price(collective, {recipe.algorithm, protocol}, fabric);
    if (other && other->time() < best->time()) best = std::move(other);
  }
  best->rejected = alternatives(*best, fabric);
  return best;
}

std::vector<Rejected> alternatives(const Ledger& chosen, const Fabric& fabric) {
  std::vector<Rejected> others;
  for (const Recipe& recipe : recipes()) {
    if (recipe.op != chosen.collective.op || recipe.algorithm == chosen.algorithm) continue;
    others.push_back(candidate(chosen, recipe, fabric));
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const Rejected& a, const Rejected& b) { return a.time < b.time; });
  return others;
}

core::Result<ClosedForm> ClosedForm::create(Fabric fabric, std::optional<Method> method) {
  const auto checked = check({}, fabric);
  if (!checked) return checked.error();
  return ClosedForm(std::move(fabric), method);
}

Ledger ClosedForm::price(const Collective& collective) const {
  const Method method =
      method_.value_or(Method{usual_algorithm(collective, fabric_), Protocol::kSimple});
  auto asked = model::price(collective, method, fabric_);
  if (asked) return std::move(asked).value();
  const Method usual = {usual_algorithm(collective, fabric_), method.protocol};
  auto ledger = model::price(collective, usual, fabric_);
  COMM_PROBE_CHECK(ledger.ok(), "a collective that no algorithm can price");
  ledger->rejected.push_back({method.algorithm, method.protocol, {}, {}, asked.error().message});
  return std::move(ledger).value();
}

std::string ClosedForm::description() const {
  const std::string over =
      fmt::format("{} and {} per step", core::format_bandwidth(fabric_.link.beta),
                  core::format_duration(fabric_.link.alpha));
  const std::string between =
      fabric_.inter
          ? fmt::format(", between nodes {} and {}", core::format_bandwidth(fabric_.inter->beta),
                        core::format_duration(fabric_.inter->alpha))
          : "";
  return fmt::format("{} over {}{} ({})",
                     method_ ? algorithm_name(method_->algorithm) : "usual algorithm", over,
                     between, fabric_.source);
}

}  // namespace comm_probe::model
