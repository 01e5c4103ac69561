#include "cli/trace_reference.h"

#include "catalog/catalog.h"
#include "core/input.h"
#include "topology/job_machine.h"

namespace comm_probe::cli {

void TraceReference::add_to(CLI::App& app) {
  app.add_option("--machine", machine_,
                 "compare bandwidths with NCCL's price on this machine (comm-probe machines)")
      ->type_name("NAME");
  app.add_option("--topo", topo_, "the same on the machine of a topology file")->type_name("FILE");
  nodes_option_ =
      app.add_option("--nodes", nodes_, "hosts of the job, its ranks laid out host by host")
          ->check(CLI::Range(1, 1000000))
          ->capture_default_str()
          ->type_name("N");
  add_duration(app, "--alpha", alpha_,
               "compare with a ring of this latency per step (with --beta)");
  add_bandwidth(app, "--beta", beta_, "and this rate of its links");
  add_bytes(app, "--message", message_,
            "size of collectives that record none (TP decode: tokens x hidden x bytes)");
  catalog_.add_to(app);
}

core::Result<diagnose::RateReference> TraceReference::load() {
  const bool has_links = beta_ > core::Bandwidth();
  if (alpha_ > core::Duration() && !has_links)
    return core::input_error("--alpha needs --beta", "give both: --alpha 10us --beta 25GB/s");
  if ((machine_.empty() ? 0 : 1) + (topo_.empty() ? 0 : 1) + (has_links ? 1 : 0) > 1)
    return core::input_error("--machine, --topo and --beta each name the links",
                             "give one of them");
  diagnose::RateReference reference;
  reference.nodes = nodes_;
  if (has_links) {
    auto model = model::ClosedForm::create({.link = {alpha_, beta_}});
    if (!model) return model.error();
    reference.given = std::move(*model);
    return reference;
  }
  if (const auto loaded = load_pricer(); !loaded) return loaded.error();
  reference.pricer = pricer_.get();
  return reference;
}

core::Result<bool> TraceReference::load_pricer() {
  if (!machine_.empty()) {
    const auto catalog = catalog_.load();
    if (!catalog) return catalog.error();
    const auto machine = (*catalog)->machine(machine_);
    if (!machine) return machine.error();
    pricer_ = std::make_unique<MachinePricer>(**machine);
    catalog_machine_ = **machine;
  } else if (!topo_.empty()) {
    auto input = core::Input::open(topo_);
    if (!input) return input.error();
    auto job = topology::read_job_machine(*input);
    if (!job) return job.error();
    pricer_ = std::make_unique<MachinePricer>(std::move(job->reading.machine));
  }
  return true;
}

std::optional<int> TraceReference::nodes() const {
  return nodes_option_->count() > 0 ? std::optional(nodes_) : std::nullopt;
}

std::vector<core::InputRecord> TraceReference::inputs() const {
  std::vector<core::InputRecord> inputs;
  if (!topo_.empty()) inputs.push_back({topo_, "topology"});
  if (const auto catalog = catalog_.input()) inputs.push_back(*catalog);
  return inputs;
}

}  // namespace comm_probe::cli
