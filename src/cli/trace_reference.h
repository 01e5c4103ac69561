// What `trace` compares bandwidths with: --machine, --topo, or --alpha and --beta; with --nodes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/catalog_option.h"
#include "cli/job_pricer.h"
#include "cli/shell.h"
#include "diagnose/trace_rates.h"

namespace comm_probe::cli {

class TraceReference {
 public:
  void add_to(CLI::App& app);
  // Empty where nothing was named; valid as long as this object. Fails on what cannot be read and
  // where two things name the links.
  core::Result<diagnose::RateReference> load();
  std::vector<core::InputRecord> inputs() const;
  // Of calls that record none, for instance those of inference engines; 0: not given.
  core::Bytes message() const { return message_; }
  // That of --machine, once loaded; null: none was named.
  const catalog::Machine* machine() const {
    return catalog_machine_ ? &*catalog_machine_ : nullptr;
  }
  std::optional<int> nodes() const;  // where given

 private:
  core::Result<bool> load_pricer();

  std::string machine_ = {};
  std::string topo_ = {};
  CatalogOption catalog_ = {};
  int nodes_ = 1;
  CLI::Option* nodes_option_ = nullptr;
  std::optional<catalog::Machine> catalog_machine_ = {};
  core::Duration alpha_ = {};
  core::Bandwidth beta_ = {};
  core::Bytes message_ = {};
  std::unique_ptr<MachinePricer> pricer_ = {};
};

}  // namespace comm_probe::cli
