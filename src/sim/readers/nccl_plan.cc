#include "sim/readers/nccl_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/input.h"
#include "core/json.h"
#include "core/number.h"

namespace comm_probe::sim {
namespace {

using core::Json;

constexpr const char* kHint = "expected the output of `comm-probe nccl plan --full --json`";
constexpr std::uint64_t kLargestPlan = 1U << 28U;
constexpr std::size_t kMostPlans = 4096;  // of channels; NCCL has 64

core::Error not_a_plan(const std::string& name, const std::string& why) {
  return core::input_error(fmt::format("{}: {}", name, why), kHint);
}

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

// How many channels use each of `count` orders; nothing where the list is not one.
std::optional<std::vector<int>> uses_of(const Json& part, std::size_t count) {
  const Json* list = member(part, "channel_to_unique");
  std::vector<int> uses(count);
  if (list == nullptr || !list->is_array()) return std::nullopt;
  for (const Json& which : *list) {
    if (!which.is_number_unsigned() || which.get<std::uint64_t>() >= count) return std::nullopt;
    ++uses[which.get<std::size_t>()];
  }
  return uses;
}

// The orders of rings or trees of a plan, where they are all there.
core::Result<const Json*> orders_of(const std::string& name, const Json& plan, const char* key) {
  const Json* part = member(plan, key);
  if (part == nullptr) return not_a_plan(name, fmt::format("no \"{}\" of a plan", key));
  const Json* full = member(*part, "full");
  if (full != nullptr && full->is_number() && full->get<double>() == 0)
    return not_a_plan(name, fmt::format("the {} are shortened", key));
  const Json* unique = member(*part, "unique");
  if (unique == nullptr || !unique->is_array() || unique->empty() || unique->size() > kMostPlans)
    return not_a_plan(name, fmt::format("no orders in \"{}\"", key));
  if (!uses_of(*part, unique->size()))
    return not_a_plan(name, fmt::format("\"channel_to_unique\" of the {} names no order", key));
  return part;
}

std::optional<std::vector<int>> ring_of(const Json& order) {
  if (!order.is_array()) return std::nullopt;
  std::vector<int> ring;
  std::vector<bool> seen(order.size());
  for (const Json& rank : order) {
    if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= order.size())
      return std::nullopt;
    const auto at = rank.get<std::size_t>();
    if (seen[at]) return std::nullopt;
    seen[at] = true;
    ring.push_back(static_cast<int>(at));
  }
  return ring;
}

// "-1:1/8/-1 0:2/-1/-1": the number before each colon.
std::optional<std::vector<int>> parents_of(const std::string& text) {
  std::vector<int> parents;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = std::string_view(text).substr(at, end - at);
    const auto parent = core::whole_number<int>(word.substr(0, word.find(':')));
    if (!parent || word.find(':') == std::string_view::npos) return std::nullopt;
    parents.push_back(*parent);
    at = end + 1;
  }
  return parents;
}

// One root, and every other rank reaches it.
bool is_tree(const std::vector<int>& parents) {
  const auto count = static_cast<int>(parents.size());
  std::vector<std::vector<int>> children(parents.size());
  std::vector<int> reached;
  for (int rank = 0; rank < count; ++rank) {
    const int up = parents[static_cast<std::size_t>(rank)];
    if (up < -1 || up >= count) return false;
    if (up < 0)
      reached.push_back(rank);
    else
      children[static_cast<std::size_t>(up)].push_back(rank);
  }
  if (reached.size() != 1) return false;
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const int child : children[static_cast<std::size_t>(reached[i])]) reached.push_back(child);
  return reached.size() == parents.size();
}

core::Result<bool> take_rings(const std::string& name, const Json& part, PlannedChannels& all) {
  const Json& unique = part.at("unique");
  const auto uses = uses_of(part, unique.size());
  for (std::size_t i = 0; i < unique.size(); ++i) {
    auto ring = ring_of(unique[i]);
    if (!ring || ring->empty() || (i > 0 && static_cast<int>(ring->size()) != all.ranks))
      return not_a_plan(name, fmt::format("ring {} does not visit every rank once", i));
    all.ranks = static_cast<int>(ring->size());
    if ((*uses)[i] > 0) all.rings.push_back({*std::move(ring), (*uses)[i]});
  }
  return true;
}

core::Result<bool> take_trees(const std::string& name, const Json& part, PlannedChannels& all) {
  const Json& unique = part.at("unique");
  const auto uses = uses_of(part, unique.size());
  for (std::size_t i = 0; i < unique.size(); ++i) {
    auto parents = unique[i].is_string() ? parents_of(unique[i].get<std::string>()) : std::nullopt;
    if (!parents || static_cast<int>(parents->size()) != all.ranks || !is_tree(*parents))
      return not_a_plan(name, fmt::format("tree {} does not join the {} ranks", i, all.ranks));
    if ((*uses)[i] > 0) all.trees.push_back({*std::move(parents), (*uses)[i]});
  }
  return true;
}

}  // namespace

core::Result<PlannedChannels> read_nccl_plan(const std::string& name, const std::string& text) {
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return not_a_plan(name, "this is no JSON");
  const Json* result = member(document, "result");
  const Json& plan = result == nullptr ? document : *result;
  PlannedChannels all;
  const auto rings = orders_of(name, plan, "rings");
  if (!rings) return rings.error();
  if (auto taken = take_rings(name, **rings, all); !taken) return taken.error();
  const auto trees = orders_of(name, plan, "trees");
  if (!trees) return trees.error();
  if (auto taken = take_trees(name, **trees, all); !taken) return taken.error();
  if (all.rings.empty() || all.trees.empty()) return not_a_plan(name, "no channel uses any order");
  return all;
}

core::Result<PlannedChannels> nccl_plan_file(const std::string& path) {
  auto input = core::Input::open(path);
  if (!input) return input.error();
  const auto text = input->read_all(kLargestPlan);
  if (!text) return text.error();
  return read_nccl_plan(input->name(), *text);
}

}  // namespace comm_probe::sim
