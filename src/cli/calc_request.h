// What `calc OP` was asked: flags turned into the values of model/, with one-line errors.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "model/closed_form.h"

namespace comm_probe::cli {

// Flags that say what to price; others may stand beside them on the same command.
class CalcRequest {
 public:
  void add_to(CLI::App& app);

  // Each fails with the flag that is missing or wrong.
  core::Result<model::Op> op() const;
  core::Result<model::Collective> collective() const;
  core::Result<model::Fabric> fabric() const;
  // Nothing where none was named; "auto" is nothing too, see is_auto().
  core::Result<std::optional<model::Algorithm>> algorithm() const;
  bool is_auto() const { return algorithm_ == "auto"; }
  core::Result<model::Protocol> protocol() const;
  bool has_size() const { return size_option_->count() > 0; }

 private:
  std::string op_ = {};
  int ranks_ = 0;
  core::Bytes size_ = {};
  core::Duration alpha_ = {}, inter_alpha_ = {};
  core::Bandwidth beta_ = {}, inter_beta_ = {};
  int gpus_per_node_ = 0;
  std::string algorithm_ = {};
  std::string protocol_ = "simple";
  CLI::Option* ranks_option_ = nullptr;
  CLI::Option* size_option_ = nullptr;
  CLI::Option* alpha_option_ = nullptr;
  CLI::Option* beta_option_ = nullptr;
  CLI::Option* inter_alpha_option_ = nullptr;
  CLI::Option* inter_beta_option_ = nullptr;
};

core::Result<model::Algorithm> parse_algorithm(const std::string& name);

}  // namespace comm_probe::cli
