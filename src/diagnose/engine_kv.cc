#include "diagnose/engine_kv.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/transfer_transport.h"
#include "model/kv_transfer.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;

constexpr double kPostingShare = 0.3;  // of a transfer: kv-transfer.md section 7, check 2

bool is_descriptor_bound(const serving::KvTransfers& transfers) {
  return transfers.post / transfers.time > kPostingShare;
}

Finding descriptor_bound(const serving::KvTransfers& transfers) {
  std::string pieces;
  if (transfers.descriptors > 0)
    pieces = fmt::format(
        ": {} descriptors of {}", transfers.descriptors,
        core::format_bytes(transfers.bytes / static_cast<double>(transfers.descriptors)));
  Finding finding = core::make_finding(
      "log.kv-descriptor-bound",
      fmt::format("of the {} that a KV transfer of {} takes, {} ({}) is posting{}",
                  core::format_duration(transfers.time), core::format_bytes(transfers.bytes),
                  core::format_duration(transfers.post),
                  core::format_percent(transfers.post / transfers.time), pieces));
  finding.observed = core::figure(transfers.bytes / transfers.time, core::Basis::kMeasured,
                                  "bytes of one transfer over its time");
  finding.evidence.push_back({transfers.file, transfers.line, transfers.text});
  finding.confidence = core::Confidence::kLikely;
  // few large ones: the time is not theirs
  const double small = model::kv_constant("small_descriptor").value;
  if (transfers.descriptors > 0 &&
      transfers.bytes.count() / static_cast<double>(transfers.descriptors) >= small) {
    finding.summary += ", too large to be the cause: a fixed cost of each transfer";
    finding.confidence = core::Confidence::kPossible;
    finding.next = {"top -H on the engine's host: is the thread that posts short of CPU?",
                    "comm-probe calc kv --model MODEL --tp N --nic NDR   (what it should take)"};
    return finding;
  }
  finding.next = {"larger blocks (--block-size 64) or cross-layer blocks: fewer descriptors",
                  "comm-probe calc kv --model MODEL --tp N --nic NDR --merge 2xLAYERS"};
  return finding;
}

// No NIC is known here. Below the first rate not even a slow one with RDMA is at work; the second
// is what one of 200 Gb/s would take, with bytes to spare.
constexpr double kUsualGBps = 25;
constexpr double kSlowRatio = 3;  // kv-transfer.md 7.11
constexpr double kLeastMiB = 16;  // below, fixed costs are much of the time
constexpr double kMiB = 1024.0 * 1024;

std::optional<Finding> slow_transfer(const serving::KvTransfers& transfers, KvCarrier carrier) {
  const core::Bandwidth rate = transfers.bytes / transfers.time;
  const bool is_tcp = rate.in_GBps() < model::kv_constant("tcp_rate").value;
  if (transfers.bytes.count() < kLeastMiB * kMiB || rate.in_GBps() * kSlowRatio >= kUsualGBps)
    return std::nullopt;
  Finding finding = core::make_finding(
      "log.kv-slow",
      fmt::format(
          "a KV transfer of {} takes {}: {}, {}", core::format_bytes(transfers.bytes),
          core::format_duration(transfers.time), core::format_bandwidth(rate),
          is_tcp ? "what TCP gives, not RDMA" : "a third and less of a NIC of 200 Gb/s or more"));
  if (!is_tcp) finding.severity = core::Severity::kInfo;
  finding.confidence = is_tcp ? core::Confidence::kLikely : core::Confidence::kPossible;
  finding.observed =
      core::figure(rate, core::Basis::kMeasured, "bytes of one transfer over its time");
  finding.evidence.push_back({transfers.file, transfers.line, transfers.text});
  finding.next = {who_picks_transport(carrier == KvCarrier::kMooncake ? "Mooncake" : "UCX")};
  if (carrier == KvCarrier::kUcx || carrier == KvCarrier::kUnknown)
    finding.next.emplace_back(
        "UCX_TLS and UCX_NET_DEVICES: is rc among them, and the GPU's own NIC?");
  finding.next.emplace_back(
      "comm-probe doctor LOG with ibstat's output beside it   (the NIC is known then)");
  return finding;
}

// doctor knows the NIC's rate and says more (kv.h); a log alone says at least this.
Finding staged(const serving::KvLines& kv) {
  Finding finding = core::make_finding(
      "log.kv-staged",
      "KV caches are staged in host memory (kv_buffer_device=cpu): one more PCIe copy on each end, "
      "and every byte crosses the host memory twice");
  finding.evidence.push_back({kv.config_file, kv.config_line, kv.config_text});
  finding.confidence = core::Confidence::kCertain;
  finding.next = {"kv_buffer_device=cuda, with nvidia_peermem or DMA-BUF on both ends",
                  "comm-probe calc kv --model MODEL --tp N --gpu H100 --nic NDR --path rdma   "
                  "(beside the same without --path)"};
  return finding;
}

// Neither setting nor lack of NVLink holds the transfers back that were seen.
bool is_disproved(const serving::KvLines& kv) {
  const double most_GBps =
      kv.tcp_only ? kUsualGBps / kSlowRatio : model::kv_constant("tcp_rate").value;
  return !kv.transfers.empty() &&
         std::all_of(kv.transfers.begin(), kv.transfers.end(), [&](const auto& transfers) {
           return (transfers.bytes / transfers.time).in_GBps() > most_GBps;
         });
}

// kv-transfer.md 4.2: both end below 1 GB/s. UCX carries other things too (MPI): without a sign of
// NIXL its settings say nothing of KV caches.
std::optional<Finding> without_rdma(const serving::KvLines& kv) {
  const bool is_nixl = carrier_of(kv) == KvCarrier::kUcx ||
                       (carrier_of(kv) == KvCarrier::kUnknown && !kv.transfers.empty());
  if (!(kv.tcp_only || kv.no_nvlink) || !is_nixl || is_disproved(kv)) return std::nullopt;
  const bool by_setting = kv.tcp_only.has_value();
  Finding finding = core::make_finding(
      "log.kv-without-rdma",
      by_setting ? "UCX_TLS names tcp and no transport of RDMA: KV caches between hosts go over TCP"
                 : "UCX switched zero-copy reads over cuda_ipc off, no NVLink was found: reads "
                   "between instances of this node are emulated, at about 0.5 GB/s");
  for (const auto& evidence : {kv.tcp_only, kv.no_nvlink})
    if (evidence) finding.evidence.push_back(*evidence);
  finding.confidence = core::Confidence::kLikely;
  if (by_setting && kv.tcp_only->text.find("cuda_ipc") != std::string::npos) {
    finding.severity = core::Severity::kInfo;
    finding.summary += "; those of one host go over cuda_ipc";
  }
  finding.next = {by_setting ? "leave UCX_TLS out, or add rc (and cuda_copy, cuda_ipc)"
                             : "pairs of instances on other nodes are not concerned; on this node "
                               "a connector that writes, or RDMA over the NIC",
                  "UCX_PROTO_INFO=y: which transport carries the reads? tcp is the fault"};
  return finding;
}

Finding local_handshake(const serving::KvLines& kv) {
  Finding finding = core::make_finding(
      "log.kv-side-channel-local",
      "a handshake of the KV connector failed on this host's own address: the other instance told "
      "its side channel as localhost");
  finding.evidence.push_back(*kv.local_handshake);
  finding.confidence = core::Confidence::kLikely;
  finding.next = {
      "VLLM_NIXL_SIDE_CHANNEL_HOST=<address that the other host reaches> on both instances",
      "instances of one host: is the port (VLLM_NIXL_SIDE_CHANNEL_PORT, 5600) that of the other?"};
  return finding;
}

// One finding: the first file that says it.
template <typename Rule>
void add_first(const serving::KvLines& kv, Judgement& judgement, Rule rule) {
  for (const serving::KvTransfers& transfers : kv.transfers)
    if (std::optional<Finding> finding = rule(transfers)) {
      judgement.findings.push_back(*std::move(finding));
      return;
    }
}

}  // namespace

KvCarrier carrier_of(const serving::KvLines& kv) {
  const auto has = [&kv](std::string_view word) {
    return kv.connector.find(word) != std::string::npos;
  };
  if (kv.connector.empty()) return KvCarrier::kUnknown;
  if (has("Nixl") || has("nixl")) return KvCarrier::kUcx;
  if (has("Mooncake") || has("mooncake")) return KvCarrier::kMooncake;
  return has("Nccl") ? KvCarrier::kNccl : KvCarrier::kNoNetwork;
}

Judgement judge_engine_kv(const serving::KvLines& kv) {
  Judgement judgement;
  const KvCarrier carrier = carrier_of(kv);
  if (carrier != KvCarrier::kNoNetwork) {
    add_first(kv, judgement, [](const serving::KvTransfers& one) -> std::optional<Finding> {
      if (!is_descriptor_bound(one)) return std::nullopt;
      return descriptor_bound(one);
    });
    add_first(kv, judgement, [&](const serving::KvTransfers& one) -> std::optional<Finding> {
      if (kv.buffer == "cpu" || is_descriptor_bound(one)) return std::nullopt;
      return slow_transfer(one, carrier);
    });
  }
  if (kv.buffer == "cpu") judgement.findings.push_back(staged(kv));
  if (auto finding = without_rdma(kv)) judgement.findings.push_back(*std::move(finding));
  if (kv.local_handshake) judgement.findings.push_back(local_handshake(kv));
  return judgement;
}

}  // namespace comm_probe::diagnose
