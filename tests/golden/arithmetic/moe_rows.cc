#include <fmt/format.h>
#include <gtest/gtest.h>

#include "golden_values.h"
#include "model/algorithms.h"
#include "model/closed_form.h"
#include "model/moe/deepep.h"
#include "model/moe/issue.h"
#include "model/moe/layer.h"
#include "model/moe/stacks.h"

namespace comm_probe::test {
namespace {

using namespace core::literals;  // NOLINT
using model::MoeDraw;
using model::MoeFormat;
using model::MoeLayer;
using model::MoeLinks;
using model::MoePrice;
using model::MoeScheme;

const MoeLinks kNdr = {.nic = 50_GBps, .nvlink = 450_GBps};

MoeLayer deepseek(std::int64_t tokens) {
  return {.hidden = 7168,
          .topk = 8,
          .experts = 256,
          .nodes = 8,
          .ranks_per_node = 8,
          .tokens = tokens,
          .group_limit = 4};
}
MoePrice prefill(MoeScheme scheme) {
  return price_moe(deepseek(4096), kNdr, scheme, MoeDraw::kIndependent);
}
MoePrice decode(core::Duration alpha = {}) {
  return price_moe(deepseek(128), {50_GBps, 450_GBps, alpha}, MoeScheme::kFlat,
                   MoeDraw::kIndependent);
}
double copies(MoeScheme scheme) { return prefill(scheme).copies.nic; }
double dispatched_MB(MoeScheme scheme) { return prefill(scheme).dispatch.nic.count() / 1e6; }
double prefill_ms(MoeScheme scheme) { return prefill(scheme).time().in_ms(); }
double fp8() { return model::copy_bytes(7168, MoeFormat::kFp8).count(); }
double bf16() { return model::copy_bytes(7168, MoeFormat::kBf16).count(); }
double published(const char* operation) { return model::moe_constant(operation).value; }
double messages() { return model::moe_messages(deepseek(128)).all; }
double launch_rate() {
  return model::issue_rate(messages(), core::Duration::from_us(published("EP64 dispatch")));
}

// Two all_reduces of a dense layer on 8 ranks, of one token each; combine against one; all against
// one.
std::string against_dense() {
  const auto ring = model::price({model::Op::kAllReduce, 8, core::Bytes::of(bf16())},
                                 {model::Algorithm::kRing}, {.link = {1_us, 50_GBps}});
  EXPECT_TRUE(ring.ok());
  const double one = ring->bytes_per_rank.count();
  return fmt::format("{:.2f} / {:.2f} / {:.2f}", 8 * (fp8() + bf16()) / (2 * one), 8 * bf16() / one,
                     8 * (fp8() + bf16()) / one);
}

std::string variable_splits() {
  const MoeLinks with_alpha = {50_GBps, 450_GBps, 10_us};
  const auto price = model::price_pattern(deepseek(128), with_alpha, model::MoePattern::kAllToAll);
  const double more = price.dispatch.alpha / with_alpha.alpha - 1;
  const std::string_view note = model::megatron_dispatchers()[1].note;
  const bool waits = note.find("wait of the host") != std::string_view::npos;
  return fmt::format("n-1 concurrent flows; +{} alpha +{} host sync", more, waits ? 1 : 0);
}

std::string device_initiated() {
  std::string text;
  for (const model::DeviceInitiated& one : model::device_initiated())
    text += fmt::format("{}{} {} {}", text.empty() ? "" : "; ", one.library, one.since, one.name);
  return text;
}

double setting(std::string_view name) {
  for (const model::DeepEpSetting& setting : model::deepep_settings())
    if (setting.name == name) return std::stod(std::string(setting.value));
  return -1;
}

MoeLayer a10() { return {.hidden = 4096, .topk = 4, .experts = 256, .nodes = 4, .tokens = 128}; }
double a10_copies(MoeScheme scheme) { return moe_copies(a10(), scheme, MoeDraw::kIndependent).nic; }

}  // namespace

std::vector<GoldenRow> moe_rows() {
  return {
      {"G8-01", [] { return bf16(); }},
      {"G8-02", [] { return fp8(); }},
      {"G8-03", [] { return 8 * fp8() / 1e3; }},
      {"G8-04", [] { return 8 * bf16() / 1e3; }},
      {"G8-05", [] { return deepseek(4096).share_off_node(); }},
      {"G8-06", [] { return copies(MoeScheme::kFlat); }},
      {"G8-07", [] { return copies(MoeScheme::kDedup); }},
      {"G8-08", [] { return copies(MoeScheme::kGroup); }},
      {"G8-09", [] { return dispatched_MB(MoeScheme::kFlat); }},
      {"G8-10", [] { return dispatched_MB(MoeScheme::kDedup); }},
      {"G8-11", [] { return dispatched_MB(MoeScheme::kGroup); }},
      {"G8-12", [] { return prefill_ms(MoeScheme::kFlat); }},
      {"G8-13", [] { return prefill_ms(MoeScheme::kDedup); }},
      {"G8-14", [] { return prefill_ms(MoeScheme::kGroup); }},
      {"G8-15",
       [] {
         return fmt::format("{:.1f}–{:.1f}", prefill_ms(MoeScheme::kGroup),
                            prefill_ms(MoeScheme::kFlat));
       }},
      {"G8-16", [] { return messages(); }},
      {"G8-17", [] { return fp8() / 1e3; }},
      {"G8-18", [] { return decode().dispatch.nic.count() / 1e6; }},
      {"G8-19", [] { return decode().dispatch.time().in_us(); }},
      {"G8-20", [] { return decode().combine.time().in_us(); }},
      {"G8-21",
       [] { return decode(core::Duration::from_us(published("step alpha"))).time().in_us(); }},
      {"G8-22", [] { return published("EP64 dispatch") + published("EP64 combine"); }},
      {"G8-23", [] { return 100 * decode().dispatch.time().in_us() / published("EP64 dispatch"); }},
      {"G8-24",
       [] {
         return fmt::format("{:.1f} / {:.1f}",
                            published("EP64 dispatch") - decode().dispatch.time().in_us(),
                            published("EP64 combine") - decode().combine.time().in_us());
       }},
      {"G8-25", [] { return launch_rate(); }},
      {"G8-26", [] { return against_dense(); }},
      {"G8-27", [] { return double{model::kDeepEpSms}; }},
      {"G8-28", [] { return double{model::deepep_channels(model::kDeepEpSms)}; }},
      {"G8-29", [] { return setting("NVSHMEM_IB_ENABLE_IBGDA"); }},
      {"G8-30", [] { return std::string(model::vllm_backends().front().name); }},
      {"G8-31", [] { return 1.0 * deepseek(128).flows(); }},
      {"G8-32",
       [] {
         return fmt::format("{} / {}", published("EP64 dispatch"), published("EP64 combine"));
       }},
      {"G8-33", [] { return published("EP64 dispatch") - decode().dispatch.time().in_us(); }},
      {"G8-34", [] { return device_initiated(); }},
      {"G8-35", [] { return prefill_ms(MoeScheme::kFlat) / prefill_ms(MoeScheme::kGroup); }},
      {"G8-36", [] { return variable_splits(); }},
      {"G8-37", [] { return prefill(MoeScheme::kFlat).dispatch.time().in_ms(); }},
      {"GA-10a", [] { return model::copy_bytes(4096, MoeFormat::kFp8).count(); }},
      {"GA-10b", [] { return 4 * model::copy_bytes(4096, MoeFormat::kFp8).count() / 1e3; }},
      {"GA-10c", [] { return a10_copies(MoeScheme::kFlat); }},
      {"GA-10d", [] { return a10_copies(MoeScheme::kDedup); }},
      {"GB-04", [] { return launch_rate(); }},
      {"GC-06a", [] { return deepseek(4096).share_off_node(); }},
      {"GC-06b",
       [] {
         return fmt::format("{} / {:.2f} / {:.2f}", copies(MoeScheme::kFlat),
                            copies(MoeScheme::kDedup), copies(MoeScheme::kGroup));
       }},
      {"GC-06c",
       [] {
         return fmt::format("{:.2f} / {:.2f}", prefill_ms(MoeScheme::kFlat),
                            prefill_ms(MoeScheme::kGroup));
       }},
  };
}

}  // namespace comm_probe::test
