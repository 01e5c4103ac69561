#include "measure/engines/local/store_choice.h"

#include <algorithm>
#include <cmath>

#include "measure/clock.h"

namespace comm_probe::measure::local {
namespace {

// Each kind is tried three times, in turn, and its fastest trial counts; a long message once: it is
// hardly disturbed, and the trials would last longer than the measurement.
constexpr int kTrials = 3;
constexpr std::size_t kLongMessage = 4 << 20;
// A trial moves at least this much, so that a barrier is small beside it.
constexpr double kTrialBytes = 64 << 10;

// After as many calls as go once around the ring, so that no slot is in the other kind's state.
double seconds_with(Comm& comm, Stores stores, std::size_t bytes,
                    const std::function<void()>& call) {
  comm.use(stores);
  const double chunks =
      std::ceil(static_cast<double>(bytes) / static_cast<double>(comm.chunks().board));
  const int around = static_cast<int>(std::ceil(comm.chunks().slots / chunks));
  for (int i = 0; i < around; ++i) call();
  const int calls = std::max(1, static_cast<int>(kTrialBytes / static_cast<double>(bytes)));
  comm.barrier();
  const double start = now_seconds();
  for (int i = 0; i < calls; ++i) call();
  return (now_seconds() - start) / calls;
}

}  // namespace

void use_faster_stores(Comm& comm, std::size_t bytes, const std::function<void()>& call) {
  comm.use(Stores::kCached);
  if (bytes < kLeastStreamed || comm.ranks() == 1) return;
  double cached = HUGE_VAL, streaming = HUGE_VAL;
  const int trials = bytes < kLongMessage ? kTrials : 1;
  for (int trial = 0; trial < trials; ++trial) {
    cached = std::min(cached, seconds_with(comm, Stores::kCached, bytes, call));
    streaming = std::min(streaming, seconds_with(comm, Stores::kStreaming, bytes, call));
  }
  const bool streams = comm.from_first(streaming < cached ? 1 : 0) != 0;
  comm.use(streams ? Stores::kStreaming : Stores::kCached);
}

}  // namespace comm_probe::measure::local
