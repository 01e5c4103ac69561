#include "serving/vllm_backends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/spelling.h"
#include "core/units.h"

namespace comm_probe::serving {
namespace {

using core::Bytes;
using core::format_bytes;
using model::SmallKernel;

struct BackendName {
  Backend backend;
  std::string_view name;
};
constexpr std::array kNames = {
    BackendName{Backend::kFlashInferPcieIpc, "FLASHINFER_PCIE_IPC"},
    BackendName{Backend::kFlashInfer, "FLASHINFER"},
    BackendName{Backend::kNcclSymmMem, "NCCL_SYMM_MEM"},
    BackendName{Backend::kQuickReduce, "QUICK_REDUCE"},
    BackendName{Backend::kAiterCustom, "AITER_CUSTOM"},
    BackendName{Backend::kCustom, "CUSTOM"},
    BackendName{Backend::kSymmMem, "SYMM_MEM"},
    BackendName{Backend::kPyNccl, "PYNCCL"},
};

// Bytes by compute capability and ranks (vLLM all_reduce_utils.py).
struct SizeLimit {
  int sm;
  int ranks;
  double bytes;
};
constexpr double kKiB = 1024, kMiB = 1048576;
constexpr std::array kCustomTable = {
    SizeLimit{90, 2, 64 * kMiB},  SizeLimit{90, 4, 32 * kMiB}, SizeLimit{90, 6, 512 * kKiB},
    SizeLimit{90, 8, 256 * kKiB}, SizeLimit{100, 2, 2 * kMiB}, SizeLimit{100, 4, 2 * kMiB},
    SizeLimit{100, 6, 1 * kMiB},  SizeLimit{100, 8, 1 * kMiB}, SizeLimit{103, 2, 4 * kMiB},
    SizeLimit{103, 4, 4 * kMiB},  SizeLimit{103, 6, 8 * kMiB}, SizeLimit{103, 8, 4 * kMiB},
};
constexpr std::array kSymmTable = {
    SizeLimit{90, 2, 64 * kMiB},   SizeLimit{90, 4, 32 * kMiB},   SizeLimit{90, 6, 64 * kMiB},
    SizeLimit{90, 8, 64 * kMiB},   SizeLimit{100, 2, 8 * kMiB},   SizeLimit{100, 4, 32 * kMiB},
    SizeLimit{100, 6, 128 * kMiB}, SizeLimit{100, 8, 128 * kMiB}, SizeLimit{103, 2, 4 * kMiB},
    SizeLimit{103, 4, 32 * kMiB},  SizeLimit{103, 6, 32 * kMiB},  SizeLimit{103, 8, 64 * kMiB},
};

// FI_ALLREDUCE_FUSION_MAX_SIZE_MB, which is in MiB; later releases have 4 for 10.3 and 8 ranks.
constexpr std::array kFlashInferTable = {
    SizeLimit{90, 2, 64 * kMiB},  SizeLimit{90, 4, 2 * kMiB},   SizeLimit{90, 8, 512 * kKiB},
    SizeLimit{100, 2, 64 * kMiB}, SizeLimit{100, 4, 32 * kMiB}, SizeLimit{100, 8, 1 * kMiB},
    SizeLimit{103, 2, 64 * kMiB}, SizeLimit{103, 4, 64 * kMiB}, SizeLimit{103, 8, 2 * kMiB},
};

template <std::size_t N>
std::optional<Bytes> limit_in(const std::array<SizeLimit, N>& table, int sm, int ranks) {
  for (const SizeLimit& limit : table)
    if (limit.sm == sm && limit.ranks == ranks) return Bytes::of(limit.bytes);
  return std::nullopt;
}

std::string capability(int sm) { return fmt::format("{}.{}", sm / 10, sm % 10); }

BackendAnswer not_built(Backend backend, std::string reason, std::string line = "") {
  return {backend, false, false, std::move(reason), std::move(line), {}};
}
BackendAnswer not_taken(Backend backend, std::string reason) {
  return {backend, true, false, std::move(reason), "", {}};
}
BackendAnswer takes(Backend backend, std::string reason, std::optional<SmallKernel> kernel) {
  return {backend, true, true, std::move(reason), "", kernel};
}

// vllm/config/parallel.py, symm_mem.py, cuda_communicator.py
constexpr const char* kInvariant = "VLLM_BATCH_INVARIANT turns it off";
constexpr const char* kQuickVariable = "VLLM_ROCM_QUICK_REDUCE_QUANTIZATION";

// Smallest sizes in MiB: FP, INT8, INT6, INT4, INT3.
struct QuickRow {
  ElementType type;
  int ranks;
  std::array<int, 5> least;
};
constexpr std::array kQuickTable = {
    QuickRow{ElementType::kFp16, 2, {1, 2, 2, 1, 1}},
    QuickRow{ElementType::kFp16, 4, {1, 16, 4, 2, 2}},
    QuickRow{ElementType::kFp16, 8, {16, 4, 4, 2, 2}},
    QuickRow{ElementType::kBf16, 2, {2, 8, 8, 8, 8}},
    QuickRow{ElementType::kBf16, 4, {8, 64, 64, 16, 16}},
    QuickRow{ElementType::kBf16, 8, {16, 2048, 2048, 2048, 2048}},
};
constexpr std::array<std::string_view, 6> kRegimes = {"NONE", "FP", "INT8", "INT6", "INT4", "INT3"};

// vLLM makes the object on AMD GPUs only: on others there is no line of it.
BackendAnswer ask_quick_reduce(const ServingJob& job) {
  constexpr Backend kMe = Backend::kQuickReduce;
  if (!job.is_amd) return not_built(kMe, "for AMD GPUs only");
  if (job.nodes > 1)
    return not_built(kMe, fmt::format("the group spans {} nodes", job.nodes),
                     "Custom quick allreduce is disabled because this process group spans across "
                     "nodes.");
  if (job.ranks != 2 && job.ranks != 4 && job.ranks != 8)
    return not_built(kMe, fmt::format("{} ranks, it is built for 2, 4 and 8", job.ranks),
                     fmt::format("Custom quick allreduce is disabled due to an unsupported world "
                                 "size: {}. Supported world sizes: [2, 4, 8].",
                                 job.ranks));
  if (job.settings.quick_reduce == QuickRegime::kNone)
    return not_built(kMe, fmt::format("{} is not set", kQuickVariable));
  if (job.settings.quick_reduce == QuickRegime::kInt3 && job.ranks != 2)
    return not_built(kMe, "INT3 is for 2 ranks only");
  if (job.type == ElementType::kFp32) return not_built(kMe, "it sums fp16 and bf16 only");
  const auto least = quick_reduce_least(job.type, job.ranks, job.settings.quick_reduce);
  if (!least || job.bytes < *least)
    return not_taken(kMe, fmt::format("{} is below its least of {}", format_bytes(job.bytes),
                                      least ? format_bytes(*least) : "its table"));
  return takes(kMe, fmt::format("from {} on", format_bytes(*least)), {});
}

BackendAnswer ask_aiter(const ServingJob& job) {
  constexpr Backend kMe = Backend::kAiterCustom;
  if (!job.is_amd) return not_built(kMe, "for AMD GPUs only");
  return not_built(kMe, "switches of AITER decide, which were not read: look at the start-up list");
}

BackendAnswer takes_symm(const ServingJob& job, const std::string& reason) {
  if (has_symmetric_kernels(job))
    return takes(Backend::kNcclSymmMem, reason, SmallKernel::kNcclSymm);
  return takes(Backend::kNcclSymmMem,
               reason +
                   "; not every peer is reached over NVLink, so NCCL runs its ordinary kernel on "
                   "these buffers (a profile has no ncclSym name)",
               std::nullopt);
}

BackendAnswer ask_nccl_symm(const ServingJob& job) {
  constexpr Backend kMe = Backend::kNcclSymmMem;
  constexpr int kLeast = 4, kAlwaysAbove = 8;
  if (!job.settings.nccl_symm) return not_built(kMe, "VLLM_USE_NCCL_SYMM_MEM is not 1");
  if (job.is_amd) return not_built(kMe, "NCCL only");
  if (job.settings.batch_invariant) return not_built(kMe, kInvariant);
  if (job.ranks < kLeast)
    return not_built(kMe, fmt::format("{} ranks, it wants at least {}", job.ranks, kLeast));
  if (job.ranks > kAlwaysAbove) return takes_symm(job, "above 8 ranks always");
  const auto custom = custom_preferred(job.ranks);
  if (!custom) return not_taken(kMe, fmt::format("no table entry for {} ranks", job.ranks));
  const std::string range =
      fmt::format("{} to {}", format_bytes(custom->above), format_bytes(custom->below));
  if (job.bytes > custom->above && job.bytes < custom->below)
    return not_taken(kMe, fmt::format("{} lies inside {}, where the custom kernel is faster",
                                      format_bytes(job.bytes), range));
  return takes_symm(
      job, fmt::format("outside {} (the custom kernel was measured to win from {} to {})", range,
                       format_bytes(custom->measured_from), format_bytes(custom->measured_to)));
}

BackendAnswer ask_flashinfer(const ServingJob& job) {
  constexpr Backend kMe = Backend::kFlashInfer;
  if (!job.settings.flashinfer) return not_built(kMe, "VLLM_ALLREDUCE_USE_FLASHINFER is not 1");
  if (job.is_amd)
    return not_built(kMe, "CUDA only",
                     "FlashInfer All Reduce is disabled because it requires CUDA platform");
  const auto most = flashinfer_limit(job.sm, job.ranks);
  if (!most)
    return not_built(kMe,
                     fmt::format("its table has no {} ranks of compute capability {}", job.ranks,
                                 capability(job.sm)),
                     fmt::format("FlashInfer All Reduce is disabled because it is not supported "
                                 "for world_size={}.",
                                 job.ranks));
  if (!job.has_multicast)
    return not_built(kMe, "no NVSwitch with multicast",
                     "Failed to initialize FlashInfer All Reduce workspace: ... expected on GPUs "
                     "without NVSwitch");
  if (job.bytes > *most)
    return not_taken(
        kMe, fmt::format("{} is above its {}", format_bytes(job.bytes), format_bytes(*most)));
  return takes(kMe,
               fmt::format("up to {}, backend {}", format_bytes(*most),
                           job.nodes > 1 ? "mnnvl (several nodes)" : "trtllm (one node)"),
               {});
}

BackendAnswer ask_pcie_ipc(const ServingJob& job) {
  constexpr Backend kMe = Backend::kFlashInferPcieIpc;
  if (!job.settings.pcie_ipc)
    return not_built(kMe, "VLLM_ALLREDUCE_USE_FLASHINFER_PCIE_IPC is not 1");
  if (job.is_amd) return not_built(kMe, "CUDA only");
  if (job.fully_linked) return not_built(kMe, "for GPUs that have PCIe only");
  return takes(kMe, "PCIe only; its gates were not read in a release", {});
}

// Why the object of the custom kernel is not there; first match as in its constructor.
std::optional<BackendAnswer> custom_refusal(const ServingJob& job) {
  constexpr Backend kMe = Backend::kCustom;
  if (!job.settings.custom) return not_built(kMe, "--disable-custom-all-reduce");
  if (job.settings.batch_invariant) return not_built(kMe, kInvariant);
  if (job.nodes > 1)
    return not_built(
        kMe,
        fmt::format("the group spans {} nodes, and memory is mapped inside one only", job.nodes),
        "Custom allreduce is disabled because this process group spans across nodes.");
  if (job.ranks == 1) return not_built(kMe, "one rank");
  if (job.ranks != 2 && job.ranks != 4 && job.ranks != 6 && job.ranks != 8)
    return not_built(kMe, fmt::format("{} ranks, it is built for 2, 4, 6 and 8", job.ranks),
                     fmt::format("Custom allreduce is disabled due to an unsupported world size: "
                                 "{}. Supported world sizes: [2, 4, 6, 8]",
                                 job.ranks));
  if (job.ranks > 2 && !job.fully_linked)
    return not_built(kMe, "more than two GPUs, and not every pair has NVLink",
                     "Custom allreduce is disabled because it's not supported on more than two "
                     "PCIe-only GPUs");
  return std::nullopt;
}

BackendAnswer ask_custom(const ServingJob& job) {
  constexpr Backend kMe = Backend::kCustom;
  if (auto refusal = custom_refusal(job)) return *std::move(refusal);
  const Bytes limit = custom_limit(job);
  if (job.bytes >= limit)
    return not_taken(kMe, fmt::format("{} is not below its limit of {}", format_bytes(job.bytes),
                                      format_bytes(limit)));
  constexpr std::uint64_t kPack = 16;
  if (job.bytes.whole() % kPack != 0) return not_taken(kMe, "the size is no multiple of 16 B");
  const SmallKernel kernel = model::custom_kernel(job.ranks, job.bytes);
  return takes(
      kMe,
      fmt::format("below its limit of {}: {}{}", format_bytes(limit), small_kernel_name(kernel),
                  job.ranks == 2 && !job.fully_linked ? ", over PCIe" : ""),
      kernel);
}

std::optional<BackendAnswer> symm_refusal(const ServingJob& job) {
  constexpr Backend kMe = Backend::kSymmMem;
  if (!job.settings.symm_mem) return not_built(kMe, "VLLM_ALLREDUCE_USE_SYMM_MEM is 0");
  if (job.settings.batch_invariant) return not_built(kMe, kInvariant);
  if (job.is_amd) return not_built(kMe, "CUDA only");
  const bool knows_gpu = limit_in(kSymmTable, job.sm, 2).has_value();
  if (!knows_gpu)
    return not_built(kMe, fmt::format("its table has no compute capability {}", capability(job.sm)),
                     fmt::format("SymmMemCommunicator: Device capability {} not supported, "
                                 "communicator is not available.",
                                 capability(job.sm)));
  if (!symm_mem_limit(job.sm, job.ranks))
    return not_built(kMe, fmt::format("its table has no {} ranks", job.ranks),
                     fmt::format("SymmMemCommunicator: World size {} not supported, communicator "
                                 "is not available.",
                                 job.ranks));
  if (job.nodes > 1)
    return not_built(kMe, fmt::format("the group spans {} nodes; that it is built over an NVLink "
                                      "domain of several hosts is not known here",
                                      job.nodes));
  if (!job.has_multicast)
    return not_built(kMe, "no multicast between these GPUs (NVSwitch, fabric manager, driver)",
                     "SymmMemCommunicator: symmetric memory multicast operations are not "
                     "supported.");
  return std::nullopt;
}

bool has_multimem(int sm, int ranks) {
  constexpr int kHopper = 90;
  return ranks == 6 || ranks == 8 || (sm == kHopper && ranks == 4);
}

BackendAnswer ask_symm(const ServingJob& job) {
  constexpr Backend kMe = Backend::kSymmMem;
  if (auto refusal = symm_refusal(job)) return *std::move(refusal);
  if (job.type != ElementType::kBf16) return not_taken(kMe, "it sums bf16 only");
  constexpr std::uint64_t kMultiple = 4;
  if (job.bytes.whole() % kMultiple != 0) return not_taken(kMe, "the size is no multiple of 4 B");
  const Bytes limit = *symm_mem_limit(job.sm, job.ranks);
  if (job.bytes > limit)
    return not_taken(
        kMe, fmt::format("{} is above its {}", format_bytes(job.bytes), format_bytes(limit)));
  const SmallKernel kernel =
      has_multimem(job.sm, job.ranks) ? SmallKernel::kMultimem : SmallKernel::kSymmTwoShot;
  return takes(kMe, fmt::format("up to {}: {}", format_bytes(limit), small_kernel_name(kernel)),
               kernel);
}

BackendAnswer ask(Backend backend, const ServingJob& job) {
  switch (backend) {
    case Backend::kFlashInferPcieIpc:
      return ask_pcie_ipc(job);
    case Backend::kFlashInfer:
      return ask_flashinfer(job);
    case Backend::kNcclSymmMem:
      return ask_nccl_symm(job);
    case Backend::kQuickReduce:
      return ask_quick_reduce(job);
    case Backend::kAiterCustom:
      return ask_aiter(job);
    case Backend::kCustom:
      return ask_custom(job);
    case Backend::kSymmMem:
      return ask_symm(job);
    case Backend::kPyNccl:
      return job.ranks > 1 ? takes(backend, "what nobody before it took", {})
                           : not_built(backend, "one rank");
  }
  return not_built(backend, "");
}

std::vector<VllmOrder> orders() {
  using B = Backend;
  return {{0,
           "about v0.23",
           {B::kNcclSymmMem, B::kQuickReduce, B::kFlashInfer, B::kCustom, B::kSymmMem, B::kPyNccl},
           "vLLM v0.23.0 cuda_communicator.py",
           true},
          {24,
           "v0.24 to v0.26",
           {B::kNcclSymmMem, B::kQuickReduce, B::kFlashInfer, B::kAiterCustom, B::kCustom,
            B::kSymmMem, B::kPyNccl},
           "a start-up line of vLLM v0.26.0",
           false},
          {27,
           "v0.27 and later",
           {B::kFlashInfer, B::kNcclSymmMem, B::kQuickReduce, B::kAiterCustom, B::kCustom,
            B::kSymmMem, B::kPyNccl},
           "vLLM start-up lines after v0.26",
           false},
          {30,
           "the newest seen",
           {B::kFlashInferPcieIpc, B::kFlashInfer, B::kNcclSymmMem, B::kQuickReduce,
            B::kAiterCustom, B::kCustom, B::kSymmMem, B::kPyNccl},
           "vLLM start-up lines of v0.30 and v0.31",
           false}};
}

constexpr int kLatest = 1'000'000;

// The minor number of "0.23", "v0.23.1"; nothing where it is no version.
std::optional<int> minor_of(std::string_view text) {
  if (text == "latest") return kLatest;
  if (text.starts_with("v")) text.remove_prefix(1);
  if (!text.starts_with("0.")) return std::nullopt;
  text.remove_prefix(2);
  int minor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), minor);
  const bool ends_well = end == text.data() + text.size() || *end == '.';
  if (error != std::errc() || !ends_well || minor < 0 || minor >= kLatest) return std::nullopt;
  return minor;
}

}  // namespace

bool has_symmetric_kernels(const ServingJob& job) {
  return job.fully_linked && (job.nodes == 1 || job.one_domain);
}

const char* backend_name(Backend backend) {
  for (const BackendName& entry : kNames)
    if (entry.backend == backend) return entry.name.data();
  return "";
}

std::optional<Backend> backend_from_name(std::string_view name) {
  for (const BackendName& entry : kNames)
    if (entry.name == name) return entry.backend;
  return std::nullopt;
}

core::Result<VllmOrder> vllm_order(const std::string& version) {
  const auto minor = minor_of(version);
  if (!minor)
    return core::input_error(fmt::format("'{}' is no version of vLLM", version),
                             "give one like 0.23 or v0.23.1, or latest");
  constexpr int kRead = 23;  // the release whose source was read
  VllmOrder found;
  for (VllmOrder& order : orders())
    if (order.from <= *minor) found = std::move(order);
  found.is_older = *minor < kRead;
  if (found.is_older) found.is_exact = false;
  return found;
}

core::Result<bool> apply(VllmSettings& settings, std::string_view name, std::string_view value) {
  if (name == kQuickVariable) {
    const auto regime = std::find(kRegimes.begin(), kRegimes.end(), core::upper(value));
    if (regime == kRegimes.end())
      return core::input_error(fmt::format("{}={} is not known", name, value),
                               fmt::format("expected one of {}", fmt::join(kRegimes, ", ")));
    settings.quick_reduce = static_cast<QuickRegime>(regime - kRegimes.begin());
    return true;
  }
  const bool on = value == "1" || core::upper(value) == "TRUE";
  const bool off = value == "0" || core::upper(value) == "FALSE";
  bool* target = name == "VLLM_ALLREDUCE_USE_SYMM_MEM"              ? &settings.symm_mem
                 : name == "VLLM_USE_NCCL_SYMM_MEM"                 ? &settings.nccl_symm
                 : name == "VLLM_ALLREDUCE_USE_FLASHINFER"          ? &settings.flashinfer
                 : name == "VLLM_BATCH_INVARIANT"                   ? &settings.batch_invariant
                 : name == "VLLM_ALLREDUCE_USE_FLASHINFER_PCIE_IPC" ? &settings.pcie_ipc
                                                                    : nullptr;
  if (target == nullptr) return false;
  if (!on && !off)
    return core::input_error(fmt::format("{}={} is no switch", name, value), "expected 0 or 1");
  *target = on;
  return true;
}

std::span<const std::pair<const char*, const char*>> batch_invariant_nccl() {
  // vllm/model_executor/layers/batch_invariant.py
  static constexpr std::array<std::pair<const char*, const char*>, 5> kSet = {
      {{"NCCL_ALGO", "allreduce:tree"},
       {"NCCL_PROTO", "Simple"},
       {"NCCL_MIN_NCHANNELS", "1"},
       {"NCCL_MAX_NCHANNELS", "1"},
       {"NCCL_NVLS_ENABLE", "0"}}};
  return kSet;
}

std::optional<Bytes> custom_table_limit(int sm, int ranks) {
  return limit_in(kCustomTable, sm, ranks);
}
std::optional<Bytes> symm_mem_limit(int sm, int ranks) { return limit_in(kSymmTable, sm, ranks); }

Bytes custom_limit(const ServingJob& job) {
  const auto table = custom_table_limit(job.sm, job.ranks);
  if (!job.settings.symm_mem || !table) return model::kCustomMost;
  return std::min(*table, model::kCustomMost);
}

std::optional<Bytes> flashinfer_limit(int sm, int ranks) {
  return limit_in(kFlashInferTable, sm, ranks);
}

std::optional<Bytes> quick_reduce_least(ElementType type, int ranks, QuickRegime regime) {
  if (regime == QuickRegime::kNone) return std::nullopt;
  for (const QuickRow& row : kQuickTable)
    if (row.type == type && row.ranks == ranks)
      return Bytes::of(row.least[static_cast<std::size_t>(regime) - 1] * kMiB);
  return std::nullopt;
}

std::optional<PreferredRange> custom_preferred(int ranks) {
  const auto kib = [](double count) { return Bytes::of(count * kKiB); };
  if (ranks == 4) return PreferredRange{kib(16), kib(512), kib(32), kib(256)};
  if (ranks == 8) return PreferredRange{kib(16), kib(128), kib(32), kib(64)};
  return std::nullopt;
}

std::vector<BackendAnswer> backends_of(const ServingJob& job, const VllmOrder& order) {
  std::vector<BackendAnswer> answers;
  for (const Backend backend : order.order) answers.push_back(ask(backend, job));
  return answers;
}

const BackendAnswer* taken(const std::vector<BackendAnswer>& answers) {
  const auto first = std::find_if(answers.begin(), answers.end(),
                                  [](const BackendAnswer& answer) { return answer.takes; });
  return first == answers.end() ? nullptr : &*first;
}

std::string start_up_line(const std::vector<BackendAnswer>& answers) {
  std::vector<std::string> built, all;
  for (const BackendAnswer& answer : answers) {
    all.push_back(fmt::format("'{}'", backend_name(answer.backend)));
    if (answer.is_built) built.push_back(all.back());
  }
  return fmt::format(
      "Using [{}] all-reduce backends (in dispatch order) for group 'tp:0' out of potential "
      "backends: [{}]",
      fmt::join(built, ", "), fmt::join(all, ", "));
}

}  // namespace comm_probe::serving
