// What `calc OP` was asked: flags turned into the values of model/, with one-line errors.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/catalog_option.h"
#include "cli/shell.h"
#include "model/algorithms.h"
#include "model/machine_fabric.h"
#include "nccl/price.h"

namespace comm_probe::cli {

// What is to be priced, whatever the size.
struct CalcQuestion {
  model::Collective collective = {};
  model::Fabric fabric = {};
  std::optional<model::Algorithm> algorithm = {};  // nothing: the usual one
  bool wants_fastest = false;                      // --algo auto
  model::Protocol protocol = model::Protocol::kSimple;
  // Given: NCCL's own choice and model (--machine without --algo), else the links.
  std::optional<nccl::Tuning> nccl = {};
  nccl::PriceLimits limits = {};
  std::vector<core::InputRecord> inputs = {};  // a catalog file
  std::vector<core::Caveat> caveats = {};

  // Fails where the algorithm does not exist for the operation or cannot serve these ranks.
  core::Result<model::Ledger> price(core::Bytes bytes) const;
};

// Flags that say what to price; others may stand beside them on the same command.
class CalcRequest {
 public:
  void add_to(CLI::App& app);
  // Only the links; take_ranks() says then whom they join.
  void add_links_to(CLI::App& app);
  void take_ranks(int ranks);

  // What prices a machine where no algorithm is named: NCCL, or the links alone.
  enum class Pricing { kNccl, kLinks };
  // A file has named the links: they stand for --alpha, --beta and --machine, which are then
  // refused.
  void bring_links(model::Fabric links) { brought_ = std::move(links); }
  // Fails with the flag that is missing or wrong.
  core::Result<CalcQuestion> question(Pricing pricing);
  // Fails where -s was not given.
  core::Result<core::Bytes> size() const;
  bool names_algorithm() const { return !algorithm_.empty(); }
  // True where one typed alpha stands for every protocol.
  bool has_typed_alpha() const { return alpha_option_->count() > 0; }

 private:
  core::Result<model::Op> op() const;
  core::Result<int> ranks() const;
  core::Result<model::Fabric> given_fabric() const;
  core::Result<const catalog::Machine*> machine();
  core::Result<model::MachineRanks> machine_ranks(const catalog::Machine& machine) const;
  // The links, ranks and caveats of --machine.
  core::Result<bool> take_machine(CalcQuestion& question, Pricing pricing);
  // NCCL's tuning of the machine, where it is asked for and can be had; `question` says why not.
  core::Result<bool> take_nccl(const catalog::Machine& machine, const model::MachineRanks& ranks,
                               CalcQuestion& question) const;
  bool wants_nccl(Pricing pricing) const;
  void take_alphas(CalcQuestion& question) const;
  core::Result<bool> take_links(CalcQuestion& question) const;
  core::Result<bool> take_algorithm(CalcQuestion& question) const;
  void say_uneven(CalcQuestion& question) const;
  std::optional<model::Link> inter_link() const;

  core::Result<model::Fabric> brought_links() const;
  std::optional<model::Fabric> brought_ = {};
  std::string op_ = {};
  std::optional<int> ranks_ = {};
  core::Bytes size_ = {};
  core::Duration alpha_ = {}, inter_alpha_ = {};
  core::Bandwidth beta_ = {}, inter_beta_ = {};
  std::optional<int> gpus_per_node_ = {};
  std::string machine_ = {};
  std::optional<int> nodes_ = {};
  CatalogOption catalog_ = {};
  std::string algorithm_ = {};
  std::string protocol_ = "simple";
  CLI::Option* size_option_ = nullptr;
  CLI::Option* alpha_option_ = nullptr;
  CLI::Option* beta_option_ = nullptr;
  CLI::Option* inter_alpha_option_ = nullptr;
  CLI::Option* inter_beta_option_ = nullptr;
  CLI::Option* protocol_option_ = nullptr;
};

}  // namespace comm_probe::cli
