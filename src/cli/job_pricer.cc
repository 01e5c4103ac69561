#include "cli/job_pricer.h"

#include "diagnose/machine_of_topology.h"
#include "nccl/catalog_job.h"
#include "nccl/price.h"
#include "topology/job_machine.h"

namespace comm_probe::cli {
namespace {

constexpr int kMostNodes = 4096;  // planned in 0.3 s

}  // namespace

// A soak test has thousands of tables of the same sizes: each is priced once.
class MachinePricer::Planned : public model::CostModel {
 public:
  explicit Planned(nccl::Tuning tuning) : tuning_(std::move(tuning)) {}

  const nccl::Tuning& tuning() const { return tuning_; }
  model::Ledger price(const model::Collective& collective) const override {
    const std::lock_guard lock(mutex_);
    const auto key = std::pair(collective.op, collective.bytes.whole());
    const auto found = ledgers_.find(key);
    if (found != ledgers_.end()) return found->second;
    auto ledger = nccl::price(collective, tuning_);
    return ledgers_.emplace(key, ledger ? std::move(ledger).value() : model::Ledger{})
        .first->second;
  }
  std::string description() const override { return "NCCL's tuning model"; }

 private:
  nccl::Tuning tuning_;
  mutable std::mutex mutex_ = {};
  mutable std::map<std::pair<model::Op, std::uint64_t>, model::Ledger> ledgers_ = {};
};

MachinePricer::MachinePricer(catalog::Machine machine) : machine_(std::move(machine)) {}
MachinePricer::MachinePricer(topology::Machine topology) : topology_(std::move(topology)) {}
MachinePricer::~MachinePricer() = default;

std::shared_ptr<const MachinePricer::Planned> MachinePricer::plan(
    const diagnose::PlannedJob& job) const {
  if (job.nodes > kMostNodes) return nullptr;
  const nccl::CatalogJob what{job.ranks, job.nodes, job.environment};
  auto tuning =
      topology_ ? nccl::tune_machine_job(*topology_, what) : nccl::tune_catalog_job(machine_, what);
  if (!tuning || tuning->job.agreement.ranks != job.ranks) return nullptr;
  return std::make_shared<const Planned>(std::move(tuning).value());
}

const MachinePricer::Planned* MachinePricer::planned(const diagnose::PlannedJob& job) const {
  const std::lock_guard lock(mutex_);
  const Key key(job.ranks, job.nodes, job.environment);
  const auto found = models_.find(key);
  if (found != models_.end()) return found->second.get();
  return models_.emplace(key, plan(job)).first->second.get();
}

const model::CostModel* MachinePricer::model_of(const diagnose::PlannedJob& job) const {
  return planned(job);
}

const nccl::Tuning* MachinePricer::tuning_of(const diagnose::PlannedJob& job) const {
  const Planned* model = planned(job);
  return model == nullptr ? nullptr : &model->tuning();
}

PricedMachine priced_machine(const catalog::Machine& machine) {
  return {machine, std::make_unique<MachinePricer>(machine), {}};
}

core::Result<PricedMachine> priced_machine(const topology::Survey& survey,
                                           const std::string& name) {
  auto machine = diagnose::machine_of(*survey.machine, name);
  if (!machine) return machine.error();
  topology::Machine job = *survey.machine;
  if (survey.kind != "nccl-topology") topology::make_job(job, survey.facts);
  return PricedMachine{std::move(*machine), std::make_unique<MachinePricer>(std::move(job)),
                       diagnose::known_ports(survey)};
}

}  // namespace comm_probe::cli
