#include "cli/moe_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "catalog/machine_figures.h"

namespace comm_probe::cli {
namespace {

using core::input_error;

constexpr const char* kAmd = "0x1002";

model::MoeFormat format_of(const std::string& name) {
  return name == "fp8" ? model::MoeFormat::kFp8 : model::MoeFormat::kBf16;
}

std::string peer_link_of(const catalog::Machine& machine) {
  if (machine.fabric == catalog::Fabric::kPcie) return "PCIe";
  if (machine.gpu.pci_vendor == kAmd) return kXgmi;
  return machine.fabric == catalog::Fabric::kBridge ? "NVLink or PCIe" : "NVLink";
}

// DeepEP V1: CUDA kernels that read peers over NVLink and post to an mlx5 NIC themselves (IBGDA).
// `has_own_nic`: between nodes the NIC of the machine is used, not one that was typed.
std::string no_deepep_on(const catalog::Machine& machine, bool has_own_nic) {
  if (machine.gpu.pci_vendor == kAmd)
    return fmt::format("it is a library for CUDA, {} is a GPU of AMD", machine.gpu.name);
  if (machine.fabric == catalog::Fabric::kPcie)
    return fmt::format("its kernels need NVLink inside a node, {} has none", machine.name);
  if (has_own_nic && !machine.nic.device_name.starts_with("mlx5"))
    return fmt::format("between nodes it needs IBGDA, and that an mlx5 NIC; {} is none",
                       machine.nic.name);
  return "";
}

}  // namespace

model::MoeLinks moe_links_of(const catalog::Machine& machine, int ranks) {
  model::MoeLinks links;
  links.nic = ranks <= machine.gpus ? catalog::network_out(machine, ranks).per_rank
                                    : catalog::nic_share(machine).value;
  if (const auto rates = catalog::inside_rates(machine, std::min(ranks, machine.gpus)))
    links.nvlink = rates->all_peers;
  return links;
}

void MoeRequest::add_to(CLI::App& app) {
  const auto number = [&app](const char* flag, auto& target, const char* help) {
    return app.add_option(flag, target, help)->type_name("N");
  };
  number("--hidden", layer_.hidden, "hidden size of the model: values per token");
  number("--topk", layer_.topk, "experts per token");
  number("--experts", layer_.experts,
         "experts of the layer (default: 256, or the next multiple of the ranks)");
  number("--nodes", layer_.nodes, "nodes that hold the experts");
  number("--gpus-per-node", ranks_per_node_, "ranks on each of them (default: the machine's)");
  tokens_option_ =
      number("--tokens", layer_.tokens,
             "tokens per rank: 4096 in prefill, 128 in decode (or those of --routing)");
  number("--group-limit", layer_.group_limit, "nodes that one token may go to (group routing)");
  add_choice(app, "--dispatch", dispatch_, "what a dispatched value is (default: fp8)",
             {"fp8", "bf16"});
  add_choice(app, "--combine", combine_, "what comes back (default: bf16)", {"bf16", "fp8"});
  nic_option_ = add_bandwidth(app, "--nic", links_.nic, "NIC of one rank, one direction");
  nvlink_option_ = add_bandwidth(app, "--nvlink", links_.nvlink, "NVLink of one rank, likewise");
  alpha_option_ = add_duration(app, "--alpha", links_.alpha,
                               "fixed cost of one dispatch or combine (default: 0)");
  app.add_option("--machine", machine_, "NIC, NVLink and GPUs per node of the catalog instead")
      ->type_name("NAME");
  catalog_.add_to(app);
}

core::Result<bool> MoeRequest::take_machine(MoeQuestion& question) {
  const auto catalog = catalog_.load();
  if (!catalog) return catalog.error();
  const auto machine = (*catalog)->machine(machine_);
  if (!machine) return machine.error();
  // The bytes that stay inside are those of an NVLink domain, of one tray or many.
  question.sizes = catalog::node_sizes(**machine);
  const int most = question.sizes->domain;
  const int ranks = ranks_per_node_.value_or(most);
  if (ranks < 1 || ranks > most)
    return input_error(fmt::format("--gpus-per-node {} is outside 1 to the {} of {}", ranks, most,
                                   (*machine)->name));
  question.layer.ranks_per_node = ranks;
  const model::MoeLinks links = moe_links_of(**machine, ranks);
  const MoeQuestion::Source catalog_says = {core::Basis::kCatalog, (*machine)->name};
  if (nic_option_->count() == 0) {
    question.links.nic = links.nic;
    question.nic = catalog_says;
  }
  if (nvlink_option_->count() == 0) {
    question.links.nvlink = links.nvlink;
    question.nvlink = catalog_says;
  }
  question.peer_link = peer_link_of(**machine);
  question.shares_pcie = (*machine)->fabric == catalog::Fabric::kPcie && layer_.nodes > 1;
  question.no_deepep = no_deepep_on(**machine, layer_.nodes > 1 && nic_option_->count() == 0);
  return true;
}

core::Result<bool> MoeRequest::take_links(MoeQuestion& question) const {
  const model::MoeLayer& layer = question.layer;
  if (layer.nodes > 1 && question.links.nic.in_bytes_per_second() <= 0)
    return input_error(fmt::format("{} nodes need the rate of a NIC", layer.nodes),
                       "give --nic 400Gb/s, or --machine NAME");
  if (layer.ranks_per_node > 1 && question.links.nvlink.in_bytes_per_second() <= 0)
    return input_error(
        fmt::format("{} GPUs per node need the rate of NVLink", layer.ranks_per_node),
        "give --nvlink 450GB/s, or --machine NAME");
  return true;
}

core::Result<MoeQuestion> MoeRequest::question(bool needs_tokens) {
  for (const auto& [flag, value] :
       {std::pair{"--hidden", layer_.hidden}, {"--topk", layer_.topk}, {"--nodes", layer_.nodes}})
    if (value == 0)
      return input_error(fmt::format("{} is required, and more than 0", flag),
                         "`comm-probe calc moe --help` has examples");
  if (needs_tokens && tokens_option_->count() == 0)
    return input_error("calc moe needs the tokens of a rank",
                       "--tokens 4096 in prefill, 128 in decode, or --routing FILE");
  MoeQuestion question{.layer = layer_, .links = links_};
  question.layer.dispatch = format_of(dispatch_);
  question.layer.combine = format_of(combine_);
  question.layer.ranks_per_node = ranks_per_node_.value_or(8);
  question.has_alpha = alpha_option_->count() > 0;
  question.has_experts = layer_.experts != 0;
  if (!machine_.empty())
    if (const auto taken = take_machine(question); !taken) return taken.error();
  if (question.no_deepep.empty() && question.layer.combine == model::MoeFormat::kFp8)
    question.no_deepep = "its combine sends bf16 or LogFMT-10, not fp8";
  if (!question.has_experts)
    question.layer.experts =
        model::usual_experts(std::int64_t{question.layer.nodes} * question.layer.ranks_per_node);
  MoeQuestion checked_question = question;
  if (tokens_option_->count() == 0) checked_question.layer.tokens = 1;
  if (const auto checked = model::check_moe(checked_question.layer); !checked)
    return checked.error();
  if (const auto taken = take_links(question); !taken) return taken.error();
  return question;
}

}  // namespace comm_probe::cli
