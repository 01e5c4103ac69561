// What `calc moe` was asked for: the layer, its links, and who says so.
#pragma once

#include <optional>
#include <string>

#include "catalog/hardware.h"
#include "catalog/node_sizes.h"
#include "cli/catalog_option.h"
#include "cli/shell.h"
#include "model/moe/layer.h"

namespace comm_probe::cli {

inline constexpr const char* kXgmi = "xGMI";

struct MoeQuestion {
  model::MoeLayer layer = {};
  model::MoeLinks links = {};
  bool has_alpha = false;  // given; else zero
  bool has_experts = false;
  // Who says the rate of each link.
  struct Source {
    core::Basis basis = core::Basis::kAssumed;
    std::string text = "given on the command line";
  };
  Source nic = {};
  Source nvlink = {};
  // Of the machine, where one is named: a node of the layer may be an NVLink domain of many hosts.
  std::optional<catalog::NodeSizes> sizes = {};
  // What joins the GPUs of a node: NVLink, xGMI, or PCIe, which they share with the NIC.
  std::string peer_link = "NVLink";
  bool shares_pcie = false;
  std::string no_deepep = {};  // why its kernels do not run here; empty: they may
  bool nodes_are_domains() const { return sizes && layer.ranks_per_node > sizes->host; }
};

// NIC and NVLink of one rank where `ranks` of an NVLink domain are in use; zero: not known.
model::MoeLinks moe_links_of(const catalog::Machine& machine, int ranks);

class MoeRequest {
 public:
  void add_to(CLI::App& app);
  // Tokens may be left open (0) where a routing file says how many.
  core::Result<MoeQuestion> question(bool needs_tokens);
  CatalogOption& catalog() { return catalog_; }

 private:
  core::Result<bool> take_machine(MoeQuestion& question);
  core::Result<bool> take_links(MoeQuestion& question) const;

  CatalogOption catalog_ = {};
  model::MoeLayer layer_ = {.nodes = 0};
  model::MoeLinks links_ = {};
  std::string machine_ = {};
  std::string dispatch_ = "fp8";
  std::string combine_ = "bf16";
  std::optional<int> ranks_per_node_ = {};
  CLI::Option* nic_option_ = nullptr;
  CLI::Option* nvlink_option_ = nullptr;
  CLI::Option* alpha_option_ = nullptr;
  CLI::Option* tokens_option_ = nullptr;
};

}  // namespace comm_probe::cli
