#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "diagnose/own_primitive.h"
#include "golden_values.h"
#include "model/closed_form.h"
#include "model/kv_cache.h"
#include "model/kv_transfer.h"
#include "model/small_all_reduce.h"
#include "nccl/tuning_constants.h"
#include "serving/vllm_backends.h"

namespace comm_probe::test {
namespace {

using namespace core::literals;  // NOLINT

constexpr double kKiB = 1024, kMiB = 1048576, kGiB = 1073741824;

model::KvCache llama() {
  const auto* shape = catalog::Catalog::builtin().find_model("llama-3-70b");
  return *model::kv_cache(*shape, model::KvType::kBf16, 16);
}
// 4096 tokens on one rank of TP 8.
core::Bytes per_rank() { return model::kv_bytes(llama(), 4096) * model::kv_share(llama(), 8); }

std::vector<GoldenRow> kv_rows() {
  return {
      {"G7-14", [] { return llama().per_token().count() / kKiB; }},
      {"G7-15", [] { return llama().per_token_layer().count(); }},
      {"G7-16", [] { return model::kv_bytes(llama(), 4096).count() / kGiB; }},
      {"G7-17", [] { return per_rank().count() / kMiB; }},
      {"G7-18",
       [] {
         return model::kv_time({per_rank(), 1, 400_Gbps}).bandwidth.in_ms();
       }},
      {"GB-03a", [] { return per_rank().count() / kMiB; }},
      {"GB-03b", [] { return (400_Gbps).in_GBps(); }},
  };
}

core::Bytes decode_message(int batch, int hidden) {
  return model::all_reduce_bytes(batch, hidden, 2);
}

model::Ledger ring8(core::Bytes bytes) {
  const auto ring = model::price({model::Op::kAllReduce, 8, bytes}, {model::Algorithm::kRing},
                                 {.link = {1_us, 450_GBps}});
  return ring.ok() ? *ring : model::Ledger{};
}

// NCCL's own constants: base of Ring LL and 14 steps on NVLink.
double ring_ll_us() {
  const nccl::TuningConstants table = nccl::tuning_constants(topology::NcclVersion{});
  const auto ring = nccl::index_of(nccl::Algorithm::kRing);
  const auto ll = nccl::index_of(nccl::Protocol::kLl);
  const auto nvlink = static_cast<std::size_t>(nccl::Wire::kNvlink);
  return table.base_latency[ring][ll] + ring8(1_KiB).steps * table.hw_latency[nvlink][ring][ll];
}

double saved_ms(int layers, core::Duration per_call) {
  return (per_call * model::DecodeStep{layers, 2}.calls()).in_ms();
}

// The published times of the document's example: NCCL 30 us, the custom kernel 10 us.
core::Duration saved_per_call() { return 30_us - 10_us; }

serving::ServingJob h100(int ranks) {
  serving::ServingJob job;
  job.ranks = ranks;
  return job;
}

std::string chain() {
  std::vector<std::string> names;
  const auto order = serving::vllm_order("v0.23.0");
  for (const serving::Backend backend : order->order) names.emplace_back(backend_name(backend));
  return fmt::format("{}", fmt::join(names, ", "));
}

int kib(core::Bytes bytes) { return static_cast<int>(bytes.count() / kKiB); }

std::string four_cards() {
  const auto range = *serving::custom_preferred(4);
  return fmt::format("code: ({} KiB, {} KiB) open; comment: {}K–{}K measured", kib(range.above),
                     kib(range.below), kib(range.measured_from), kib(range.measured_to));
}

std::string eight_cards() {
  const auto range = *serving::custom_preferred(8);
  return fmt::format("<= {} KiB or >= {} KiB", kib(range.above), kib(range.below));
}

std::string symm_window() {
  return fmt::format("{} KiB – {} MiB", kib(serving::custom_limit(h100(8))),
                     kib(*serving::symm_mem_limit(90, 8)) / 1024);
}

// How many calls a step must have before a primitive of one's own pays.
std::string often() {
  const auto holds = [](int calls) {
    diagnose::PrimitiveCase given;
    given.calls_per_step = calls;
    for (const auto& condition : diagnose::judge_own_primitive(given).conditions)
      if (condition.name == "often") return condition.holds;
    return false;
  };
  return !holds(99) && holds(100) ? "hundreds" : "something else";
}

std::vector<GoldenRow> decode_rows() {
  return {
      {"G7-01", [] { return decode_message(8, 8192).count() / kKiB; }},
      {"G7-02", [] { return (decode_message(8, 8192) / 450_GBps).in_us(); }},
      {"G7-03", [] { return ring_ll_us(); }},
      {"G7-04", [] { return saved_per_call().in_us(); }},
      {"G7-05",
       [] {
         return fmt::format("{:g} -> {}", ring8(128_KiB).steps,
                            model::small_kernel(model::SmallKernel::kOneShot).barriers);
       }},
      {"G7-06",
       [] {
         return double(model::DecodeStep{llama().shape.layers, 2}.calls());
       }},
      {"G7-07", [] { return saved_ms(80, saved_per_call()); }},
      {"G7-08", [] { return double(model::kCustomBlocks); }},
      {"G7-09", [] { return model::one_shot_limit(8).count() / kKiB; }},
      {"G7-10", [] { return model::kCustomMost.count() / kMiB; }},
      {"G7-11", [] { return serving::custom_limit(h100(8)).count() / kKiB; }},
      {"G7-12", [] { return eight_cards(); }},
      {"G7-13", [] { return chain(); }},
      {"G7-19", [] { return often(); }},
      {"GA-09a", [] { return decode_message(32, 4096).count() / kKiB; }},
      {"GA-09b", [] { return serving::custom_table_limit(90, 4)->count() / kMiB; }},
      {"GA-09c", [] { return four_cards(); }},
      {"GA-09d",
       [] {
         return double(model::DecodeStep{60, 2}.calls());
       }},
      {"GA-09e", [] { return saved_ms(60, saved_per_call()); }},
      {"GC-05a", [] { return symm_window(); }},
      {"GC-05b", [] { return saved_ms(80, saved_per_call()); }},
      {"GC-05c", [] { return ring_ll_us(); }},
  };
}

}  // namespace

std::vector<GoldenRow> inference_rows() {
  std::vector<GoldenRow> rows = kv_rows();
  for (GoldenRow& row : decode_rows()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace comm_probe::test
