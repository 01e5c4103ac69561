#include "diagnose/kv.h"

#include <fmt/format.h>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/engine_kv.h"
#include "model/kv_transfer.h"

namespace comm_probe::diagnose {
namespace {

// Over the time of the bytes, without the fixed cost of a transfer: Mooncake reaches 1.3 to 1.4 at
// 32k tokens (kv-transfer.md section 7, check 11).
constexpr double kHealthyRatio = 1.4;
constexpr double kPostingShare = 0.3;  // more of the time: too many small descriptors (nixlbench)

bool is_staged(const serving::KvLines& lines) { return lines.buffer == "cpu"; }

core::Duration fixed_cost() { return core::Duration::from_us(model::kv_constant("fixed").value); }

std::string reason_of(const serving::KvLines& lines, const serving::KvTransfers& transfers) {
  if (is_staged(lines))
    return "kv_buffer_device=cpu stages it in host memory: one more PCIe copy on each end, and "
           "every byte crosses the host memory twice";
  if (transfers.post / transfers.time > kPostingShare)
    return fmt::format("{} of it is posting: too many small descriptors",
                       core::format_duration(transfers.post));
  return "look for GPUDirect RDMA (peermem, DMA-BUF), the NIC that UCX takes, GPU and NIC at PIX";
}

core::Finding slow(const serving::KvLines& lines, const serving::KvTransfers& transfers,
                   core::Bandwidth nic) {
  const core::Bandwidth rate = transfers.bytes / transfers.time;
  core::Finding finding = core::make_finding(
      "job.kv-slow",
      fmt::format(
          "KV transfers of {} per rank take {}, {} of the {} that the GPU's own NIC carries "
          "(it would take {} and some {} of fixed cost); {}",
          core::format_bytes(transfers.bytes), core::format_duration(transfers.time),
          core::format_bandwidth(rate), core::format_bandwidth(nic),
          core::format_duration(transfers.bytes / nic), core::format_duration(fixed_cost()),
          reason_of(lines, transfers)));
  finding.expected = core::figure(nic, core::Basis::kRead, "port of one GPU's NIC");
  finding.observed = core::figure(rate, core::Basis::kMeasured, transfers.file);
  finding.evidence.push_back({transfers.file, transfers.line, transfers.text});
  if (!lines.connector.empty())
    finding.evidence.push_back({lines.config_file, lines.config_line, lines.config_text});
  finding.confidence = is_staged(lines) ? core::Confidence::kLikely : core::Confidence::kPossible;
  if (lines.buffer != "cuda")
    finding.next.emplace_back("kv_buffer_device=cuda, with nvidia_peermem or DMA-BUF on both ends");
  for (const char* next :
       {"ib_read_bw -d DEV --use_cuda=0 --report_gbits from decode to prefill: the READ "
        "that the decode side makes",
        "comm-probe topo check   (GPU and NIC at PIX)"})
    finding.next.emplace_back(next);
  return finding;
}

}  // namespace

Judgement judge_kv(const serving::KvLines& lines, std::optional<core::Bandwidth> nic) {
  Judgement judgement;
  if (!nic || nic->in_bytes_per_second() <= 0) return judgement;
  if (carrier_of(lines) == KvCarrier::kNoNetwork) return judgement;
  for (const serving::KvTransfers& transfers : lines.transfers) {
    if (transfers.time - fixed_cost() <= transfers.bytes / *nic * kHealthyRatio) continue;
    judgement.findings.push_back(slow(lines, transfers, *nic));
    break;
  }
  return judgement;
}

}  // namespace comm_probe::diagnose
