#include "diagnose/trace_moe.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "diagnose/deepep.h"
#include "model/moe/issue.h"
#include "torch/expert_group.h"

namespace comm_probe::diagnose {
namespace {

using core::Basis;
using core::Duration;
using model::MoeFormat;
using model::MoeScheme;
using torch::MoeUse;

constexpr const char* kGiven = "given on the command line";
constexpr int kUsualRanksPerNode = 8;
// Faster than its bytes by more than this, a kernel is not the whole operation.
constexpr double kPossible = 1.25;

Duration of_ns(std::int64_t ns) { return Duration::from_ns(static_cast<double>(ns)); }

// Each fact of the layer from whoever knows it best, and the list of who said what.
class LayerFacts {
 public:
  LayerFacts(const torch::AcrossRanks& across, const MoeGiven& given,
             const std::vector<MoeUse>& uses)
      : given_(given), world_(across.job.world) {
    take_group(*across.traces.front());
    for (const MoeUse& use : uses) {
      if (use.facts.hidden && !hidden_) hidden_ = said_by(use, *use.facts.hidden);
      if (use.facts.nodes && !nodes_) nodes_ = said_by(use, *use.facts.nodes);
      if (use.facts.ranks_per_node && !inside_) inside_ = said_by(use, *use.facts.ranks_per_node);
      if (use.facts.is_fp8 && !format_)
        format_ = {*use.facts.is_fp8 ? MoeFormat::kFp8 : MoeFormat::kBf16, Basis::kRead,
                   "the name of " + use.name};
    }
    take_place();
    take_shape();
  }

  // Nothing where a fact is missing.
  std::optional<model::MoeLayer> layer() const {
    return missing.empty() ? std::optional(layer_) : std::nullopt;
  }

  std::vector<MoeFact> facts = {};
  // "on 8 nodes, 1 each (computed: ...)"; nothing where it is not known.
  std::string place() const {
    const auto inside = std::find_if(facts.begin(), facts.end(), [](const MoeFact& fact) {
      return fact.name == "gpus-per-node";
    });
    if (layer_.nodes < 1 || inside == facts.end()) return "";
    return fmt::format("on {} node{}, {} each ({}: {})", layer_.nodes, layer_.nodes == 1 ? "" : "s",
                       layer_.ranks_per_node, basis_name(inside->basis), inside->source);
  }

  std::vector<std::string> missing = {};
  MoeFact group = {};
  std::string uneven = {};  // why the group cannot be placed; empty: it can

 private:
  static core::Sourced<int> said_by(const MoeUse& use, int value) {
    return {value, Basis::kRead, "the name of " + use.name};
  }

  int note(const char* name, const core::Sourced<int>& fact) {
    facts.push_back({name, std::to_string(fact.value), fact.basis, fact.source});
    return fact.value;
  }

  core::Sourced<int> ranks_per_node() {
    if (given_.ranks_per_node) return {*given_.ranks_per_node, Basis::kAssumed, kGiven};
    if (inside_) return *inside_;
    const int nodes = given_.nodes ? *given_.nodes : nodes_ ? nodes_->value : 0;
    if (nodes > 0 && ranks_ > 0 && ranks_ % nodes == 0)
      return {ranks_ / nodes, Basis::kComputed, whose_ranks() + " over its nodes"};
    return on_a_node(machine_ranks());
  }

  core::Sourced<int> machine_ranks() const {
    if (given_.machine_ranks) return *given_.machine_ranks;
    return {kUsualRanksPerNode, Basis::kAssumed, kUsual};
  }

  // Of the group: every eighth rank of a job is alone on its node of eight GPUs.
  core::Sourced<int> on_a_node(const core::Sourced<int>& gpus) {
    if (members_.empty()) return gpus;
    std::map<int, int> on_node;
    for (const int rank : members_) ++on_node[rank < 0 ? -1 : rank / gpus.value];
    const int each = on_node.begin()->second;
    const bool is_even = std::all_of(on_node.begin(), on_node.end(), [each](const auto& node) {
      return node.first >= 0 && node.second == each;
    });
    if (!is_even)
      uneven = fmt::format(
          "the ranks of the expert group stand unevenly on nodes of {} GPUs ({}: {}), if they are "
          "numbered node by node",
          gpus.value, basis_name(gpus.basis), gpus.source);
    if (!is_even || each == gpus.value) return gpus;
    return {each, Basis::kComputed,
            fmt::format("the ranks of the group over the nodes of {} GPUs ({}: {}) that they are "
                        "on, numbered node by node",
                        gpus.value, basis_name(gpus.basis), gpus.source)};
  }

  std::string whose_ranks() const {
    return has_group_ ? "ranks of the expert group" : "ranks of the job, all in one expert group,";
  }

  // The group that the trace names as that of the experts; else all ranks of the job.
  void take_group(const torch::Trace& trace) {
    const torch::ExpertGroup found = torch::expert_group_of(trace);
    has_group_ = found.group != nullptr;
    ranks_ = has_group_ ? static_cast<int>(found.size()) : world_;
    if (has_group_) members_ = found.group->ranks;
    if (ranks_ < 1) return;
    if (has_group_)
      group = {"expert group", fmt::format("{} of {} ranks", ranks_, std::max(world_, ranks_)),
               Basis::kRead,
               fmt::format("process group '{}' of {}", found.group->description, trace.file)};
    else
      group = {"expert group", fmt::format("all {} ranks", ranks_), Basis::kAssumed,
               found.is_open ? "the trace has several groups of experts, of unlike sizes"
                             : "no process group of the trace is described as that of the experts"};
    facts.push_back(group);
  }

  // Nodes and the ranks on each.
  void take_place() {
    const core::Sourced<int> inside = ranks_per_node();
    if (given_.nodes && ranks_ > 0 && ranks_ % *given_.nodes != 0)
      uneven = fmt::format("{} {} do not lie on {} nodes in equal numbers (nodes={})", ranks_,
                           whose_ranks(), *given_.nodes, *given_.nodes);
    if (!uneven.empty()) {
      missing.insert(missing.end(), {"nodes=N", "gpus-per-node=G"});
      return;
    }
    layer_.ranks_per_node = note("gpus-per-node", inside);
    if (given_.nodes)
      layer_.nodes = note("nodes", {*given_.nodes, Basis::kAssumed, kGiven});
    else if (nodes_)
      layer_.nodes = note("nodes", *nodes_);
    else if (has_group_ && ranks_ <= inside.value)
      layer_.nodes = note_inside(inside);
    else if (ranks_ > 0 && ranks_ % inside.value == 0)
      layer_.nodes = note("nodes", {ranks_ / inside.value, Basis::kComputed,
                                    whose_ranks() + " over those of a node"});
    else
      missing.emplace_back("nodes=N");
  }

  // A group that fits into a node is on one; where its ranks cannot be read, that is assumed.
  int note_inside(const core::Sourced<int>& inside) {
    const Basis basis = members_.empty() ? Basis::kAssumed : Basis::kComputed;
    const std::string unread = members_.empty() ? ", whose numbers cannot be read" : "";
    if (ranks_ < inside.value) {
      layer_.ranks_per_node = ranks_;
      facts.back().value = std::to_string(ranks_);
      facts.back().source = whose_ranks() + " on one node" + unread;
      facts.back().basis = basis;
    }
    return note("nodes", {1, basis, whose_ranks() + " over those of a node" + unread});
  }

  // What a token is, and how many there are.
  void take_shape() {
    if (given_.hidden)
      layer_.hidden = note("hidden", {*given_.hidden, Basis::kAssumed, kGiven});
    else if (hidden_)
      layer_.hidden = note("hidden", *hidden_);
    else
      missing.emplace_back("hidden=H");
    layer_.topk = given_.topk.value_or(0);
    layer_.tokens = given_.tokens.value_or(0);
    if (given_.topk)
      note("topk", {*given_.topk, Basis::kAssumed, kGiven});
    else
      missing.emplace_back("topk=K");
    if (given_.tokens)
      facts.push_back({"tokens", std::to_string(*given_.tokens), Basis::kAssumed, kGiven});
    else
      missing.emplace_back("tokens=T");
    layer_.experts =
        given_.experts
            ? note("experts", {*given_.experts, Basis::kAssumed, kGiven})
            : note("experts", {model::usual_experts(layer_.ranks()), Basis::kAssumed, kUsual});
    take_group_limit();
    take_formats();
  }

  // A limit of more nodes than there are limits nothing: it is the model's, not the job's.
  void take_group_limit() {
    if (given_.group_limit <= 0) return;
    const bool limits = layer_.nodes == 0 || given_.group_limit < layer_.nodes;
    facts.push_back(
        {"group-limit", std::to_string(given_.group_limit), Basis::kAssumed,
         limits ? kGiven : fmt::format("{}; it limits nothing on {} nodes", kGiven, layer_.nodes)});
    if (limits) layer_.group_limit = given_.group_limit;
  }

  void take_formats() {
    core::Sourced<MoeFormat> dispatch = {MoeFormat::kFp8, Basis::kAssumed, kUsual};
    if (given_.dispatch)
      dispatch = {*given_.dispatch, Basis::kAssumed, kGiven};
    else if (format_)
      dispatch = *format_;
    layer_.dispatch = dispatch.value;
    layer_.combine = given_.combine.value_or(MoeFormat::kBf16);
    facts.push_back({"dispatch", format_name(dispatch.value), dispatch.basis, dispatch.source});
    facts.push_back({"combine", format_name(layer_.combine), Basis::kAssumed,
                     given_.combine ? kGiven : kUsual});
  }

  const MoeGiven& given_;
  int world_ = 0;
  int ranks_ = 0;  // of the expert group
  bool has_group_ = false;
  std::vector<int> members_ = {};  // of it, where they are known
  std::optional<core::Sourced<int>> hidden_ = {};
  std::optional<core::Sourced<int>> nodes_ = {};
  std::optional<core::Sourced<int>> inside_ = {};
  std::optional<core::Sourced<MoeFormat>> format_ = {};
  model::MoeLayer layer_ = {};
};

// Where no rate is known: the bytes are right, the times are not used.
model::MoeLinks links_of(const MoeGiven& given) {
  const auto or_one = [](core::Bandwidth rate) {
    return rate > core::Bandwidth() ? rate : core::Bandwidth::from_GBps(1);
  };
  return {or_one(given.nic.value), or_one(given.nvlink.value), {}};
}

bool has_rates(const MoeGiven& given, const model::MoeLayer& layer) {
  return (layer.nodes == 1 || given.nic.value > core::Bandwidth()) &&
         (layer.ranks_per_node == 1 || given.nvlink.value > core::Bandwidth());
}

bool is_dispatch(const MoeUse& use) { return use.kernel.kind == torch::CollectiveClass::kDispatch; }

struct Priced {
  model::MoeTransfer transfer = {};
  core::Bytes logical = {};
  Duration fixed = {};
};

Priced low_latency(const model::MoeLayer& layer, const model::MoeLinks& links, bool dispatch) {
  const model::LowLatencyPrice price = model::price_low_latency(layer, links);
  Priced priced{dispatch ? price.dispatch : price.combine};
  priced.logical = priced.transfer.copy * static_cast<double>(layer.tokens) * layer.topk;
  priced.fixed =
      Duration::from_us(model::moe_constant(dispatch ? "dispatch alpha" : "combine alpha").value);
  return priced;
}

// Logical as DeepEP prints it: per destination node, or per rank inside one node.
Priced normal(const model::MoeLayer& layer, const model::MoeLinks& links, bool dispatch) {
  const MoeScheme scheme = layer.group_limit > 0 ? MoeScheme::kGroup : MoeScheme::kDedup;
  const auto price = model::price_moe(layer, links, scheme, model::MoeDraw::kDistinct);
  Priced priced{dispatch ? price.dispatch : price.combine};
  priced.logical = priced.transfer.copy * static_cast<double>(layer.tokens) *
                   (layer.nodes > 1 ? price.copies.nodes : price.copies.ranks);
  return priced;
}

// Empty: it is priced.
std::string why_unpriced(const MoeUse& use) {
  if (!use.moves_tokens()) return "moves no tokens";
  if (use.kernel.algorithm == "send" || use.kernel.algorithm == "receive")
    return "half of an operation";
  const bool is_known =
      use.kernel.algorithm == "low-latency" ||
      (use.kernel.backend == torch::CommBackend::kDeepEp &&
       (use.kernel.algorithm == "internode" || use.kernel.algorithm == "intranode"));
  if (!is_known) return "how it sends is not known here";
  return use.in_halves ? "two halves: bytes travel between them" : "";
}

void price(const model::MoeLayer& layer, const MoeGiven& given, MoeCompared& row) {
  const bool dispatch = is_dispatch(row.use);
  model::MoeLayer its = layer;
  if (row.use.kernel.algorithm == "intranode") its.nodes = 1;
  if (its.nodes == 1) its.group_limit = 0;
  const model::MoeLinks links = links_of(given);
  const Priced priced = row.use.kernel.algorithm == "low-latency"
                            ? low_latency(its, links, dispatch)
                            : normal(its, links, dispatch);
  row.bytes = priced.logical;
  row.wire = priced.transfer.nic;
  if (!has_rates(given, its)) return;
  row.fixed = priced.fixed;
  row.predicted = priced.transfer.time() + priced.fixed;
  row.is_part = of_ns(row.use.median) * kPossible < priced.transfer.time();
}

// The shortest call as DeepEP would print it, for its rules.
std::optional<serving::DeepEpRate> as_printed(const MoeCompared& row, const std::string& file) {
  if (!row.predicted || row.is_part || !row.bytes || row.use.least <= 0 || row.wire->count() <= 0)
    return std::nullopt;
  serving::DeepEpRate rate;
  rate.kernel = row.use.kernel.algorithm == "low-latency" ? serving::DeepEpKernel::kLowLatency
                                                          : serving::DeepEpKernel::kNormal;
  rate.op = is_dispatch(row.use) ? serving::DeepEpOp::kDispatch : serving::DeepEpOp::kCombine;
  rate.time = of_ns(row.use.least);
  rate.rdma = *row.bytes / *rate.time;
  rate.place = {file, 0, fmt::format("{}: shortest of {} calls", row.use.name, row.use.count)};
  return rate;
}

// A rank of the group that has no trace may be late, and then all others wait in every call.
void note_untraced(int traced, int ranks, core::Finding& finding) {
  if (traced >= ranks) return;
  finding.confidence = core::Confidence::kPossible;
  finding.summary += fmt::format(
      "; only {} of the {} ranks have a trace: another one may be late, and these wait for it",
      traced, ranks);
  finding.next.insert(finding.next.begin(),
                      "the traces of all ranks of the group: they tell waiting from transfer");
}

void judge(const MoeGiven& given, const model::MoeLayer& layer, int traced, const std::string& file,
           TraceMoe& moe) {
  serving::DeepEpLines lines;
  for (const MoeCompared& row : moe.rows)
    if (auto rate = as_printed(row, file)) lines.rates.push_back(std::move(*rate));
  DeepEpFacts facts;
  facts.nodes = layer.nodes;
  facts.nic = given.nic;
  if (given.nvlink.value > core::Bandwidth())
    facts.nvlink.value = std::min(facts.nvlink.value, given.nvlink.value);
  for (core::Finding& finding : judge_deepep(lines, facts).judgement.findings)
    if (finding.id == "moe.low-latency-slow" || finding.id == "moe.wire-low") {
      note_untraced(traced, layer.ranks(), finding);
      moe.judgement.findings.push_back(std::move(finding));
    }
}

}  // namespace

std::optional<core::Bandwidth> MoeCompared::logical_rate() const {
  if (!bytes || is_part || use.median <= 0) return std::nullopt;
  return *bytes / of_ns(use.median);
}

std::optional<core::Bandwidth> MoeCompared::wire_rate() const {
  if (!wire || is_part || use.median <= 0) return std::nullopt;
  return *wire / of_ns(use.median);
}

TraceMoe judge_trace_moe(const torch::AcrossRanks& across, const MoeGiven& given) {
  TraceMoe moe;
  const auto uses = torch::moe_uses_of(across);
  if (uses.empty()) return moe;
  LayerFacts facts(across, given, uses);
  auto layer = facts.layer();
  moe.refused = facts.uneven;
  moe.place = facts.place();
  if (layer)
    if (const auto possible = model::check_moe(*layer); !possible) {
      moe.refused = possible.error().message;
      layer.reset();
    }
  for (const MoeUse& use : uses) {
    moe.rows.push_back({.use = use, .unpriced = why_unpriced(use)});
    if (layer && moe.rows.back().unpriced.empty()) price(*layer, given, moe.rows.back());
  }
  moe.facts = std::move(facts.facts);
  moe.group = std::move(facts.group);
  moe.missing = std::move(facts.missing);
  if (layer)
    judge(given, *layer, static_cast<int>(across.job.ranks.size()), across.traces.front()->file,
          moe);
  return moe;
}

}  // namespace comm_probe::diagnose
