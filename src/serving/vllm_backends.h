// Which all-reduce backend does vLLM take for a call, why not the ones before it, and which line of
// its log would show that? First come, first served: the list of backends that could be built, in
// the order of the release; per call the first whose size test passes.
//
//   about 0.23   NCCL_SYMM_MEM, QUICK_REDUCE, FLASHINFER, CUSTOM, SYMM_MEM, PYNCCL
//   0.24 to 0.26 AITER_CUSTOM before CUSTOM; later: FLASHINFER first, then FLASHINFER_PCIE_IPC
// VLLM_BATCH_INVARIANT leaves PYNCCL alone, and NCCL with one channel, tree and Simple.
// Size limits (strict for CUSTOM): 8 MiB, with torch symmetric memory at most the table's value for
// GPU and ranks; so 256 KiB on 8 x H100 (golden G7-11) and 8 MiB, not 32, on 4 x H100 (GA-09b).
// Sources: vLLM vllm/distributed/device_communicators/{custom_all_reduce, all_reduce_utils,
// symm_mem, cuda_communicator}.py.
//
// Worked example (tests/unit/serving): 8 x H100, 128 KiB of bf16, default settings -> CUSTOM,
// one-shot; 1 MiB -> SYMM_MEM, multimem; 128 MiB -> PYNCCL.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/quantity.h"
#include "core/result.h"
#include "model/small_all_reduce.h"

namespace comm_probe::serving {

enum class Backend {
  kFlashInferPcieIpc,
  kFlashInfer,
  kNcclSymmMem,
  kQuickReduce,
  kAiterCustom,
  kCustom,
  kSymmMem,
  kPyNccl
};
const char* backend_name(Backend backend);  // "NCCL_SYMM_MEM", as vLLM prints it
std::optional<Backend> backend_from_name(std::string_view name);

// The order of a line of releases.
struct VllmOrder {
  int from = 0;  // minor version of 0.x
  std::string_view name;
  std::vector<Backend> order;
  std::string_view source;
  bool is_exact = true;   // false: the release that changed it is not known
  bool is_older = false;  // older than what was read: its backends and limits are not known
};
// "0.23", "v0.23.1", "latest"
core::Result<VllmOrder> vllm_order(const std::string& version);

enum class ElementType { kBf16, kFp16, kFp32 };

// VLLM_ROCM_QUICK_REDUCE_QUANTIZATION; FP is without quantization.
enum class QuickRegime { kNone, kFp, kInt8, kInt6, kInt4, kInt3 };

// What decides besides size; each is a variable of the environment or a flag of vLLM.
struct VllmSettings {
  bool custom = true;            // without --disable-custom-all-reduce
  bool symm_mem = true;          // VLLM_ALLREDUCE_USE_SYMM_MEM
  bool nccl_symm = false;        // VLLM_USE_NCCL_SYMM_MEM
  bool flashinfer = false;       // VLLM_ALLREDUCE_USE_FLASHINFER
  bool pcie_ipc = false;         // VLLM_ALLREDUCE_USE_FLASHINFER_PCIE_IPC
  bool batch_invariant = false;  // VLLM_BATCH_INVARIANT
  QuickRegime quick_reduce = QuickRegime::kNone;
};
// Applies NAME=VALUE; fails on a value that the variable does not take. False: the name decides
// nothing here.
core::Result<bool> apply(VllmSettings& settings, std::string_view name, std::string_view value);

// What vLLM puts into NCCL's environment in batch-invariant mode, whatever stands there.
std::span<const std::pair<const char*, const char*>> batch_invariant_nccl();

struct ServingJob {
  int sm = 90;  // 90 = compute capability 9.0
  bool is_amd = false;
  int ranks = 8;
  int nodes = 1;
  bool one_domain = true;     // several nodes: of one NVLink domain
  bool fully_linked = true;   // every pair of GPUs by NVLink
  bool has_multicast = true;  // NVSwitch that reduces (compute capability 9.0 and up)
  core::Bytes bytes = {};
  ElementType type = ElementType::kBf16;
  VllmSettings settings = {};
};

struct BackendAnswer {
  Backend backend = Backend::kPyNccl;
  bool is_built = false;  // stands in the start-up line
  bool takes = false;     // would take this call, if none before it did
  std::string reason = {};
  std::string log_line = {};  // that says why it was not built; empty: none does
  std::optional<model::SmallKernel> kernel = {};  // of ours that models it
};
// In the order of the release; the first with `takes` gets the call.
// Every peer is reached over NVLink: else NCCL has its ordinary kernels only (NCCL sym_kernels.cc).
bool has_symmetric_kernels(const ServingJob& job);
std::vector<BackendAnswer> backends_of(const ServingJob& job, const VllmOrder& order);
const BackendAnswer* taken(const std::vector<BackendAnswer>& answers);
// "Using ['CUSTOM', 'PYNCCL'] all-reduce backends (in dispatch order) for group 'tp:0' ..."
std::string start_up_line(const std::vector<BackendAnswer>& answers);

// Limits by compute capability and ranks; nothing where the table has none.
std::optional<core::Bytes> custom_table_limit(int sm, int ranks);
std::optional<core::Bytes> symm_mem_limit(int sm, int ranks);
core::Bytes custom_limit(const ServingJob& job);
// The largest call that FlashInfer's workspace holds; nothing where vLLM disables it.
std::optional<core::Bytes> flashinfer_limit(int sm, int ranks);
// The smallest call that quick reduce takes (quick_all_reduce.py, _QR_MIN_SIZE); nothing where it
// is not made for such a job.
std::optional<core::Bytes> quick_reduce_least(ElementType type, int ranks, QuickRegime regime);
// Inside (open) NCCL_SYMM_MEM leaves the call to the custom kernel; what vLLM's authors measured it
// to be faster at is narrower.
struct PreferredRange {
  core::Bytes above = {};
  core::Bytes below = {};
  core::Bytes measured_from = {};
  core::Bytes measured_to = {};
};
std::optional<PreferredRange> custom_preferred(int ranks);

}  // namespace comm_probe::serving
