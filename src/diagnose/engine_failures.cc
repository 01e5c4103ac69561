#include "diagnose/engine_failures.h"

#include <fmt/format.h>

#include "core/finding_table.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using serving::EngineFailure;
using serving::EngineFailures;
using serving::FailureKind;

std::string lines_of(std::uint64_t times) {
  return fmt::format("{} line{}", times, times == 1 ? "" : "s");
}

struct AllReduceText {
  std::string what;
  std::vector<std::string> next;
};
AllReduceText all_reduce_text(const EngineFailure& failure) {
  switch (failure.kind) {
    case FailureKind::kAllReduceLength:
      return {fmt::format("a message whose length is no multiple of {} elements", failure.detail),
              {"pad the hidden size or the batch, or --disable-custom-all-reduce"}};
    case FailureKind::kAllReduceRankData:
      return {fmt::format("{} captured addresses more than its table holds", failure.detail),
              {"capture fewer batch sizes (--cuda-graph-sizes), or --disable-custom-all-reduce"}};
    default:
      return {"a buffer that was not registered with the other ranks",
              {"all ranks capture the same graphs? a tensor of another pool? else "
               "--disable-custom-all-reduce"}};
  }
}

Finding all_reduce_failed(const EngineFailure& failure) {
  AllReduceText text = all_reduce_text(failure);
  Finding finding = core::make_finding(
      "log.custom-all-reduce-failed",
      fmt::format("the custom all-reduce refused {} ({})", text.what, lines_of(failure.times)));
  finding.confidence = core::Confidence::kCertain;
  finding.evidence.push_back(failure.evidence);
  finding.next = std::move(text.next);
  return finding;
}

void add_nic(const EngineFailure& nic, Finding& finding) {
  finding.summary +=
      fmt::format("; the NIC{} answered '{}' ({})", nic.nic.empty() ? "" : " " + nic.nic,
                  nic.detail, lines_of(nic.times));
  finding.evidence.push_back(nic.evidence);
  if (nic.detail.find("protection") != std::string::npos)
    finding.next.emplace_back(
        "memory that this NIC does not know: all NICs in both containers (ibv_devinfo)? GID 0 "
        "link-local (show_gids)? memlock unlimited (ulimit -l)?");
  if (nic.detail.find("retry") != std::string::npos)
    finding.next.emplace_back(
        "the other end does not answer: is it alive, does the path carry RDMA (ib_write_bw between "
        "the two hosts), RoCE: PFC, GID");
}

std::string how_many(const EngineFailures& failures, const EngineFailure* transfer) {
  if (failures.failed_transfers.number > 0)
    return fmt::format("{} KV transfer{} failed", failures.failed_transfers.number,
                       failures.failed_transfers.number == 1 ? "" : "s");
  return fmt::format("KV transfers failed ({})",
                     lines_of(transfer == nullptr ? 0 : transfer->times));
}

std::optional<Finding> transfers_failed(const EngineFailures& failures) {
  const EngineFailure* transfer = failures.find(FailureKind::kKvTransfer);
  const EngineFailure* lost = failures.find(FailureKind::kKvPeerLost);
  const EngineFailure* nic = failures.find(FailureKind::kKvNic);
  if (transfer == nullptr && lost == nullptr && nic == nullptr &&
      failures.failed_transfers.number == 0)
    return std::nullopt;
  Finding finding = core::make_finding("log.kv-transfer-failed", "");
  finding.confidence = core::Confidence::kCertain;
  if (transfer != nullptr || failures.failed_transfers.number > 0)
    finding.summary = how_many(failures, transfer);
  else
    finding.summary =
        lost != nullptr ? "a prefill instance was lost" : "slices of KV transfers failed";
  if (failures.failed_transfers.number > 0)
    finding.evidence.push_back(failures.failed_transfers.evidence);
  if (transfer != nullptr) {
    if (!transfer->detail.empty()) finding.summary += ": " + transfer->detail;
    finding.evidence.push_back(transfer->evidence);
  }
  if (lost != nullptr) {
    finding.summary += fmt::format("; no heartbeat from the prefill instance {}", lost->detail);
    finding.evidence.push_back(lost->evidence);
    finding.next.emplace_back("the log of that prefill instance: did it end first?");
  }
  for (const EngineFailure& one : failures.all)
    if (one.kind == FailureKind::kKvNic) add_nic(one, finding);
  finding.next.emplace_back("the log of the other side at the same time: who failed first?");
  finding.next.emplace_back("comm-probe topo check --net   (ports, GID, counters of both hosts)");
  return finding;
}

Finding vram_as_host(const EngineFailure& failure) {
  Finding finding = core::make_finding(
      "log.kv-vram-as-host",
      fmt::format("UCX takes GPU memory for host memory, NIXL cannot register it ({})",
                  lines_of(failure.times)));
  finding.confidence = core::Confidence::kCertain;
  finding.evidence.push_back(failure.evidence);
  finding.next = {
      "echo $UCX_TLS in the container: a list without cuda_copy hides the GPU (unset it, or add "
      "cuda_copy,cuda_ipc)",
      "ucx_info -d | grep -i cuda   (nothing: this UCX was built without CUDA)"};
  return finding;
}

Finding expired(const serving::KvCount& count) {
  Finding finding = core::make_finding(
      "log.kv-expired",
      fmt::format("the KV blocks of {} request{} were freed before the decode side had read them",
                  count.number, count.number == 1 ? "" : "s"));
  finding.confidence = core::Confidence::kCertain;
  finding.evidence.push_back(count.evidence);
  finding.next = {
      "does the decode side reach the prefill host (VLLM_NIXL_SIDE_CHANNEL_HOST is not localhost)?",
      "is its queue longer than the lease (kv_lease_duration, VLLM_NIXL_ABORT_REQUEST_TIMEOUT)?"};
  return finding;
}

bool is_of_all_reduce(FailureKind kind) {
  return kind == FailureKind::kAllReduceLength || kind == FailureKind::kAllReduceBuffer ||
         kind == FailureKind::kAllReduceRankData;
}

}  // namespace

Judgement judge_engine_failures(const EngineFailures& failures) {
  Judgement judgement;
  for (const EngineFailure& failure : failures.all)
    if (is_of_all_reduce(failure.kind)) judgement.findings.push_back(all_reduce_failed(failure));
  if (auto finding = transfers_failed(failures)) judgement.findings.push_back(*std::move(finding));
  if (const EngineFailure* vram = failures.find(FailureKind::kVramAsHost))
    judgement.findings.push_back(vram_as_host(*vram));
  if (failures.expired_requests.number > 0)
    judgement.findings.push_back(expired(failures.expired_requests));
  return judgement;
}

}  // namespace comm_probe::diagnose
