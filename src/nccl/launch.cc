#include "nccl/launch.h"

#include <algorithm>

#include "nccl/chunk.h"

namespace comm_probe::nccl {
namespace {

constexpr std::uint64_t kCellGrain = 16;  // bytes
constexpr int kLeastThreads = 96;
constexpr int kTreeThreads = 640;

struct Shape {
  int channels;
  int threads;
};

std::uint64_t as_count(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// CollNetDirect gives up channels above 16 first, then by halves.
Shape collnet_direct_shape(const TuningJob& job, std::uint64_t bytes, Shape shape,
                           std::int64_t threshold) {
  bool is_short = true;
  for (int floor = 16; floor >= 1 && is_short; floor /= 2) {
    while ((is_short = bytes < as_count(std::int64_t{shape.channels} * shape.threads *
                                        job.agreement.collnet_heads * threshold)) &&
           shape.channels > floor) {
      if (shape.channels == floor + floor / 2) threshold /= 2;
      --shape.channels;
    }
  }
  return shape;
}

Shape shrunk(std::uint64_t bytes, Shape shape, std::int64_t threshold) {
  const auto is_short = [&] {
    return bytes < as_count(std::int64_t{shape.channels} * shape.threads * threshold);
  };
  while (shape.channels >= 2 && is_short()) --shape.channels;
  while (shape.threads % 128 == 0 && shape.threads > 0 && is_short()) shape.threads /= 2;
  return shape;
}

Shape shape_of(const Tuning& tuning, std::uint64_t bytes, Algorithm algorithm, Protocol protocol) {
  const TuningJob& job = tuning.job;
  const Shape most = {job.channels.coll,
                      tuning.max_threads[index_of(algorithm)][index_of(protocol)]};
  const std::int64_t threshold = tuning.thread_thresholds[index_of(algorithm)][index_of(protocol)];
  switch (algorithm) {
    case Algorithm::kCollNetDirect:
      return collnet_direct_shape(job, bytes, most, threshold);
    case Algorithm::kNvls:
      return {job.agreement.nodes > 1 ? std::min(job.channels.nvls, job.channels.coll)
                                      : job.channels.nvls,
              most.threads};
    case Algorithm::kNvlsTree:
      return {job.channels.nvls, most.threads};
    case Algorithm::kTree:
    case Algorithm::kRing:
    case Algorithm::kCollNetChain:
    case Algorithm::kPat:
      return shrunk(bytes, most, threshold);
  }
  return most;
}

// Threads that only wait on or feed the network come on top.
int launched_threads(Algorithm algorithm, Protocol protocol, int threads) {
  if (algorithm == Algorithm::kTree || algorithm == Algorithm::kPat) return kTreeThreads;
  if (protocol == Protocol::kSimple && algorithm == Algorithm::kRing) threads += 32;
  return std::max(threads, kLeastThreads);
}

// Every channel takes part, however short the call.
bool is_split_evenly(const TuningJob& job, Algorithm algorithm) {
  return is_collnet(algorithm) || (algorithm == Algorithm::kNvls && job.agreement.nodes > 1);
}

// How many channels a call that is not split evenly may use at all.
int kind_channels(const TuningJob& job, Algorithm algorithm) {
  return is_nvls(algorithm) ? job.channels.nvls : job.channels.coll;
}

// Bytes that cross per byte of the call, LL's flags included (x4).
std::uint64_t traffic_per_byte(const TuningJob& job, Function function, Protocol protocol) {
  std::uint64_t factor = 1;
  if (function == Function::kAllReduce) factor = 2;
  if (is_gathering(function)) factor = as_count(job.agreement.ranks);
  return protocol == Protocol::kLl ? factor * 4 : factor;
}

std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

struct Spread {
  int channels;
  std::uint64_t first_bytes;  // of the first channel
};

// How a call alone is laid over the channels.
struct SpreadRules {
  int limit;              // channels it may use
  int most;               // channels there are
  std::uint64_t factor;   // traffic per byte
  std::uint64_t traffic;  // least of a channel
};

// A call alone: cells of at least the least traffic over the channels, the first one `low` cells,
// then even ones, the rest on the last.
Spread spread_over_channels(const Call& call, const SpreadRules& rules) {
  const auto [limit, most, factor, least] = rules;
  const std::uint64_t bytes = call.rank_bytes();
  const std::uint64_t traffic = std::max(least, bytes * factor);
  const auto allowed = as_count(std::max(1, std::min(limit, most)));
  const std::uint64_t per_channel = std::max(least, traffic / allowed);
  const std::uint64_t cell = divide_up(divide_up(least, factor), kCellGrain) * kCellGrain;
  const std::uint64_t cells = divide_up(bytes, cell);
  const std::uint64_t whole = std::min(cells, divide_up(per_channel, cell * factor));
  std::uint64_t low = most == 1 ? cells : whole;
  std::uint64_t middle = whole == 0 ? 0 : (cells - low) / whole;
  std::uint64_t high = whole == 0 ? 0 : (cells - low) % whole;
  if ((low > 0 ? 1 : 0) + middle + (high > 0 ? 1 : 0) > as_count(most) && most > 1) {
    middle = as_count(most) - 2;
    const std::uint64_t even = (cells - low) / (middle + 1);
    high = even + (cells - low) % (middle + 1);
  }
  const std::uint64_t channels = (low > 0 ? 1 : 0) + middle + (high > 0 ? 1 : 0);
  // The last channel ends where the call ends.
  std::uint64_t first = low * cell;
  if (channels <= 1) first = bytes;
  return {static_cast<int>(std::max<std::uint64_t>(1, channels)), first};
}

}  // namespace

Launch launch_of(const Tuning& tuning, const Call& call, Algorithm algorithm, Protocol protocol) {
  const TuningJob& job = tuning.job;
  const std::uint64_t bytes = call.bytes(job.agreement.ranks);
  const Shape shape = shape_of(tuning, bytes, algorithm, protocol);
  Launch launch;
  launch.channel_limit = shape.channels;
  launch.threads = launched_threads(algorithm, protocol, shape.threads);
  launch.channels = shape.channels;
  ChunkCall chunk{algorithm, protocol, call.function, bytes, shape.channels};
  if (!is_split_evenly(job, algorithm)) {
    const Spread spread = spread_over_channels(
        call, {shape.channels, kind_channels(job, algorithm),
               traffic_per_byte(job, call.function, protocol), tuning.channel_traffic});
    launch.channels = spread.channels;
    chunk.channels = 1;
    chunk.bytes =
        spread.first_bytes * (is_gathering(call.function) ? as_count(job.agreement.ranks) : 1);
  }
  launch.chunk = chunk_bytes(tuning, chunk);
  return launch;
}

}  // namespace comm_probe::nccl
