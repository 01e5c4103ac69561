#include "nccl/tuning_settings.h"

#include <algorithm>
#include <cstdlib>

namespace comm_probe::nccl {
namespace {

// A thread count as NCCL takes it: nothing at or below 0, whole warps within the limits.
std::optional<int> thread_count(std::int64_t value, int least, int most) {
  if (value <= 0) return std::nullopt;
  if (value % 32 != 0 || value > most) return most;
  return value < least ? least : static_cast<int>(value);
}

// "t0 t1 t2 r0 r1 r2"; numbers that are missing stay as they are.
void read_thresholds(const std::string& text, std::array<std::int64_t, 6>& thresholds) {
  const char* at = text.c_str();
  for (std::int64_t& threshold : thresholds) {
    char* end = nullptr;
    const long long value = std::strtoll(at, &end, 10);
    if (end == at) return;
    threshold = std::min<std::int64_t>(value, std::int64_t{1} << 40);
    at = end;
  }
}

// A buffer of nothing would divide by zero; NCCL's initialisation fails on one.
std::int64_t buffer_size(std::int64_t value, std::int64_t fallback) {
  return value > 0 && value < (std::int64_t{1} << 40) ? value : fallback;
}

}  // namespace

core::Result<TuningSettings> read_tuning_settings(const Environment& environment,
                                                  topology::NcclVersion version) {
  auto lists = parse_method_lists(setting_text(environment, "NCCL_ALGO"),
                                  setting_text(environment, "NCCL_PROTO"), version);
  if (!lists) return lists.error();
  const auto number = [&](const char* name, std::int64_t fallback) {
    return setting_number(environment, name, fallback);
  };
  TuningSettings settings;
  settings.version = version;
  settings.lists = *lists;
  settings.threads = thread_count(number("NCCL_NTHREADS", -2), 64, 512);
  settings.ll128_threads = thread_count(number("NCCL_LL128_NTHREADS", -2), 160, 640);
  read_thresholds(setting_text(environment, "NCCL_THREAD_THRESHOLDS"), settings.thread_thresholds);
  if (const std::int64_t overhead = number("NCCL_NET_OVERHEAD", -2); overhead != -2)
    settings.net_overhead = core::Duration::from_ns(static_cast<double>(overhead));
  const std::int64_t pat = number("NCCL_PAT_ENABLE", 2);
  settings.pat = pat == 2 ? 2 : (pat != 0 ? 1 : 0);
  settings.ll128_c2c = number("NCCL_LL128_C2C", 1) != 0;
  constexpr const char* kBuffers[] = {"NCCL_LL_BUFFSIZE", "NCCL_LL128_BUFFSIZE", "NCCL_BUFFSIZE"};
  for (std::size_t i = 0; i < kProtocols; ++i)
    settings.buffer[i] = buffer_size(number(kBuffers[i], -2), settings.buffer[i]);
  settings.nvls_chunk = buffer_size(number("NCCL_NVLS_CHUNKSIZE", -2), settings.nvls_chunk);
  if (const std::int64_t chunk = number("NCCL_NVLSTREE_MAX_CHUNKSIZE", -2); chunk > 0)
    settings.nvls_tree_chunk = chunk;
  return settings;
}

std::vector<std::string> tuning_setting_names() {
  return {"NCCL_ALGO",
          "NCCL_PROTO",
          "NCCL_NTHREADS",
          "NCCL_LL128_NTHREADS",
          "NCCL_THREAD_THRESHOLDS",
          "NCCL_NET_OVERHEAD",
          "NCCL_PAT_ENABLE",
          "NCCL_LL128_C2C",
          "NCCL_LL_BUFFSIZE",
          "NCCL_LL128_BUFFSIZE",
          "NCCL_BUFFSIZE",
          "NCCL_NVLS_CHUNKSIZE",
          "NCCL_NVLSTREE_MAX_CHUNKSIZE"};
}

}  // namespace comm_probe::nccl
