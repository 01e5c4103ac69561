// Matrices of GPUs against the machine that was named: a matrix in which every pair has the same
// low rate (NVLink is not used at all, every slot is a generation lower) contradicts nothing in it.
#include <fmt/format.h>

#include "catalog/machine_figures.h"
#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/gpu_links.h"
#include "diagnose/link_matrices.h"
#include "diagnose/link_tests.h"
#include "diagnose/machine_links.h"
#include "diagnose/outliers.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using core::Finding;
using curve::LinkMatrix;
using curve::LinkTest;
using curve::MatrixKind;

// Every two GPUs are joined by the same number of links.
bool is_full_mesh(const catalog::Machine& machine) {
  const auto pairs = static_cast<std::size_t>(machine.gpus * (machine.gpus - 1) / 2);
  if (machine.gpu_pairs.size() != pairs || pairs == 0) return false;
  for (const catalog::GpuPair& pair : machine.gpu_pairs)
    if (pair.links != machine.gpu_pairs.front().links) return false;
  return true;
}

bool is_host_copy(const LinkMatrix& matrix) {
  return (matrix.kind == MatrixKind::kHostToDevice || matrix.kind == MatrixKind::kDeviceToHost) &&
         !matrix.bidirectional && matrix.rows.size() == 1 &&
         matrix.unit == curve::CellUnit::kGBps && matrix.name.find("all") == std::string::npos &&
         matrix.engine != curve::CopyEngine::kMultiprocessors;
}

struct Against {
  const char* id;
  double median_GBps;
  Bandwidth carries;
  std::string links;  // "the NVLinks of dgx-h100 between two GPUs"
  const char* next;
};

void say_low(const LinkTest& test, const LinkMatrix& matrix, const Against& low, Judgement& out) {
  Finding finding = core::make_finding(
      low.id,
      fmt::format("{}: {} GB/s in the middle of {} GPUs, {} of what {} carry", name_of(matrix),
                  core::format_number(low.median_GBps), matrix.columns.size(),
                  core::format_percent(low.median_GBps / low.carries.in_GBps(), 2), low.links));
  finding.confidence = core::Confidence::kLikely;
  finding.expected = figure(low.carries, core::Basis::kCatalog, "nominal; " + low.links);
  finding.observed =
      figure(Bandwidth::from_GBps(low.median_GBps), core::Basis::kRead, "median; " + test.file);
  finding.evidence = {matrix_row_evidence(test, matrix, 0)};
  finding.next = {low.next};
  out.findings.push_back(std::move(finding));
}

void pairs_against(const LinkTest& test, const MachineReference& machine, Judgement& out) {
  if (!machine.pair) return;
  for (const LinkMatrix& matrix : test.matrices) {
    if (!compares_gpus(matrix) || matrix.engine == curve::CopyEngine::kMultiprocessors ||
        matrix.columns.size() > static_cast<std::size_t>(machine.gpus))
      continue;
    const auto figures = figures_between(matrix);
    const double median = typical_of(figures).median;
    if (figures.empty() || median >= machine.pair->in_GBps() * kBelowLinks) continue;
    return say_low(test, matrix,
                   {"link.gpu-pair-below-links", median, *machine.pair,
                    "the links of " + machine.name + " between two GPUs", "nvidia-smi nvlink -s"},
                   out);
  }
}

void host_against(const LinkTest& test, const MachineReference& machine, Judgement& out) {
  if (!machine.slot) return;
  const Bandwidth carries = machine.slot->effective().value;
  for (const LinkMatrix& matrix : test.matrices) {
    if (!is_host_copy(matrix)) continue;
    std::vector<double> figures;
    for (std::size_t column = 0; column < matrix.columns.size(); ++column)
      if (const auto cell = matrix.cell(0, column); cell && *cell > 0) figures.push_back(*cell);
    const double median = typical_of(figures).median;
    if (figures.empty() || median >= carries.in_GBps() * kBelowSlot) continue;
    return say_low(test, matrix,
                   {"link.gpu-below-slot", median, carries,
                    "the PCIe " + machine.slot->name() + " slots of " + machine.name,
                    "nvidia-smi -q | grep -A12 'GPU Link Info'"},
                   out);
  }
}

// The text names other GPUs than the machine has.
bool is_another(const LinkTest& test, const MachineReference& machine) {
  if (machine.gpu_family.empty()) return false;
  for (const curve::LinkDevice& device : test.devices) {
    const catalog::Gpu* gpu = catalog::Catalog::builtin().find_gpu(device.name);
    if (gpu != nullptr && gpu_family(*gpu) != machine.gpu_family) return true;
  }
  return false;
}

}  // namespace

MachineReference machine_reference_of(const catalog::Machine& machine) {
  MachineReference reference;
  reference.name = machine.name;
  reference.gpus = machine.gpus;
  if (!machine.gpu.name.empty()) reference.gpu_family = gpu_family(machine.gpu);
  if (machine.fabric == catalog::Fabric::kNvswitch) {
    if (const auto rate = catalog::intra_node_one_way(machine)) reference.pair = rate->value;
  } else if (is_full_mesh(machine)) {
    if (const auto rate = catalog::pair_one_way(machine)) reference.pair = rate->value;
  }
  if (machine.gpu.pcie && machine.c2c_links == 0)
    reference.slot = catalog::slot_link(*machine.gpu.pcie, machine.host_pcie);
  return reference;
}

Judgement judge_against_machine(const LinkTest& test, const MachineReference& machine) {
  Judgement out;
  if (test.matrices.empty()) return out;
  if (is_another(test, machine)) {
    out.caveats.push_back(core::make_caveat(
        "curve.hardware-differs",
        fmt::format("{}: it lists {}, {} has {}", test.file, test.devices.front().name,
                    machine.name, machine.gpu_family),
        "its matrices are not compared with the machine; name the one that was measured"));
    return out;
  }
  pairs_against(test, machine, out);
  host_against(test, machine, out);
  return out;
}

}  // namespace comm_probe::diagnose
