#include "cli/gpu_links_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/host_view.h"
#include "cli/link_tests_view.h"
#include "core/units.h"
#include "diagnose/gpu_links.h"

namespace comm_probe::cli {
namespace {

using measure::GpuCost;
using measure::GpuDevice;
using measure::GpuLink;
using measure::GpuLinkKind;
using measure::GpuLinks;
using topology::Survey;

std::string rate_text(const std::optional<core::Sourced<core::Bandwidth>>& rate) {
  return rate ? core::format_bandwidth(rate->value) : "";
}

std::string how_text(const GpuLink& link) {
  if (link.memory != measure::HostMemory::kNone) return measure::host_memory_name(link.memory);
  if (link.peer_mode == measure::PeerMode::kThroughHost) return "through host";
  return link.mover == measure::Mover::kKernel ? "kernel" : "engine";
}

// With more GPUs a line per link is for --explain, and the page shows a line per kind of links.
constexpr std::size_t kMostInFull = 2;

core::Table links_table(const GpuLinks& links, const std::optional<Survey>& survey) {
  using Align = core::Column::Align;
  core::Table table{{{"link", Align::kLeft},
                     {"kind", Align::kLeft},
                     {"by", Align::kLeft},
                     {"alpha"},
                     {"beta", Align::kRight, 5},
                     {"rate"},
                     {"carries"},
                     {"share"},
                     {"spread"}},
                    {}};
  for (const GpuLink& link : links.links) {
    const auto ceiling = diagnose::ceiling_of(link, links, survey);
    table.rows.push_back(
        {link.name(), measure::gpu_link_kind_name(link.kind), how_text(link),
         link.alpha ? core::format_duration(link.alpha->value) : "", rate_text(link.beta),
         rate_text(link.rate), ceiling ? core::format_bandwidth(ceiling->rate.value) : "",
         ceiling ? core::format_percent(link.rate->value / ceiling->rate.value, 3) : "",
         spread_text(link.seconds)});
  }
  return table;
}

core::Table costs_table(const GpuLinks& links) {
  using Align = core::Column::Align;
  core::Table table{
      {{"cost", Align::kLeft}, {"size"}, {"time"}, {"spread"}, {"what", Align::kLeft, 4}}, {}};
  for (const GpuCost& cost : links.costs) {
    if (links.devices.size() > kMostInFull && cost.gpu != 0) continue;  // --json has all
    table.rows.push_back(
        {links.devices.size() > 1 ? fmt::format("GPU {}: {}", cost.gpu, cost.name) : cost.name,
         cost.bytes ? core::format_bytes(*cost.bytes) : "",
         core::format_duration(core::Duration::from_seconds(cost.seconds.median)),
         spread_text(cost.seconds), cost.what});
  }
  return table;
}

// "Pinning host memory costs 9.7 us and 110 ms per GiB (0.42 us per page of 4 KiB)."
std::string pinning_text(const measure::GpuLine& line) {
  if (!line.beta) return "";
  const auto of = [&line](core::Bytes bytes) {
    return core::format_duration(bytes / line.beta->value);
  };
  const std::string fixed =
      line.alpha ? core::format_duration(line.alpha->value) + " and " : std::string();
  return fmt::format("Pinning host memory costs {}{} per GiB ({} per page of 4 KiB).", fixed,
                     of(core::Bytes::of(std::uint64_t{1} << 30)), of(core::Bytes::of(4096)));
}

std::string device_text(const GpuDevice& device) {
  return fmt::format("{}, {}, compute capability {}.{}, {} copy engines; {}{}", device.name,
                     device.bus_id, device.sm / 10, device.sm % 10, device.copy_engines,
                     device.dma_buf ? "DMA-BUF works" : "no DMA-BUF",
                     device.dma_buf_error.empty() ? "" : " (" + device.dma_buf_error + ")");
}

core::KeyValues devices_block(const GpuLinks& links) {
  core::KeyValues block;
  for (const GpuDevice& device : links.devices)
    block.rows.emplace_back(fmt::format("GPU {}", device.index), device_text(device));
  block.rows.emplace_back("driver", "CUDA " + links.driver);
  return block;
}

bool has_kind(const GpuLinks& links, GpuLinkKind kind) {
  return std::any_of(links.links.begin(), links.links.end(),
                     [kind](const GpuLink& link) { return link.kind == kind; });
}

std::string explanation(const GpuLinks& links) {
  std::string text =
      "rate: large copies in a row, GPU time (nvbandwidth's method); alpha and beta: one copy of n "
      "bytes, as the host waits for it. carries: PCIe after packet overhead, half of the memory's "
      "bandwidth inside a GPU, NVLink nominal.";
  if (has_kind(links, GpuLinkKind::kLocalCopy))
    text +=
        " A local copy counts its bytes once; nvbandwidth counts reading and writing, twice as "
        "much.";
  if (links.devices.size() == 1 && has_kind(links, GpuLinkKind::kLocalCopy))
    text += " One GPU: the matrix of pairs has only the entry of the GPU with itself.";
  return text;
}

}  // namespace

std::vector<core::Block> gpu_link_blocks(const GpuLinks& links,
                                         const std::optional<Survey>& survey) {
  const bool is_in_full = links.devices.size() <= kMostInFull;
  std::vector<core::Block> blocks = {core::Heading{"GPUs"}, devices_block(links),
                                     core::Heading{"Links of the GPUs"}};
  if (is_in_full)
    blocks.emplace_back(links_table(links, survey));
  else
    blocks.emplace_back(link_matrices_table(diagnose::link_test_of(links)));
  blocks.emplace_back(core::Paragraph{explanation(links)});
  if (!links.costs.empty()) {
    blocks.emplace_back(core::Heading{"What starting work and sharing memory costs"});
    blocks.emplace_back(costs_table(links));
    if (const std::string pinning = pinning_text(links.pinning); !pinning.empty())
      blocks.emplace_back(core::Paragraph{pinning});
  }
  blocks.emplace_back(
      core::Paragraph{fmt::format("Measured in {}.", core::format_duration(links.took))});
  return blocks;
}

std::vector<core::Block> gpu_link_details(const GpuLinks& links,
                                          const std::optional<Survey>& survey) {
  std::vector<core::Block> blocks;
  if (links.devices.size() > kMostInFull) {
    blocks.emplace_back(core::Heading{"Every link"});
    blocks.emplace_back(links_table(links, survey));
  }
  for (const GpuLink& link : links.links) {
    if (link.points.empty()) continue;
    blocks.emplace_back(core::Heading{fmt::format("{}, {}", link.name(), how_text(link))});
    core::Table table{{{"size"}, {"time"}, {"bandwidth"}, {"spread"}}, {}};
    for (const measure::GpuPoint& point : link.points)
      table.rows.push_back(
          {core::format_bytes(point.bytes),
           core::format_duration(core::Duration::from_seconds(point.seconds.median)),
           core::format_bandwidth(point.bytes / core::Duration::from_seconds(point.seconds.median)),
           spread_text(point.seconds)});
    blocks.emplace_back(std::move(table));
  }
  const curve::LinkTest test = diagnose::link_test_of(links);
  for (auto& block : link_test_details({&test})) blocks.push_back(std::move(block));
  return blocks;
}

}  // namespace comm_probe::cli
