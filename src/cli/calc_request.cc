#include "cli/calc_request.h"

#include <fmt/format.h>

#include "cli/method_name.h"
#include "core/finding_table.h"
#include "core/spelling.h"
#include "nccl/catalog_job.h"

namespace comm_probe::cli {
namespace {

using core::input_error;

constexpr const char* kTyped = "given on the command line";
constexpr const char* kNcclAlgorithm = "nccl";
constexpr const char* kLinkHint =
    "give --alpha TIME and --beta BANDWIDTH, like --alpha 10us --beta 25GB/s";

}  // namespace

void CalcRequest::add_to(CLI::App& app) {
  app.add_option(
      "OP", op_,
      "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv");
  app.add_option("-n,--ranks", ranks_, "number of ranks")->type_name("RANKS");
  size_option_ =
      add_bytes(app, "-s,--size", size_,
                "size as in nccl-tests: the total for all_gather, reduce_scatter, all_to_all");
  add_links_to(app);
  app.add_option("--algo", algorithm_,
                 "ring, tree, nccl-tree, double-tree, recursive-doubling, one-shot, two-shot, "
                 "hierarchical, nvls, direct, bruck; auto = the fastest on the links; nccl = what "
                 "NCCL would choose (default: nccl with --machine; else ring; hierarchical with "
                 "--inter-beta where the ranks fill the nodes; direct for all_to_all)")
      ->type_name("A");
  protocol_option_ =
      app.add_option("--proto", protocol_, "simple, ll (1/2 of the wire is data), ll128 (120/128)")
          ->capture_default_str()
          ->type_name("P");
}

void CalcRequest::add_links_to(CLI::App& app) {
  alpha_option_ = add_duration(app, "--alpha", alpha_, "fixed cost of one step");
  beta_option_ = add_bandwidth(app, "--beta", beta_, "bandwidth of a link, one direction");
  inter_alpha_option_ =
      add_duration(app, "--inter-alpha", inter_alpha_, "one step between nodes (default: --alpha)");
  inter_beta_option_ = add_bandwidth(app, "--inter-beta", inter_beta_,
                                     "link between nodes, the share of one GPU (default: --beta)");
  app.add_option("--gpus-per-node", gpus_per_node_, "ranks in one node (default: all)")
      ->type_name("G");
  app.add_option("--machine", machine_,
                 "links of a machine of the catalog (`comm-probe machines`) instead of --beta")
      ->type_name("NAME");
  app.add_option("--nodes", nodes_, "number of such machines (default: as many as -n needs)")
      ->type_name("N");
  catalog_.add_to(app);
}

// What is priced does not matter then; that every rank sends to one other is the least.
void CalcRequest::take_ranks(int ranks) {
  op_ = op_name(model::Op::kSendRecv);
  ranks_ = ranks;
}

core::Result<model::Op> CalcRequest::op() const {
  if (op_.empty())
    return input_error("calc needs an operation",
                       "for instance: comm-probe calc all_reduce -n 8 "
                       "-s 1GB --alpha 10us --beta 25GB/s");
  if (const auto op = model::op_from_name(op_)) return *op;
  std::vector<std::string_view> known;
  for (const model::Op op : model::kAllOps) known.emplace_back(model::op_name(op));
  return input_error(core::unknown_word("operation", op_, known));
}

core::Result<int> CalcRequest::ranks() const {
  if (!ranks_) return input_error("the number of ranks is missing", "give -n RANKS, like -n 8");
  if (*ranks_ < 1 || *ranks_ > model::kMostRanks)
    return input_error(fmt::format("-n {} is not a number of ranks, expected 1 to {}", *ranks_,
                                   model::kMostRanks));
  return *ranks_;
}

std::optional<model::Link> CalcRequest::inter_link() const {
  if (inter_alpha_option_->count() + inter_beta_option_->count() == 0) return std::nullopt;
  return model::Link{inter_alpha_option_->count() > 0 ? inter_alpha_ : alpha_,
                     inter_beta_option_->count() > 0 ? inter_beta_ : beta_};
}

core::Result<model::Fabric> CalcRequest::given_fabric() const {
  if (nodes_)
    return input_error("--nodes belongs to --machine", "give -n RANKS and --gpus-per-node G");
  if (alpha_option_->count() == 0) return input_error("alpha is missing", kLinkHint);
  if (beta_option_->count() == 0) return input_error("beta is missing", kLinkHint);
  if (gpus_per_node_.value_or(1) < 1)
    return input_error(fmt::format("--gpus-per-node {} is below 1", *gpus_per_node_));
  if (inter_link() && !gpus_per_node_)
    return input_error("a link between nodes is given, but not how many ranks a node has",
                       "give --gpus-per-node G, like --gpus-per-node 8");
  return model::Fabric{
      .link = {alpha_, beta_}, .inter = inter_link(), .ranks_per_node = gpus_per_node_.value_or(0)};
}

core::Result<const catalog::Machine*> CalcRequest::machine() {
  if (beta_option_->count() + inter_beta_option_->count() > 0 || gpus_per_node_)
    return input_error("--machine brings its own --beta, --inter-beta and --gpus-per-node",
                       "leave them out, or leave --machine out");
  const auto catalog = catalog_.load();
  if (!catalog) return catalog.error();
  return (*catalog)->machine(machine_);
}

core::Result<model::MachineRanks> CalcRequest::machine_ranks(
    const catalog::Machine& machine) const {
  if (nodes_ && (*nodes_ < 1 || *nodes_ > model::kMostRanks / machine.gpus))
    return input_error(
        fmt::format("--nodes {} is outside 1 to {}", *nodes_, model::kMostRanks / machine.gpus));
  if (!ranks_) return model::MachineRanks{machine.gpus * nodes_.value_or(1), nodes_.value_or(1)};
  const auto ranks = this->ranks();
  if (!ranks) return ranks.error();
  if (nodes_ && *nodes_ > *ranks)
    return input_error(fmt::format("-n {} ranks cannot stand on {} nodes", *ranks, *nodes_),
                       "every node needs at least one rank");
  return model::MachineRanks{*ranks, nodes_.value_or((*ranks + machine.gpus - 1) / machine.gpus)};
}

// What was typed replaces NCCL's constants; what is left of these is named in a caveat.
void CalcRequest::take_alphas(CalcQuestion& question) const {
  model::Fabric& fabric = question.fabric;
  const bool has_alpha = alpha_option_->count() > 0, has_inter = inter_alpha_option_->count() > 0;
  if (has_alpha) {
    fabric.link.alpha = alpha_;
    fabric.inside_step.reset();
    fabric.alpha_source = kTyped;
  }
  if (has_inter && fabric.inter) {
    fabric.inter->alpha = inter_alpha_;
    fabric.between_step.reset();
    fabric.inter_alpha_source = kTyped;
  }
  const bool lacks_inter = fabric.inter && !has_inter;
  if (has_alpha && !lacks_inter) return;
  const char* missing = !lacks_inter ? "alpha was not given"
                        : has_alpha  ? "alpha between nodes (--inter-alpha) was not given"
                                     : "neither alpha nor inter-alpha was given";
  question.caveats.push_back(
      core::make_caveat("calc.alpha-assumed", missing,
                        "small sizes are only as good as NCCL's constant for one step", false));
}

// A typed alpha belongs to the links, and so does an algorithm of the model.
bool CalcRequest::wants_nccl(Pricing pricing) const {
  const bool has_alpha = alpha_option_->count() + inter_alpha_option_->count() > 0;
  return pricing == Pricing::kNccl && !has_alpha &&
         (algorithm_.empty() || algorithm_ == kNcclAlgorithm);
}

core::Result<bool> CalcRequest::take_nccl(const catalog::Machine& machine,
                                          const model::MachineRanks& ranks,
                                          CalcQuestion& question) const {
  const model::Op op = question.collective.op;
  core::Result<nccl::Tuning> tuning =
      nccl::function_of(op)
          ? nccl::tune_catalog_job(machine, {ranks.ranks, ranks.nodes})
          : core::input_error(fmt::format("NCCL has no model for {}", op_name(op)),
                              "name an algorithm, or leave --algo out");
  if (tuning) {
    question.nccl = std::move(tuning).value();
    if (protocol_option_->count() > 0)
      question.limits.protocol = nccl::protocol_of(question.protocol);
    return true;
  }
  if (algorithm_ == kNcclAlgorithm) return tuning.error();
  if (nccl::function_of(op))
    question.caveats.push_back(core::make_caveat(
        "calc.nccl-not-priced", tuning.error().message,
        "this is the usual algorithm on bare links; NCCL may be faster or slower", false));
  return false;
}

core::Result<bool> CalcRequest::take_machine(CalcQuestion& question, Pricing pricing) {
  const auto machine = this->machine();
  if (!machine) return machine.error();
  const auto ranks = machine_ranks(**machine);
  if (!ranks) return ranks.error();
  auto fabric = model::fabric_of(**machine, *ranks, question.protocol);
  if (!fabric) return fabric.error();
  question.collective.ranks = ranks->ranks;
  question.fabric = std::move(fabric).value();
  if (const auto file = catalog_.input()) question.inputs.push_back(*file);
  const bool wants = wants_nccl(pricing);
  if (wants) {
    const auto taken = take_nccl(**machine, *ranks, question);
    if (!taken) return taken.error();
    if (*taken) return true;
  }
  take_alphas(question);
  // Where it was wanted, take_nccl has said why it is not there.
  const bool switch_can_do_it =
      !wants && model::find_recipe(question.collective.op, model::Algorithm::kNvls) != nullptr;
  if (switch_can_do_it && model::can_reduce_in_switch(**machine))
    question.caveats.push_back(core::make_caveat(
        "calc.nccl-not-priced", "NCCL's own choice and efficiency (NVLS in the NVSwitch)",
        "this is the named algorithm on bare links; NCCL may be faster or slower", false));
  return true;
}

core::Result<model::Fabric> CalcRequest::brought_links() const {
  const auto typed = alpha_option_->count() + beta_option_->count() + inter_alpha_option_->count() +
                     inter_beta_option_->count();
  if (typed > 0 || gpus_per_node_ || nodes_ || !machine_.empty())
    return input_error("the fabric file brings its own links and nodes",
                       "leave out --alpha, --beta, --gpus-per-node and --machine, or the links in "
                       "the file");
  return *brought_;
}

core::Result<bool> CalcRequest::take_links(CalcQuestion& question) const {
  const auto ranks = this->ranks();
  if (!ranks) return ranks.error();
  auto fabric = brought_ ? brought_links() : given_fabric();
  if (!fabric) return fabric.error();
  question.collective.ranks = *ranks;
  question.fabric = std::move(fabric).value();
  return true;
}

core::Result<bool> CalcRequest::take_algorithm(CalcQuestion& question) const {
  question.wants_fastest = algorithm_ == "auto";
  if (algorithm_ == kNcclAlgorithm && !question.nccl)
    return input_error("--algo nccl needs the machine and NCCL's own alpha",
                       "give --machine NAME, and neither --alpha nor --compare");
  if (algorithm_.empty() || question.wants_fastest || question.nccl) return true;
  const auto algorithm = parse_algorithm(algorithm_);
  if (!algorithm) return algorithm.error();
  question.algorithm = *algorithm;
  return true;
}

// The usual algorithm between nodes needs nodes that are full.
void CalcRequest::say_uneven(CalcQuestion& question) const {
  const auto& [op, ranks, bytes] = question.collective;
  const model::Placement at = model::place(ranks, question.fabric);
  if (!algorithm_.empty() || !question.fabric.inter || at.is_even) return;
  if (model::find_recipe(op, model::Algorithm::kHierarchical) == nullptr) return;
  question.caveats.push_back(core::make_caveat(
      "calc.uneven-nodes",
      fmt::format("{} ranks do not fill nodes of {}: hierarchical cannot be priced", ranks,
                  at.ranks_per_node),
      fmt::format("priced is {}, which takes any number of ranks",
                  algorithm_name(model::usual_algorithm(question.collective, question.fabric))),
      false));
}

core::Result<CalcQuestion> CalcRequest::question(Pricing pricing) {
  CalcQuestion question;
  const auto op = this->op();
  if (!op) return op.error();
  question.collective.op = *op;
  const auto protocol = parse_protocol(protocol_);
  if (!protocol) return protocol.error();
  question.protocol = *protocol;
  const auto links =
      machine_.empty() || brought_ ? take_links(question) : take_machine(question, pricing);
  if (!links) return links.error();
  const auto algorithm = take_algorithm(question);
  if (!algorithm) return algorithm.error();
  if (!question.nccl) say_uneven(question);
  return question;
}

core::Result<core::Bytes> CalcRequest::size() const {
  if (size_option_->count() == 0)
    return input_error("the size is missing", "give -s SIZE, like -s 1GB, or --sweep");
  return size_;
}

core::Result<model::Ledger> CalcQuestion::price(core::Bytes bytes) const {
  model::Collective sized = collective;
  sized.bytes = bytes;
  if (nccl) return nccl::price(sized, *nccl, limits);
  if (wants_fastest) return model::price_fastest(sized, protocol, fabric);
  const model::Algorithm chosen = algorithm.value_or(model::usual_algorithm(sized, fabric));
  auto ledger = model::price(sized, {chosen, protocol}, fabric);
  if (ledger) ledger->rejected = model::alternatives(*ledger, fabric);
  return ledger;
}

}  // namespace comm_probe::cli
