#include "cli/calc_request.h"

#include <fmt/format.h>

#include "cli/method_name.h"
#include "core/spelling.h"

namespace comm_probe::cli {
namespace {

using core::input_error;

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
  alpha_option_ = add_duration(app, "--alpha", alpha_, "fixed cost of one step");
  beta_option_ = add_bandwidth(app, "--beta", beta_, "bandwidth of a link, one direction");
  inter_alpha_option_ =
      add_duration(app, "--inter-alpha", inter_alpha_, "one step between nodes (default: --alpha)");
  inter_beta_option_ = add_bandwidth(app, "--inter-beta", inter_beta_,
                                     "link between nodes, the share of one GPU (default: --beta)");
  app.add_option("--gpus-per-node", gpus_per_node_, "ranks in one node (default: all)")
      ->type_name("G");
  app.add_option("--algo", algorithm_,
                 "ring, tree, nccl-tree, double-tree, recursive-doubling, one-shot, two-shot, "
                 "hierarchical, nvls, direct, bruck; auto = the fastest (default: ring, "
                 "hierarchical with --inter-beta, direct for all_to_all)")
      ->type_name("A");
  app.add_option("--proto", protocol_, "simple, ll (1/2 of the wire is data), ll128 (120/128)")
      ->capture_default_str()
      ->type_name("P");
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

core::Result<model::Fabric> CalcRequest::fabric() const {
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

core::Result<CalcQuestion> CalcRequest::question() const {
  const auto op = this->op();
  if (!op) return op.error();
  const auto ranks = this->ranks();
  if (!ranks) return ranks.error();
  const auto protocol = parse_protocol(protocol_);
  if (!protocol) return protocol.error();
  auto fabric = this->fabric();
  if (!fabric) return fabric.error();
  CalcQuestion question{.collective = {*op, *ranks, {}},
                        .fabric = std::move(fabric).value(),
                        .wants_fastest = algorithm_ == "auto",
                        .protocol = *protocol};
  if (algorithm_.empty() || question.wants_fastest) return question;
  const auto algorithm = parse_algorithm(algorithm_);
  if (!algorithm) return algorithm.error();
  question.algorithm = *algorithm;
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
  if (wants_fastest) return model::price_fastest(sized, protocol, fabric);
  const model::Algorithm chosen = algorithm.value_or(model::usual_algorithm(sized, fabric));
  auto ledger = model::price(sized, {chosen, protocol}, fabric);
  if (ledger) ledger->rejected = model::alternatives(*ledger, fabric);
  return ledger;
}

}  // namespace comm_probe::cli
