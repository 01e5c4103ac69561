// Which kernels communicate, and how: the table of patterns, and what NCCL writes into its names.
#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "torch/trace_words.h"

namespace comm_probe::torch {
namespace {

using enum CollectiveClass;

// The first row that fits counts, so the narrow ones stand above the wide ones. "seen": in a real
// trace of ../shared/data; "source": read in the project's own code or documents; "unseen": the
// name is as its users report it.
constexpr std::array kPatterns = {
    CommPattern{"nccl_ep::internode_ll::dispatch", CommBackend::kNcclEp, kDispatch, "low-latency",
                "NCCL contrib/nccl_ep, as its users print it"},
    CommPattern{"nccl_ep::internode_ll::combine", CommBackend::kNcclEp, kCombine, "low-latency",
                "the same"},
    CommPattern{"nccl_ep_jit_ht_dispatch", CommBackend::kNcclEp, kDispatch, "high-throughput",
                "the same"},
    CommPattern{"nccl_ep_jit_ht_combine", CommBackend::kNcclEp, kCombine, "high-throughput",
                "the same"},
    CommPattern{"nccl_ep", CommBackend::kNcclEp, kUnknown, "", "other kernels of the same"},
    CommPattern{"^ncclsym", CommBackend::kNcclSymmetric, kUnknown, "symmetric",
                "NCCL 2.27 to 2.30, src/device/symmetric: ncclSymDevKernel_, ncclSymkDevKernel_"},
    CommPattern{"^nccl", CommBackend::kNccl, kUnknown, "",
                "NCCL and RCCL: ncclKernel_ (seen, to 2.18), ncclDevKernel_ (seen, from 2.19)"},
    CommPattern{"ncclkernel", CommBackend::kNccl, kUnknown, "",
                "template forms that begin with their type (HTA's pattern)"},
    CommPattern{"nccldevkernel", CommBackend::kNccl, kUnknown, "", "the same of newer versions"},
    CommPattern{"^rccl", CommBackend::kNccl, kUnknown, "", "RCCL (HTA's pattern)"},
    CommPattern{"mscclkernel", CommBackend::kMsccl, kUnknown, "", "MSCCL (HTA's pattern)"},
    CommPattern{"mscclpp", CommBackend::kMsccl, kUnknown, "", "MSCCL++ (unseen)"},
    CommPattern{"^hccl", CommBackend::kHccl, kUnknown, "", "HCCL (HTA's pattern)"},
    CommPattern{"cross_device_reduce_1stage", CommBackend::kCustomAllReduce, kAllReduce, "one-shot",
                "vLLM csrc/custom_all_reduce.cuh, SGLang, aiter"},
    CommPattern{"cross_device_reduce_2stage", CommBackend::kCustomAllReduce, kAllReduce, "two-shot",
                "the same"},
    CommPattern{"cross_device_reduce", CommBackend::kCustomAllReduce, kAllReduce, "",
                "other forms of the same"},
    CommPattern{"allreduce_prototype_oneshot", CommBackend::kQuickReduce, kAllReduce, "one-shot",
                "quick reduce of vLLM on ROCm (unseen)"},
    CommPattern{"allreduce_prototype_twoshot", CommBackend::kQuickReduce, kAllReduce, "two-shot",
                "the same (unseen)"},
    CommPattern{"allreduce_fusion_kernel_oneshot", CommBackend::kFlashInfer, kAllReduce, "one-shot",
                "FlashInfer trtllm_allreduce_fusion, TensorRT-LLM ar_fusion (unseen)"},
    CommPattern{"allreduce_fusion_kernel_twoshot", CommBackend::kFlashInfer, kAllReduce, "two-shot",
                "the same (unseen)"},
    CommPattern{"allreduce_fusion", CommBackend::kFlashInfer, kAllReduce, "",
                "other forms of the same (unseen)"},
    CommPattern{"trtllm_mnnvl_allreduce", CommBackend::kFlashInfer, kAllReduce, "two-shot",
                "FlashInfer, multi-node NVLink (unseen)"},
    CommPattern{"trtllm_allreduce", CommBackend::kFlashInfer, kAllReduce, "",
                "FlashInfer (unseen)"},
    CommPattern{"tensorrt_llm::kernels::oneshotallreduce", CommBackend::kTensorRtLlm, kAllReduce,
                "one-shot", "TensorRT-LLM customAllReduceKernels (unseen)"},
    CommPattern{"tensorrt_llm::kernels::twoshotallreduce", CommBackend::kTensorRtLlm, kAllReduce,
                "two-shot", "the same (unseen)"},
    CommPattern{"multimem_one_shot_all_reduce", CommBackend::kSymmetricMemory, kAllReduce,
                "multimem one-shot", "PyTorch CUDASymmetricMemoryOps.cu"},
    CommPattern{"multimem_one_shot_reduce", CommBackend::kSymmetricMemory, kReduce,
                "multimem one-shot", "the same (unseen)"},
    CommPattern{"multimem_all_reduce", CommBackend::kSymmetricMemory, kAllReduce,
                "multimem two-shot", "the same (seen on B200)"},
    CommPattern{"multimem_all_gather", CommBackend::kSymmetricMemory, kAllGather, "multimem",
                "the same"},
    CommPattern{"one_shot_all_reduce", CommBackend::kSymmetricMemory, kAllReduce, "one-shot",
                "the same"},
    CommPattern{"two_shot_all_reduce", CommBackend::kSymmetricMemory, kAllReduce, "two-shot",
                "the same"},
    CommPattern{"symm_mem", CommBackend::kSymmetricMemory, kUnknown, "", "the same (unseen)"},
    CommPattern{"oneshotallreducekernel", CommBackend::kIntraNodeComm, kAllReduce, "one-shot",
                "PyTorch intra_node_comm.cu, 2.3 to 2.6"},
    CommPattern{"twoshotallreducekernel", CommBackend::kIntraNodeComm, kAllReduce, "two-shot",
                "the same"},
    CommPattern{"hybridcubemeshallreducekernel", CommBackend::kIntraNodeComm, kAllReduce,
                "hybrid cube mesh", "the same"},
    CommPattern{"deep_ep::layout", CommBackend::kDeepEp, kUnknown, "layout",
                "DeepEP csrc/kernels/layout.cu: counts tokens before they are sent"},
    CommPattern{"get_dispatch_layout", CommBackend::kDeepEp, kUnknown, "layout",
                "the same, of SGLang's profiles"},
    CommPattern{"notify_dispatch", CommBackend::kDeepEp, kDispatch, "notify",
                "DeepEP csrc/kernels: sizes before the tokens"},
    CommPattern{"notify_combine", CommBackend::kDeepEp, kCombine, "notify", "the same"},
    CommPattern{"deep_ep::internode::cached_notify", CommBackend::kDeepEp, kCombine, "notify",
                "the same where the sizes are known, of SGLang's profiles"},
    CommPattern{"internode_ll::dispatch", CommBackend::kDeepEp, kDispatch, "low-latency",
                "DeepEP csrc/kernels/internode_ll.cu, also deep_ep::legacy and forks"},
    CommPattern{"internode_ll::combine", CommBackend::kDeepEp, kCombine, "low-latency", "the same"},
    CommPattern{"internode_ll::clean", CommBackend::kDeepEp, kUnknown, "clean", "the same"},
    CommPattern{"internode::dispatch_ll", CommBackend::kDeepEp, kDispatch, "low-latency",
                "dpsk::ep of deepseek-ai/profile-data (DeepEP issue 348)"},
    CommPattern{"internode::combine_ll", CommBackend::kDeepEp, kCombine, "low-latency", "the same"},
    CommPattern{"internode::dispatch", CommBackend::kDeepEp, kDispatch, "internode",
                "DeepEP csrc/kernels/internode.cu"},
    CommPattern{"internode::combine", CommBackend::kDeepEp, kCombine, "internode", "the same"},
    CommPattern{"intranode::dispatch", CommBackend::kDeepEp, kDispatch, "intranode",
                "DeepEP csrc/kernels/intranode.cu"},
    CommPattern{"intranode::combine", CommBackend::kDeepEp, kCombine, "intranode", "the same"},
    CommPattern{"dispatch_copy_epilogue", CommBackend::kDeepEp, kDispatch, "epilogue",
                "DeepEP V2: copies what has arrived (unseen)"},
    CommPattern{"combine_reduce_epilogue", CommBackend::kDeepEp, kCombine, "epilogue",
                "the same (unseen)"},
    CommPattern{"elastic::hybrid_dispatch_impl", CommBackend::kDeepEp, kDispatch, "elastic",
                "DeepEP V2 (unseen)"},
    CommPattern{"elastic::hybrid_combine_impl", CommBackend::kDeepEp, kCombine, "elastic",
                "the same (unseen)"},
    CommPattern{"elastic::dispatch_impl", CommBackend::kDeepEp, kDispatch, "elastic",
                "the same in one node (unseen)"},
    CommPattern{"elastic::combine_impl", CommBackend::kDeepEp, kCombine, "elastic",
                "the same (unseen)"},
    CommPattern{"deep_ep", CommBackend::kDeepEp, kUnknown, "", "other kernels of DeepEP"},
    CommPattern{"deepep", CommBackend::kDeepEp, kUnknown, "", "forks of DeepEP (unseen)"},
    CommPattern{"hybrid_ep::dispatch_kernel", CommBackend::kHybridEp, kDispatch, "",
                "NVIDIA HybridEP, as its users print it"},
    CommPattern{"hybrid_ep::combine_kernel", CommBackend::kHybridEp, kCombine, "", "the same"},
    CommPattern{"hybrid_ep::", CommBackend::kHybridEp, kUnknown, "", "other kernels of the same"},
    CommPattern{"epdispatchinternode", CommBackend::kMori, kDispatch, "internode",
                "AMD Mori: EpDispatchInterNodeV1Kernel, of its profiles"},
    CommPattern{"epcombineinternode", CommBackend::kMori, kCombine, "internode", "the same"},
    CommPattern{"epdispatchintranode", CommBackend::kMori, kDispatch, "intranode", "the same"},
    CommPattern{"epcombineintranode", CommBackend::kMori, kCombine, "intranode", "the same"},
    CommPattern{"epdispatchcopytostaging", CommBackend::kMori, kDispatch, "staging", "the same"},
    CommPattern{"epcombinesync", CommBackend::kMori, kCombine, "sync", "the same"},
    CommPattern{"a2a_dispatch_send", CommBackend::kPplx, kDispatch, "send",
                "pplx-garden p2p-all-to-all, of its users' profiles"},
    CommPattern{"a2a_dispatch_recv", CommBackend::kPplx, kDispatch, "receive", "the same"},
    CommPattern{"a2a_combine_send", CommBackend::kPplx, kCombine, "send", "the same"},
    CommPattern{"a2a_combine_recv", CommBackend::kPplx, kCombine, "receive", "the same"},
    CommPattern{"moea2adispatch", CommBackend::kTensorRtLlm, kDispatch, "one-sided",
                "TensorRT-LLM moeAlltoAllKernels.cu, FlashInfer has a copy"},
    CommPattern{"moea2acombine", CommBackend::kTensorRtLlm, kCombine, "one-sided", "the same"},
    CommPattern{"moea2a", CommBackend::kTensorRtLlm, kUnknown, "", "other kernels of the same"},
    CommPattern{"userbuffers", CommBackend::kUserBuffers, kUnknown, "",
                "Transformer Engine userbuffers (unseen)"},
    CommPattern{"nvshmem", CommBackend::kNvshmem, kUnknown, "", "NVSHMEM device kernels (unseen)"},
};

constexpr std::pair<std::string_view, CollectiveClass> kNcclWords[] = {
    {"AllReduce", kAllReduce}, {"AllGather", kAllGather},  {"ReduceScatter", kReduceScatter},
    {"Broadcast", kBroadcast}, {"Reduce", kReduce},        {"SendRecv", kSendReceive},
    {"AlltoAll", kAllToAll},   {"AllGatherV", kAllGather}, {"Gather", kGather},
    {"Scatter", kScatter},
};
constexpr std::string_view kAlgorithms[] = {"RING",   "TREE",  "NVLS", "COLLNET",
                                            "DIRECT", "CHAIN", "PAT"};
constexpr std::string_view kProtocols[] = {"LL", "LL128", "SIMPLE"};
// NCCL src/device/generate.py and its predecessor: functions and operators of the reductions.
constexpr std::string_view kReductions[] = {"Sum",       "Prod",       "Min", "Max", "MinMax",
                                            "PreMulSum", "SumPostDiv", "add", "sum"};

template <class Words>
bool is_one_of(const Words& words, std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::vector<std::string_view> words_of(std::string_view name) {
  name = name.substr(0, name.find_first_of("(<"));
  std::vector<std::string_view> words;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('_'), name.size());
    if (end > 0) words.push_back(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return words;
}

void join(std::string& text, std::string_view word) {
  if (!text.empty()) text += '_';
  text += word;
}

// "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t".
void decode_nccl(std::string_view name, CommKernel& kernel) {
  bool first = true;
  for (const std::string_view word : words_of(name)) {
    const auto collective = std::find_if(std::begin(kNcclWords), std::end(kNcclWords),
                                         [word](const auto& row) { return row.first == word; });
    if (first) {
      first = false;  // ncclDevKernel
    } else if (collective != std::end(kNcclWords)) {
      kernel.kind = collective->second;
    } else if (is_one_of(kAlgorithms, word)) {
      join(kernel.algorithm, word);
    } else if (is_one_of(kProtocols, word)) {
      kernel.protocol = word;
    } else if (is_one_of(kReductions, word)) {
      kernel.reduction = word;
    } else if (word != "Generic" && kernel.kind != kUnknown && !kernel.reduction.empty()) {
      join(kernel.dtype, word);
    }
  }
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool fits(std::string_view name, std::string_view pattern) {
  if (pattern.starts_with('^')) return name.starts_with(pattern.substr(1));
  return name.find(pattern) != std::string_view::npos;
}

}  // namespace

std::span<const CommPattern> comm_patterns() { return kPatterns; }

std::optional<CommKernel> comm_kernel_of(std::string_view kernel_name,
                                         std::span<const std::string> given) {
  const std::string name = lower(kernel_name);
  for (const std::string& pattern : given)
    if (!pattern.empty() && fits(name, lower(pattern))) return CommKernel{CommBackend::kGiven};
  const auto row = std::find_if(kPatterns.begin(), kPatterns.end(),
                                [&name](const auto& p) { return fits(name, p.pattern); });
  if (row == kPatterns.end()) return std::nullopt;
  CommKernel kernel{row->backend, row->kind, std::string(row->algorithm)};
  if (row->backend == CommBackend::kNccl || row->backend == CommBackend::kNcclSymmetric)
    decode_nccl(kernel_name, kernel);
  return kernel;
}

}  // namespace comm_probe::torch
