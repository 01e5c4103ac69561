// The engines that can run a Plan: local (processes of this machine over shared memory) is built
// in; the others load their library when they are asked for, so that the program starts without
// any of them. What is absent is one line that names what was looked for.
//
//   const Engine* engine = find_engine("nccl");
//   if (auto absent = engine->missing()) ...   // "libnccl.so.2 not found; ..."
//   core::Result<Run> run = engine->run(plan, progress);
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "measure/measure.h"
#include "measure/routed/routed.h"

namespace comm_probe::measure {

// Called with what is measured next.
using Progress = std::function<void(const std::string&)>;

// Flags that mean something to some engines only; another one refuses them.
struct Takes {
  bool graph = false;          // -G
  bool registration = false;   // -R
  bool one_gpu_ranks = false;  // --one-gpu-ranks
  bool keep = false;           // --keep
  bool timeout = false;        // --timeout
  bool verb = false;           // --verb
  bool scattered = false;      // --kv-layout
};

struct Engine {
  const char* name;
  const char* what;  // what moves the bytes, in a few words for the help
  // Nothing where it can run on this machine.
  std::optional<core::Error> (*missing)();
  // How many ranks it takes where none are asked for.
  int (*usual_ranks)();
  // The algorithms of its own for an operation; none where the library chooses.
  std::vector<model::Algorithm> (*algorithms)(model::Op op);
  // What `run` would refuse, found without running anything. Bad usage is found where the engine
  // itself is missing, too.
  core::Result<bool> (*check)(const Plan& plan);
  core::Result<Run> (*run)(const Plan& plan, const Progress& progress);
  Takes takes = {};
  // all_to_all with the sizes of a routing; null where it cannot.
  core::Result<RoutedRun> (*run_routed)(const RoutedPlan& plan, const Progress& progress) = nullptr;
};

const std::vector<Engine>& engines();
// Null for a name that is none.
const Engine* find_engine(const std::string& name);

}  // namespace comm_probe::measure
