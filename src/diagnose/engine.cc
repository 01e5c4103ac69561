#include "diagnose/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/finding_table.h"
#include "diagnose/engine_experts.h"
#include "diagnose/engine_failures.h"
#include "diagnose/engine_kv.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using serving::BackendList;
using serving::BackendOff;
using serving::OffCause;

struct OffAdvice {
  OffCause cause;
  const char* why;
  core::Confidence confidence;
  std::vector<std::string> next;
};

// Of the custom kernel; the last one stands for a cause that the line tells in its own words.
const std::vector<OffAdvice>& advice() {
  using C = core::Confidence;
  static const std::vector<OffAdvice> all = {
      {OffCause::kNotBuilt,
       "this build of the engine lacks its library",
       C::kCertain,
       {"reinstall the engine, built for this CUDA and GPU"}},
      {OffCause::kSpansNodes,
       "the tensor-parallel group spans nodes, and it maps memory inside one node only",
       C::kCertain,
       {"tensor parallelism inside a node, pipeline parallelism between nodes"}},
      {OffCause::kWorldSize,
       "it is built for 2, 4, 6 and 8 ranks",
       C::kCertain,
       {"choose a tensor parallelism of 2, 4, 6 or 8"}},
      {OffCause::kPcieOnly,
       "more than two GPUs, and not every pair of them has NVLink",
       C::kCertain,
       {"comm-probe topo show   (NVLink between all pairs?)",
        "--disable-custom-all-reduce, where PCIe is all that the machine has"}},
      {OffCause::kNoP2p,
       "the test of GPU P2P failed",
       C::kLikely,
       {"comm-probe topo check   (ACS, IOMMU)", "nvidia-smi topo -p2p rw",
        "delete gpu_p2p_access_cache_for_*.json: it may be the verdict of another host"}},
      {OffCause::kSetupFailed,
       "its setup failed",
       C::kLikely,
       {"comm-probe topo check   (NVLink, ACS, IOMMU)", "nvidia-smi topo -p2p rw"}}};
  return all;
}

const OffAdvice& advice_on(OffCause cause) {
  for (const OffAdvice& one : advice())
    if (one.cause == cause) return one;
  return advice().back();
}

std::optional<int> ranks_of(const serving::EngineLines& lines) {
  for (const serving::EngineStart& start : lines.starts)
    if (start.attention_ranks().value_or(1) > 1) return start.attention_ranks();
  return std::nullopt;
}

// The command that prices what is lost.
std::string price_command(const serving::EngineLines& lines) {
  return fmt::format(
      "comm-probe calc decode --model MODEL --batch B --tp {} --machine NAME   (what "
      "it costs per step)",
      ranks_of(lines) ? std::to_string(*ranks_of(lines)) : "N");
}

// A start further down in the same file has the backend: what lacked it before is mended.
bool is_mended(const serving::EngineLines& lines, std::string_view backend, const std::string& file,
               std::uint64_t line) {
  return std::any_of(lines.lists.begin(), lines.lists.end(), [&](const BackendList& list) {
    return list.is_tensor_parallel() && list.has(backend) && list.evidence.source == file &&
           list.last_line > line;
  });
}

// Who reduces small messages in its place.
struct Instead {
  std::string text = "small all_reduce calls go to NCCL";
  bool is_nccl = true;
};
Instead instead_of_custom(const serving::EngineLines& lines) {
  for (const BackendList& list : lines.lists) {
    if (!list.is_tensor_parallel() || list.has("CUSTOM")) continue;
    if (list.built.front() == "PYNCCL") return {};
    return {
        fmt::format("all_reduce calls go to {} while its size test lets them pass, others to {}",
                    list.built.front(), list.built.size() > 1 ? list.built[1] : "nobody"),
        false};
  }
  return {};
}

// Every machine and group of that kind has it off: no sign that this one is slow.
bool is_by_design(OffCause cause) {
  return cause == OffCause::kPcieOnly || cause == OffCause::kSpansNodes ||
         cause == OffCause::kWorldSize;
}

Finding custom_off(const serving::EngineLines& lines, const BackendOff& off) {
  const OffAdvice& why = advice_on(off.cause);
  const Instead instead = instead_of_custom(lines);
  const bool quotes = off.cause == OffCause::kSetupFailed || off.cause == OffCause::kOther;
  Finding finding = core::make_finding(
      "log.custom-all-reduce-off",
      fmt::format("the custom all-reduce is off: {}{}{}; {}", why.why,
                  off.cause == OffCause::kWorldSize ? ", here " + off.detail : "",
                  quotes && !off.detail.empty() ? " (" + off.detail + ")" : "", instead.text));
  if (!instead.is_nccl || is_by_design(off.cause)) finding.severity = core::Severity::kInfo;
  finding.confidence = why.confidence;
  finding.evidence.push_back(off.evidence);
  for (const BackendList& list : lines.lists)
    if (list.is_tensor_parallel() && !list.has("CUSTOM")) {
      finding.evidence.push_back(list.evidence);
      break;
    }
  if (off.cause == OffCause::kNoP2p && !lines.p2p_cache.empty())
    finding.evidence.push_back(lines.p2p_cache_line);
  finding.next = why.next;
  finding.next.push_back(price_command(lines));
  return finding;
}

// The start that a list belongs to: the last before it in its file, else the first behind.
const serving::EngineStart* start_of(const serving::EngineLines& lines, const BackendList& list) {
  const serving::EngineStart* found = nullptr;
  for (const serving::EngineStart& start : lines.starts) {
    if (start.evidence.source != list.evidence.source) continue;
    if (found == nullptr || start.evidence.line.value_or(0) <= list.evidence.line.value_or(0))
      found = &start;
  }
  return found;
}

// The list lacks CUSTOM and no line says why: a flag, or a single rank (which has no list).
std::optional<Finding> custom_absent(const serving::EngineLines& lines) {
  for (const BackendList& list : lines.lists) {
    if (!list.is_tensor_parallel() || list.has("CUSTOM") || !list.could_have("CUSTOM")) continue;
    if (is_mended(lines, "CUSTOM", list.evidence.source, list.last_line)) continue;
    const serving::EngineStart* start = start_of(lines, list);
    const bool by_flag = start != nullptr && start->custom_disabled.value_or(false);
    Finding finding = core::make_finding(
        "log.custom-all-reduce-absent",
        fmt::format("group {} reduces with {}, without the custom all-reduce{}", list.group,
                    fmt::join(list.built, ", "),
                    by_flag ? ": disable_custom_all_reduce is set"
                            : ", and no line says why: --disable-custom-all-reduce, or a line that "
                              "was cut"));
    finding.confidence = by_flag ? core::Confidence::kCertain : core::Confidence::kPossible;
    finding.evidence.push_back(list.evidence);
    finding.next = {
        "leave --disable-custom-all-reduce out (VLLM_BATCH_INVARIANT=1 sets it too), unless P2P "
        "hangs on this machine",
        price_command(lines)};
    return finding;
  }
  return std::nullopt;
}

// SGLang prints no list of backends, but the arguments of its server.
std::optional<Finding> switched_off(const serving::EngineLines& lines) {
  for (const serving::EngineStart& start : lines.starts) {
    if (start.engine != "SGLang" || !start.custom_disabled.value_or(false)) continue;
    if (start.attention_ranks().value_or(1) < 2 || start.only_prefills) continue;
    if (!serving::is_last_of_its_file(start, lines.starts)) continue;
    Finding finding =
        core::make_finding("log.custom-all-reduce-absent",
                           fmt::format("SGLang with TP {} runs without the custom all-reduce: "
                                       "disable_custom_all_reduce is set",
                                       *start.tensor_parallel));
    finding.confidence = core::Confidence::kCertain;
    finding.evidence.push_back(start.evidence);
    finding.next = {"leave --disable-custom-all-reduce out, unless P2P hangs on this machine",
                    price_command(lines)};
    return finding;
  }
  return std::nullopt;
}

// A GPU that is not in its table never has it; nobody can change that.
bool could_be_on(OffCause cause) {
  return cause == OffCause::kSymmMulticast || cause == OffCause::kSymmFailed;
}

Finding symm_off(const BackendOff& off) {
  Finding finding = core::make_finding(
      "log.symm-mem-off", off.cause == OffCause::kSymmMulticast
                              ? "torch symmetric memory is off: no multicast between the GPUs; "
                                "messages above the limit "
                                "of the custom all-reduce go to NCCL"
                              : fmt::format("torch symmetric memory is off: {}", off.detail));
  finding.evidence.push_back(off.evidence);
  finding.confidence = core::Confidence::kLikely;
  finding.next = {"systemctl status nvidia-fabricmanager   (NVSwitch machines)",
                  "nvidia-smi -q | grep -i -A3 fabric"};
  return finding;
}

// Prefills send messages above every limit of the custom kernel: what they lack costs nothing.
bool costs_a_prefill(OffCause cause) {
  return cause == OffCause::kNoP2p || cause == OffCause::kSetupFailed;
}

// The backends of the start-up.
Judgement judge_backends(const serving::EngineFacts& facts) {
  const serving::EngineLines& lines = facts.lines;
  const bool decodes = !only_prefills(facts);
  Judgement judgement;
  bool says_why = false;
  for (const BackendOff& off : lines.off) {
    if (is_mended(lines, off.backend, off.evidence.source, off.evidence.line.value_or(0))) continue;
    if (off.backend == "CUSTOM" && !decodes && !costs_a_prefill(off.cause)) continue;
    if (off.backend == "CUSTOM") {
      judgement.findings.push_back(custom_off(lines, off));
      says_why = true;
    }
    if (off.backend == "SYMM_MEM" && could_be_on(off.cause))
      judgement.findings.push_back(symm_off(off));
  }
  if (!says_why && decodes)
    for (const auto& rule : {custom_absent, switched_off})
      if (auto finding = rule(lines)) {
        judgement.findings.push_back(*std::move(finding));
        break;
      }
  return judgement;
}

}  // namespace

Judgement judge_engine(const serving::EngineFacts& facts) {
  Judgement judgement = judge_engine_failures(facts.failures);
  judgement.add(judge_backends(facts));
  judgement.add(judge_engine_experts(facts));
  judgement.add(judge_engine_kv(facts.kv));
  return judgement;
}

}  // namespace comm_probe::diagnose
