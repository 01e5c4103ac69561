// What vLLM and SGLang print about their experts: who does the all-to-all, whether it costs the
// CUDA graphs, how even the experts are loaded, how long moving them took. Streaming, one line at a
// time, any text in front.
//
//   "Using DeepEPHTAll2AllManager all2all manager."             -> its backend is
//                                                                  deepep_high_throughput
//   "DeepEP: Disabling CUDA Graphs since DeepEP high-throughput kernels ..."  (vLLM)
//   "Cuda graph is disabled because deepep_mode=`normal`"       (SGLang)   -> graphs are off
//   "EPLB step: avg_tokens=100.00, max_tokens=900, balancedness=0.1111"   (vLLM)
//   "[Expert Balancedness] forward_pass_id=7 current_pass_balancedness=0.611 ..."  (SGLang)
//   "Rearranged experts in 12.34 s."                            -> it took 12.34 s
//
// Texts: vLLM cuda_communicator.py, config/compilation.py, eplb_state.py; SGLang server_args.py,
// eplb/expert_distribution.py. vLLM's lines with a step number ("EPLB step: 3000 for model m: ...")
// take mean and maximum over layers instead of ranks (eplb_state.py: the tensor has the layers in
// front since then): they are kept apart.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/input.h"
#include "core/quantity.h"

namespace comm_probe::serving {

struct All2AllManager {
  std::string name = {};     // as printed: "DeepEPHTAll2AllManager"
  std::string backend = {};  // value of --all2all-backend; empty: not known
  core::Evidence evidence = {};
};

// All lines of one kind together: the tokens of each count.
struct ExpertBalance {
  std::size_t lines = 0;
  double mean = 1;               // mean load over the highest, 1 = even
  double lowest = 1;             // of one line
  double tokens = 0;             // as printed, mean of a line
  bool of_layers = false;        // mean and highest are those of layers, not of ranks
  bool of_all = false;           // the tokens are those of all ranks and layers together (SGLang)
  core::Evidence evidence = {};  // of the lowest
};

struct Rearrangements {
  std::size_t count = 0;  // those of the profile run do not count
  core::Duration total = {};
  core::Duration longest = {};
  core::Evidence evidence = {};  // of the longest
};

struct MoeLines {
  std::vector<All2AllManager> managers = {};
  std::optional<core::Evidence> graphs_off = {};
  std::vector<ExpertBalance> balances = {};
  Rearrangements rearrangements = {};

  bool empty() const {
    return managers.empty() && !graphs_off && balances.empty() && rearrangements.count == 0;
  }
};

class MoeLineReader {
 public:
  void begin_file(const std::string& name) { file_ = name; }
  void add(const core::Line& line);
  // Lines so far that said something.
  std::size_t found() const { return found_; }
  MoeLines finish();

 private:
  void add_manager(const core::Line& line, std::size_t at);
  void add_graphs_off(const core::Line& line, std::size_t at);
  void add_balance(const core::Line& line);
  void add_rearrangement(const core::Line& line, std::size_t at);

  MoeLines lines_ = {};
  std::map<std::string, Rearrangements> moved_ = {};  // by worker: all print the same one
  std::string file_ = {};
  std::size_t found_ = 0;
};

}  // namespace comm_probe::serving
