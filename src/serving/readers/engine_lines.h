// What vLLM and SGLang print at start-up about how they will reduce: the list of all-reduce
// backends, why one of them is off, the release, tensor parallelism, NCCL. Streaming, one line at a
// time, any text in front (workers put their pid or rank there); the same line of several workers
// counts once.
//
//   "Using ['CUSTOM', 'PYNCCL'] all-reduce backends (in dispatch order) for group 'tp:0' out of
//    potential backends: [...]"                    -> list of group "tp:0"
//   "Custom allreduce is disabled because this process group spans across nodes."
//                                                  -> CUSTOM is off: spans nodes
//   "Initializing a V1 LLM engine (v0.19.1) with config: ... tensor_parallel_size=8, ..."
//   "server_args=ServerArgs(... tp_size=8, ... disable_custom_all_reduce=False ...)"
//
// Texts: shared data/infer/sample_vllm_startup_lines.txt, vLLM and SGLang logs in public. Only tp
// groups get special backends: a list of 'ep:0' with PYNCCL alone is by design.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/input.h"

namespace comm_probe::serving {

struct BackendList {
  std::string group = {};  // "tp:0"
  std::vector<std::string> built = {};
  std::vector<std::string> potential = {};  // empty: not printed
  core::Evidence evidence = {};
  std::uint64_t last_line = 0;  // where it was printed last, in the file of the evidence

  bool has(std::string_view name) const;
  bool could_have(std::string_view name) const;
  bool is_tensor_parallel() const { return group.starts_with("tp"); }
};

// Why a backend that would be faster is not there.
enum class OffCause {
  kNotBuilt,  // the library is missing
  kSpansNodes,
  kWorldSize,    // not 2, 4, 6, 8
  kPcieOnly,     // more than two GPUs without NVLink between all
  kNoP2p,        // the P2P test failed
  kSetupFailed,  // SGLang: an exception, which the line quotes
  kSymmDevice,   // torch symmetric memory: GPU not in its table
  kSymmWorldSize,
  kSymmMulticast,
  kSymmFailed,
  kFlashInfer,
  kOther
};

struct BackendOff {
  std::string backend = {};  // "CUSTOM", "SYMM_MEM", "FLASHINFER", "QUICK_REDUCE"
  OffCause cause = OffCause::kOther;
  std::string detail = {};  // "3", "8.0", the exception
  core::Evidence evidence = {};
  std::uint64_t times = 0;  // lines that say it
};

struct EngineStart {
  std::string engine = {};   // "vLLM", "SGLang"
  std::string version = {};  // "0.19.1"; empty: not printed
  std::optional<int> tensor_parallel = {};
  std::optional<int> data_parallel = {};
  bool dp_attention = false;     // SGLang: attention is split tensor_parallel / data_parallel ways
  bool expert_parallel = false;  // vLLM: over tensor_parallel x data_parallel ranks
  std::optional<bool> custom_disabled = {};  // --disable-custom-all-reduce
  std::optional<bool> eager = {};
  bool only_prefills = false;  // disaggregation_mode='prefill', kv_role='kv_producer'
  core::Evidence evidence = {};

  // Ranks that reduce together; nothing where it was not printed.
  std::optional<int> attention_ranks() const;
};
// A start further down in the same file says what holds now.
bool is_last_of_its_file(const EngineStart& start, const std::vector<EngineStart>& starts);

struct EngineLines {
  std::vector<EngineStart> starts = {};
  std::vector<BackendList> lists = {};
  std::vector<BackendOff> off = {};
  std::string nccl = {};  // "2.28.9"
  std::optional<std::int64_t> graph_addresses = {};
  std::string p2p_cache = {};  // file that a P2P verdict was read from
  core::Evidence p2p_cache_line = {};

  bool empty() const {
    return starts.empty() && lists.empty() && off.empty() && nccl.empty() && !graph_addresses;
  }
};

class EngineLineReader {
 public:
  void begin_file(const std::string& name) { file_ = name; }
  void add(const core::Line& line);
  // Lines so far that said something.
  std::size_t found() const { return found_; }
  EngineLines finish() { return std::move(lines_); }

 private:
  void add_list(const core::Line& line);
  void add_off(const core::Line& line);
  void add_start(const core::Line& line);
  void add_facts(const core::Line& line);

  EngineLines lines_ = {};
  std::string file_ = {};
  std::size_t found_ = 0;
};

}  // namespace comm_probe::serving
