#include "cli/calc_request.h"

#include <fmt/format.h>

#include "core/spelling.h"

namespace comm_probe::cli {
namespace {

using core::input_error;

constexpr const char* kLinkHint =
    "give --alpha TIME and --beta BANDWIDTH, like --alpha 10us --beta 25GB/s";

template <class Names, class Name>
std::vector<std::string_view> names_of(const Names& values, Name name) {
  std::vector<std::string_view> names;
  for (const auto value : values) names.emplace_back(name(value));
  return names;
}

}  // namespace

core::Result<model::Algorithm> parse_algorithm(const std::string& name) {
  if (const auto algorithm = model::algorithm_from_name(name)) return *algorithm;
  return input_error(core::unknown_word("algorithm", name,
                                        names_of(model::kAllAlgorithms, model::algorithm_name)));
}

void CalcRequest::add_to(CLI::App& app) {
  app.add_option(
      "OP", op_,
      "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv");
  ranks_option_ =
      app.add_option("-n,--ranks", ranks_, "number of ranks")->type_name("RANKS")->default_str("");
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
  return input_error(
      core::unknown_word("operation", op_, names_of(model::kAllOps, model::op_name)));
}

core::Result<model::Collective> CalcRequest::collective() const {
  const auto op = this->op();
  if (!op) return op.error();
  if (ranks_option_->count() == 0)
    return input_error("the number of ranks is missing", "give -n RANKS, like -n 8");
  if (ranks_ < 1 || ranks_ > model::kMostRanks)
    return input_error(
        fmt::format("-n {} is not a number of ranks, expected 1 to {}", ranks_, model::kMostRanks));
  return model::Collective{*op, ranks_, size_};
}

core::Result<model::Fabric> CalcRequest::fabric() const {
  if (alpha_option_->count() == 0) return input_error("alpha is missing", kLinkHint);
  if (beta_option_->count() == 0) return input_error("beta is missing", kLinkHint);
  model::Fabric fabric{.link = {alpha_, beta_}, .ranks_per_node = gpus_per_node_};
  const bool has_inter = inter_alpha_option_->count() + inter_beta_option_->count() > 0;
  if (gpus_per_node_ < 0)
    return input_error(fmt::format("--gpus-per-node {} is below 1", gpus_per_node_));
  if (has_inter && gpus_per_node_ == 0)
    return input_error("a link between nodes is given, but not how many ranks a node has",
                       "give --gpus-per-node G, like --gpus-per-node 8");
  if (has_inter)
    fabric.inter = model::Link{inter_alpha_option_->count() > 0 ? inter_alpha_ : alpha_,
                               inter_beta_option_->count() > 0 ? inter_beta_ : beta_};
  return fabric;
}

core::Result<std::optional<model::Algorithm>> CalcRequest::algorithm() const {
  if (algorithm_.empty() || is_auto()) return std::optional<model::Algorithm>();
  const auto algorithm = parse_algorithm(algorithm_);
  if (!algorithm) return algorithm.error();
  return std::optional(*algorithm);
}

core::Result<model::Protocol> CalcRequest::protocol() const {
  if (const auto protocol = model::protocol_from_name(protocol_)) return *protocol;
  return input_error(core::unknown_word("protocol", protocol_,
                                        names_of(model::kAllProtocols, model::protocol_name)));
}

}  // namespace comm_probe::cli
