// What `bench` was asked for: nccl-tests' flags, and the Plan they make.
#pragma once

#include <string>

#include "cli/shell.h"
#include "measure/engine.h"

namespace comm_probe::cli {

class BenchRequest {
 public:
  void add_to(CLI::App& app);
  // Fails where the word is unknown, or something that the engine needs is not on this machine.
  core::Result<const measure::Engine*> engine() const;
  // Fails where a word is unknown or a number out of range.
  core::Result<measure::Plan> plan(const measure::Engine& engine) const;

 private:
  core::Result<int> ranks(const measure::Engine& engine) const;

  measure::Plan plan_ = {};
  std::string op_ = {};
  std::string algorithm_ = "auto";
  std::string backend_ = "local";
  std::string element_ = "float";
  std::string reduction_ = "sum";
  std::string verb_ = "put";
  int ranks_ = 0;
  int threads_ = 1;
  int gpus_ = 1;
  int check_ = 1;
  int average_ = 1;
  int blocking_ = 0;
  int one_gpu_ranks_ = 0;
  int registers_ = 0;
  CLI::Option* ranks_option_ = nullptr;
  CLI::Option* threads_option_ = nullptr;
  CLI::Option* gpus_option_ = nullptr;
  CLI::Option* iterations_option_ = nullptr;
  CLI::Option* factor_option_ = nullptr;
};

}  // namespace comm_probe::cli
