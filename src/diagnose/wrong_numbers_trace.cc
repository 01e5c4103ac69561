// A tensor of a collective that another kernel uses before the collective has ended. Proof needs
// the addresses of both (PyTorch records them on request only); where they are missing nothing is
// said.
//
// Issued after the collective, on another stream, and begun before the collective's kernel ended:
// had an event between the streams ordered the two, it could not have begun. Reading is a fault
// where the collective writes, writing also where it reads.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/wrong_numbers.h"

namespace comm_probe::diagnose {
namespace {

using torch::GpuOp;
using torch::TensorUse;
using torch::Trace;

// Kernel times of one device are exact to some hundred ns.
constexpr std::int64_t kSurelyNs = 2000;
constexpr std::size_t kMostEvidence = 4;

// A collective in flight, with the memory that it reads and writes.
struct InFlight {
  const GpuOp* kernel = nullptr;
  std::int64_t issued = 0;
  std::vector<std::uint64_t> reads = {};
  std::vector<std::uint64_t> writes = {};
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
};

std::uint64_t bytes_of(const Trace& trace, const torch::CollectiveCall& call,
                       std::int64_t elements) {
  if (elements <= 0 || !call.dtype) return 1;
  const auto size = torch::dtype_bytes(trace.names.text(*call.dtype));
  return size ? static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(*size) : 1;
}

std::vector<InFlight> collectives_with_tensors(const Trace& trace) {
  std::map<std::uint32_t, InFlight> found;
  for (const TensorUse& use : trace.tensor_uses) {
    if (use.collective == torch::kNone) continue;
    InFlight& one = found[use.collective];
    one.issued = use.start;
    (use.is_output ? one.writes : one.reads).push_back(use.address);
  }
  for (const GpuOp& op : trace.gpu_ops)
    if (op.kind == torch::GpuKind::kCommunication && found.count(op.collective) > 0)
      found[op.collective].kernel = &op;
  std::vector<InFlight> all;
  for (auto& [number, one] : found) {
    if (one.kernel == nullptr) continue;
    const torch::CollectiveCall& call = trace.collectives[number];
    one.bytes_in = bytes_of(trace, call, call.in_elements);
    one.bytes_out = bytes_of(trace, call, call.out_elements);
    all.push_back(std::move(one));
  }
  std::sort(all.begin(), all.end(),
            [](const InFlight& a, const InFlight& b) { return a.issued < b.issued; });
  return all;
}

bool is_inside(std::uint64_t address, const std::vector<std::uint64_t>& starts,
               std::uint64_t bytes) {
  return std::any_of(starts.begin(), starts.end(), [&](std::uint64_t start) {
    return address >= start && address - start < bytes;
  });
}

bool conflicts(const TensorUse& use, const InFlight& one) {
  return is_inside(use.address, one.writes, one.bytes_out) ||
         (use.is_output && is_inside(use.address, one.reads, one.bytes_in));
}

// The first device work that a host op launched itself.
const GpuOp* launched_by(const Trace& trace, const TensorUse& use) {
  auto call = std::lower_bound(
      trace.calls.begin(), trace.calls.end(), use.start,
      [](const torch::HostCall& one, std::int64_t start) { return one.start < start; });
  for (; call != trace.calls.end() && call->start < use.end; ++call)
    if (call->thread == use.thread && call->first_op != torch::kNone)
      return &trace.gpu_ops[call->first_op];
  return nullptr;
}

struct Touch {
  const TensorUse* use = nullptr;
  const GpuOp* op = nullptr;
  const InFlight* collective = nullptr;
  std::int64_t early() const { return collective->kernel->end - op->start; }
};

std::vector<Touch> touches_of(const Trace& trace, const std::vector<InFlight>& collectives) {
  std::vector<const TensorUse*> uses;
  for (const TensorUse& use : trace.tensor_uses)
    if (use.collective == torch::kNone) uses.push_back(&use);
  std::sort(uses.begin(), uses.end(),
            [](const TensorUse* a, const TensorUse* b) { return a->start < b->start; });
  std::vector<Touch> touches;
  std::vector<const InFlight*> active;
  std::size_t next = 0;
  for (const TensorUse* use : uses) {
    for (; next < collectives.size() && collectives[next].issued <= use->start; ++next)
      active.push_back(&collectives[next]);
    std::erase_if(active, [&](const InFlight* one) { return one->kernel->end <= use->start; });
    for (const InFlight* one : active) {
      if (!conflicts(*use, *one)) continue;
      const GpuOp* op = launched_by(trace, *use);
      if (op == nullptr || op->kind == torch::GpuKind::kCommunication) break;
      if (op->stream == one->kernel->stream || op->start + kSurelyNs > one->kernel->end) continue;
      if (touches.empty() || touches.back().op != op) touches.push_back({use, op, one});
      break;
    }
  }
  return touches;
}

std::string collective_text(const Trace& trace, const GpuOp& kernel) {
  const torch::CollectiveCall* call = trace.collective_of(kernel);
  const std::string name =
      call != nullptr && call->name ? std::string(trace.names.text(*call->name)) : "collective";
  return call != nullptr && call->seq >= 0 ? fmt::format("{} {}", name, call->seq) : name;
}

std::string touch_text(const Trace& trace, const Touch& touch) {
  return fmt::format(
      "{} on {:#x} begins {} before {} ends ({} of the trace)", trace.names.text(touch.use->name),
      touch.use->address,
      core::format_duration(core::Duration::from_ns(static_cast<double>(touch.early()))),
      collective_text(trace, *touch.collective->kernel),
      core::format_duration(core::Duration::from_ns(
          static_cast<double>(touch.op->start - trace.gpu_ops.front().start))));
}

}  // namespace

Judgement judge_touched_tensors(const Trace& trace) {
  Judgement judgement;
  if (trace.tensor_uses.empty() || trace.gpu_ops.empty()) return judgement;
  const std::vector<InFlight> collectives = collectives_with_tensors(trace);
  const std::vector<Touch> touches = touches_of(trace, collectives);
  if (touches.empty()) return judgement;
  const Touch& worst =
      *std::max_element(touches.begin(), touches.end(),
                        [](const Touch& a, const Touch& b) { return a.early() < b.early(); });
  core::Finding finding = core::make_finding(
      "trace.tensor-touched",
      fmt::format(
          "{} uses a tensor of {} while it is still under way, {} time{}: {} of the other "
          "stream began {} before it ended",
          trace.names.text(worst.use->name), collective_text(trace, *worst.collective->kernel),
          touches.size(), touches.size() == 1 ? "" : "s", trace.name_of(*worst.op),
          core::format_duration(core::Duration::from_ns(static_cast<double>(worst.early())))));
  if (trace.rank) finding.ranks = {*trace.rank};
  for (const Touch& touch : touches)
    if (finding.evidence.size() < kMostEvidence)
      finding.evidence.push_back({trace.file, {}, touch_text(trace, touch)});
  finding.confidence = core::Confidence::kCertain;
  finding.next = {fmt::format("call work.wait() before {}, on the stream that runs it",
                              trace.names.text(worst.use->name))};
  judgement.findings.push_back(std::move(finding));
  return judgement;
}

}  // namespace comm_probe::diagnose
