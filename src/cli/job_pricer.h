// NCCL's price of jobs on one machine, of the catalog or read from a topology: each shape of job is
// planned once, each size priced once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "catalog/hardware.h"
#include "diagnose/known_ports.h"
#include "diagnose/plan_price.h"
#include "topology/survey.h"

namespace comm_probe::cli {

class MachinePricer : public diagnose::JobPricer {
 public:
  explicit MachinePricer(catalog::Machine machine);
  explicit MachinePricer(topology::Machine topology);
  ~MachinePricer() override;

  const model::CostModel* model_of(const diagnose::PlannedJob& job) const override;
  const nccl::Tuning* tuning_of(const diagnose::PlannedJob& job) const override;

 private:
  using Key = std::tuple<int, int, nccl::Environment>;  // ranks, nodes, settings
  class Planned;
  std::shared_ptr<const Planned> plan(const diagnose::PlannedJob& job) const;
  const Planned* planned(const diagnose::PlannedJob& job) const;

  catalog::Machine machine_ = {};
  std::optional<topology::Machine> topology_ = {};
  mutable std::mutex mutex_ = {};
  mutable std::map<Key, std::shared_ptr<const Planned>> models_ = {};
};

// A machine to compare with, and what prices jobs on it.
struct PricedMachine {
  catalog::Machine machine = {};
  std::unique_ptr<MachinePricer> pricer = {};   // null: no machine is known
  std::vector<diagnose::KnownPort> ports = {};  // of a topology that was read
};
PricedMachine priced_machine(const catalog::Machine& machine);
// Of a survey that shows a graph; `name` stands in messages. Fails as diagnose::machine_of does.
core::Result<PricedMachine> priced_machine(const topology::Survey& survey, const std::string& name);

}  // namespace comm_probe::cli
