#include "diagnose/gpu_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "catalog/catalog.h"
#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/link_tests.h"
#include "topology/standard_links.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using core::Sourced;
using curve::LinkMatrix;
using measure::GpuLink;
using measure::GpuLinkKind;
using measure::GpuLinks;
using topology::Survey;
using topology::SurveyDevice;

const SurveyDevice* device_of(int gpu, const GpuLinks& links, const Survey& survey) {
  const std::string& bus_id = links.devices[static_cast<std::size_t>(gpu)].bus_id;
  for (const SurveyDevice& device : survey.devices)
    if (device.kind == SurveyDevice::Kind::kGpu && !bus_id.empty() &&
        topology::normal_bus_id(device.bus_id) == topology::normal_bus_id(bus_id))
      return &device;
  return nullptr;
}

std::optional<GpuCeiling> slot_ceiling(const GpuLink& link, const GpuLinks& links,
                                       const Survey& survey) {
  const SurveyDevice* device = device_of(link.gpu, links, survey);
  if (device == nullptr) return std::nullopt;
  const double ways = link.kind == GpuLinkKind::kHostBothWays ? 2 : 1;
  auto slot = topology::standard_pcie({device->trained.speed, device->trained.width.value_or(0)});
  // An idle GPU lowers its link: what it carried a moment ago it was trained for.
  if (slot && link.rate->value > slot->raw().value * ways) slot.reset();
  if (!slot) slot = topology::standard_pcie(device->slot);
  if (!slot) return std::nullopt;
  const auto effective = slot->effective();
  return GpuCeiling{{effective.value * ways, effective.basis, effective.source},
                    "PCIe " + slot->name()};
}

std::optional<GpuCeiling> memory_ceiling(const GpuLink& link, const GpuLinks& links) {
  const std::string& name = links.devices[static_cast<std::size_t>(link.gpu)].name;
  const catalog::Gpu* gpu = catalog::Catalog::builtin().find_gpu(name);
  if (gpu == nullptr || gpu->memory_bandwidth.value <= core::Bandwidth()) return std::nullopt;
  return GpuCeiling{{gpu->memory_bandwidth.value * 0.5, core::Basis::kCatalog, gpu->source},
                    "memory, read and written"};
}

std::optional<GpuCeiling> road_ceiling(const GpuLink& link, const GpuLinks& links,
                                       const Survey& survey) {
  const SurveyDevice* from = device_of(link.gpu, links, survey);
  const SurveyDevice* to = device_of(*link.peer, links, survey);
  if (from == nullptr || to == nullptr || link.peer_mode != measure::PeerMode::kDirect)
    return std::nullopt;
  const auto* road = survey.road(static_cast<int>(from - survey.devices.data()),
                                 static_cast<int>(to - survey.devices.data()));
  if (road == nullptr || !road->nominal) return std::nullopt;
  const double ways = link.kind == GpuLinkKind::kPeerBothWays ? 2 : 1;
  return GpuCeiling{{*road->nominal * ways, core::Basis::kComputed, "the standard, nominal"},
                    road->nvlinks > 0 ? fmt::format("{} NVLinks", road->nvlinks)
                                      : std::string("PCIe, narrowest link")};
}

core::Figure figure_of(const Sourced<core::Bandwidth>& rate) {
  return {rate.value.in_GBps(), "GB/s", rate.basis, rate.source};
}

std::string label(const GpuLink& link) {
  return fmt::format("{} ({})", link.name(), measure::gpu_link_kind_name(link.kind));
}

bool is_from_pinned_host(const GpuLink& link, GpuLinkKind kind, int gpu) {
  return link.kind == kind && link.gpu == gpu && !link.peer &&
         link.memory == measure::HostMemory::kPinned && link.mover != measure::Mover::kKernel &&
         link.rate;
}

// Each of the two directions alone reaches what the slot carries.
bool ways_are_sound(const GpuLink& both, const GpuLinks& links,
                    const std::optional<Survey>& survey) {
  for (const GpuLinkKind kind : {GpuLinkKind::kHostToDevice, GpuLinkKind::kDeviceToHost}) {
    const auto way = std::find_if(links.links.begin(), links.links.end(), [&](const GpuLink& link) {
      return is_from_pinned_host(link, kind, both.gpu);
    });
    if (way == links.links.end()) return false;
    const auto ceiling = ceiling_of(*way, links, survey);
    if (!ceiling || way->rate->value < ceiling->rate.value * kBelowSlot) return false;
  }
  return true;
}

void say_ways_share(const GpuLink& link, const GpuCeiling& ceiling, LinkJudgement& judgement) {
  Finding finding = core::make_finding(
      "link.gpu-ways-share",
      fmt::format("each direction between host and GPU {} carries what {} can, both together {}, "
                  "{} of twice that: host memory, the IOMMU or the hypervisor, not the slot",
                  link.gpu, ceiling.name, core::format_bandwidth(link.rate->value),
                  core::format_percent(link.rate->value / ceiling.rate.value, 2)));
  finding.expected = figure_of(ceiling.rate);
  finding.observed = figure_of(*link.rate);
  finding.confidence = core::Confidence::kLikely;
  finding.next = {"comm-probe topo show   (the GPU's NUMA node; numactl -N NODE)"};
  judgement.findings.push_back(std::move(finding));
}

void judge_ceiling(const GpuLink& link, const GpuLinks& links, const std::optional<Survey>& survey,
                   LinkJudgement& judgement) {
  const auto ceiling = ceiling_of(link, links, survey);
  const bool is_host = !link.peer.has_value();
  const bool is_inside = link.peer == link.gpu;
  if (!ceiling || is_inside || link.mover == measure::Mover::kKernel ||
      link.memory == measure::HostMemory::kPageable)
    return;
  const double share = link.rate->value / ceiling->rate.value;
  if (share >= (is_host ? kBelowSlot : kBelowLinks)) return;
  if (link.kind == GpuLinkKind::kHostBothWays && ways_are_sound(link, links, survey))
    return say_ways_share(link, *ceiling, judgement);
  Finding finding = core::make_finding(
      is_host ? "link.gpu-below-slot" : "link.gpu-pair-below-links",
      fmt::format("{} reaches {}, {} of the {} that {} carries", label(link),
                  core::format_bandwidth(link.rate->value), core::format_percent(share, 2),
                  core::format_bandwidth(ceiling->rate.value), ceiling->name));
  finding.expected = figure_of(ceiling->rate);
  finding.observed = figure_of(*link.rate);
  finding.confidence = core::Confidence::kLikely;
  finding.next = {is_host ? fmt::format("nvidia-smi -q -i {} | grep -A12 'GPU Link Info'", link.gpu)
                          : fmt::format("nvidia-smi nvlink -s -i {}", link.gpu)};
  judgement.findings.push_back(std::move(finding));
}

using MatrixKey = std::tuple<GpuLinkKind, measure::Mover, measure::HostMemory, measure::PeerMode>;

// What nvbandwidth calls it ("{}" is "ce" or "sm"); our own word where it has none.
struct MatrixName {
  GpuLinkKind kind;
  curve::MatrixKind as;
  const char* name;
};
constexpr MatrixName kMatrixNames[] = {
    {GpuLinkKind::kHostToDevice, curve::MatrixKind::kHostToDevice, "host_to_device_memcpy_{}"},
    {GpuLinkKind::kDeviceToHost, curve::MatrixKind::kDeviceToHost, "device_to_host_memcpy_{}"},
    {GpuLinkKind::kHostBothWays, curve::MatrixKind::kHostToDevice,
     "host_device_bidirectional_memcpy_{}"},
    {GpuLinkKind::kLocalCopy, curve::MatrixKind::kLocalCopy, "device_local_copy_{}"},
    {GpuLinkKind::kPeerWrite, curve::MatrixKind::kDeviceToDevice,
     "device_to_device_memcpy_write_{}"},
    {GpuLinkKind::kPeerRead, curve::MatrixKind::kDeviceToDevice, "device_to_device_memcpy_read_{}"},
    {GpuLinkKind::kPeerBothWays, curve::MatrixKind::kDeviceToDevice,
     "device_to_device_bidirectional_memcpy_{}"},
    {GpuLinkKind::kCopyLatency, curve::MatrixKind::kPeerLatency, "device_to_device_latency_{}"},
    {GpuLinkKind::kLoadLatency, curve::MatrixKind::kPeerLatency, "device_to_device_latency_{}"},
    {GpuLinkKind::kStoreLatency, curve::MatrixKind::kPeerLatency,
     "device_to_device_latency_store_{}"},
};

curve::PeerAccess access_of(const GpuLink& link) {
  switch (link.peer_mode) {
    case measure::PeerMode::kNone:
      return curve::PeerAccess::kNotSaid;
    case measure::PeerMode::kDirect:
      return curve::PeerAccess::kEnabled;
    case measure::PeerMode::kThroughHost:
      return curve::PeerAccess::kDisabled;
  }
  return curve::PeerAccess::kNotSaid;
}

// A row per GPU, too; else one row for the host, or for each GPU with itself.
bool is_square(const GpuLink& link) { return link.peer && link.kind != GpuLinkKind::kLocalCopy; }

void name_matrix(const GpuLink& link, LinkMatrix& matrix) {
  const bool by_kernel = link.mover == measure::Mover::kKernel;
  for (const MatrixName& known : kMatrixNames) {
    if (known.kind != link.kind) continue;
    matrix.kind = known.as;
    matrix.name = fmt::format(fmt::runtime(known.name), by_kernel ? "sm" : "ce");
  }
  if (link.peer_mode == measure::PeerMode::kThroughHost)
    matrix.name = "device_to_device_memcpy_through_host";
  if (link.kind == GpuLinkKind::kLoadLatency && !link.peer) matrix.name = "host_device_latency_sm";
  if (link.memory == measure::HostMemory::kPageable) {
    matrix.kind = curve::MatrixKind::kOther;  // no rule holds it against a slot
    matrix.name += "_pageable";
  }
}

LinkMatrix empty_matrix(const GpuLink& link, std::size_t gpus) {
  LinkMatrix matrix;
  matrix.engine = link.mover == measure::Mover::kKernel ? curve::CopyEngine::kMultiprocessors
                                                        : curve::CopyEngine::kCopyEngine;
  matrix.peer_access = access_of(link);
  matrix.reads = link.kind == GpuLinkKind::kPeerRead;
  matrix.bidirectional =
      link.kind == GpuLinkKind::kHostBothWays || link.kind == GpuLinkKind::kPeerBothWays;
  name_matrix(link, matrix);
  matrix.unit = link.rate ? curve::CellUnit::kGBps : curve::CellUnit::kUs;
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    matrix.columns.push_back(static_cast<int>(gpu));
    if (is_square(link)) matrix.rows.push_back(static_cast<int>(gpu));
  }
  if (!is_square(link)) matrix.rows = {0};
  matrix.cells.resize(matrix.rows.size() * matrix.columns.size());
  matrix.row_lines.resize(matrix.rows.size());
  return matrix;
}

void put(const GpuLink& link, LinkMatrix& matrix) {
  const double value = link.rate ? link.rate->value.in_GBps() : link.alpha->value.in_us();
  const std::size_t columns = matrix.columns.size();
  const auto gpu = static_cast<std::size_t>(link.gpu);
  const auto peer = static_cast<std::size_t>(link.peer.value_or(0));
  matrix.cells[is_square(link) ? gpu * columns + peer : gpu] = value;
  const bool is_mutual =
      link.kind == GpuLinkKind::kPeerBothWays || link.kind == GpuLinkKind::kStoreLatency;
  if (is_mutual) matrix.cells[peer * columns + gpu] = value;
}

void judge_use(const GpuLinks& links, LinkJudgement& judgement) {
  for (const measure::GpuDevice& device : links.devices) {
    if (device.busy_percent.value_or(0) < kBusyPercent) continue;
    const int processes = device.processes.value_or(0);
    judgement.caveats.push_back(core::make_caveat(
        "link.gpu-busy",
        fmt::format("GPU {} alone: it was {} % busy for others before it was measured{}",
                    device.index, *device.busy_percent,
                    processes == 0
                        ? std::string()
                        : fmt::format(" ({} process{})", processes, processes == 1 ? "" : "es")),
        "small operations wait for the others' time slices (2 ms each), large ones share the "
        "bandwidth"));
  }
}

}  // namespace

std::optional<GpuCeiling> ceiling_of(const GpuLink& link, const GpuLinks& links,
                                     const std::optional<Survey>& survey) {
  if (!link.rate || link.rate->value <= core::Bandwidth()) return std::nullopt;
  if (link.kind == GpuLinkKind::kLocalCopy) return memory_ceiling(link, links);
  if (!survey) return std::nullopt;
  return link.peer ? road_ceiling(link, links, *survey) : slot_ceiling(link, links, *survey);
}

curve::LinkTest link_test_of(const GpuLinks& links) {
  curve::LinkTest test;
  test.tool = curve::LinkTool::kNvbandwidth;
  test.program = "link";
  test.title = "measured by comm-probe link";
  test.file = "link";
  for (const measure::GpuDevice& device : links.devices)
    test.devices.push_back({device.index, device.name, device.bus_id});
  std::map<MatrixKey, std::size_t> place;
  for (const GpuLink& link : links.links) {
    const auto [at, is_new] = place.try_emplace(
        MatrixKey{link.kind, link.mover, link.memory, link.peer_mode}, test.matrices.size());
    if (is_new) test.matrices.push_back(empty_matrix(link, links.devices.size()));
    put(link, test.matrices[at->second]);
  }
  for (const measure::GpuPeer& peer : links.peers)
    if (!peer.is_direct) test.denied_peers.push_back({peer.from, peer.to, 0});
  return test;
}

LinkJudgement judge_gpu_links(const GpuLinks& links, const std::optional<Survey>& survey) {
  LinkJudgement judgement;
  judgement.caveats = links.caveats;
  judge_use(links, judgement);
  for (const GpuLink& link : links.links) judge_ceiling(link, links, survey, judgement);
  Judgement like_nvbandwidth = judge_link_test(link_test_of(links), {});
  judgement.findings.insert(judgement.findings.end(), like_nvbandwidth.findings.begin(),
                            like_nvbandwidth.findings.end());
  judgement.caveats.insert(judgement.caveats.end(), like_nvbandwidth.caveats.begin(),
                           like_nvbandwidth.caveats.end());
  return judgement;
}

}  // namespace comm_probe::diagnose
