// What `bench` was asked for: nccl-tests' flags, and the Plan they make.
#pragma once

#include <string>

#include "cli/shell.h"
#include "measure/engine.h"

namespace comm_probe::cli {

class BenchRequest {
 public:
  void add_to(CLI::App& app);
  // Fails where the word is unknown.
  core::Result<const measure::Engine*> engine() const;
  // Fails where a word is unknown, a number out of range or a flag not one of the engine's.
  core::Result<measure::Plan> plan(const measure::Engine& engine) const;

 private:
  core::Result<bool> take_layout(measure::Plan& plan) const;
  core::Result<bool> only_its_flags(const measure::Engine& engine) const;
  core::Result<int> ranks(const measure::Engine& engine) const;

  measure::Plan plan_ = {};
  std::string op_ = {};
  std::string algorithm_ = "auto";
  std::string backend_ = "local";
  std::string element_ = "float";
  std::string reduction_ = "sum";
  std::string verb_ = "put";
  std::string kv_layout_ = {};
  int ranks_ = 0;
  int threads_ = 1;
  int gpus_ = 1;
  int check_ = 1;
  int average_ = 1;
  int blocking_ = 0;
  int one_gpu_ranks_ = 0;
  int registers_ = 0;
  CLI::Option* verb_option_ = nullptr;
  CLI::Option* keep_option_ = nullptr;
  CLI::Option* timeout_option_ = nullptr;
  CLI::Option* ranks_option_ = nullptr;
  CLI::Option* threads_option_ = nullptr;
  CLI::Option* gpus_option_ = nullptr;
  CLI::Option* iterations_option_ = nullptr;
  CLI::Option* factor_option_ = nullptr;
};

// Whether the engine can run this plan here. What is wrong with the question is said before what is
// missing on the machine: exit 2 is the same everywhere.
core::Result<bool> check_usable(const measure::Engine& engine, const measure::Plan& plan);

}  // namespace comm_probe::cli
