// `bench all_to_all --routing`: the sizes of a real routing, flat and with dedup.
#pragma once

#include "cli/routing_option.h"
#include "cli/shell.h"
#include "measure/engine.h"

namespace comm_probe::cli {

class RoutedRequest {
 public:
  void add_to(CLI::App& app);
  bool is_given() const { return routing_.is_given(); }
  // The plan of `bench`, whose operation and ranks count.
  core::Result<measure::RoutedPlan> plan(const measure::Plan& plan);
  const model::MoeLayer& layer() const { return layer_; }
  const ChosenRouting& chosen() const { return chosen_; }
  const std::vector<core::Caveat>& caveats() const { return caveats_; }

 private:
  void take_fewer(measure::RoutedPlan& plan);
  RoutingOption routing_ = {};
  ChosenRouting chosen_ = {};
  model::MoeLayer layer_ = {.hidden = 7168, .topk = 8, .tokens = 0};
  std::int64_t tokens_ = 0;
  std::string dispatch_ = "fp8";
  std::string combine_ = "bf16";
  core::Bandwidth nic_ = {};
  std::vector<core::Caveat> caveats_ = {};
};

int bench_routed(const Shell& shell, RoutedRequest& request, const measure::Engine& engine,
                 const measure::Plan& plan);

}  // namespace comm_probe::cli
