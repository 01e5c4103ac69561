#include "nccl/chunk.h"

#include <algorithm>
#include <bit>

namespace comm_probe::nccl {
namespace {

constexpr std::int64_t kChainChunk = 262144;        // the most of CollNetChain
constexpr std::int64_t kSlowNvlsChunk = 32768;      // several nodes below kSlowNvls
constexpr float kSlowNvls = 150;                    // GB/s of AllReduce
constexpr std::int64_t kWideNvlsTreeChunk = 65536;  // from four nodes on
constexpr std::int64_t kGrain[kProtocols] = {16, 1920, 512};

struct Piece {
  std::int64_t chunk;
  // Whole chunks that each of `parts` gets.
  std::uint64_t per(std::uint64_t bytes, std::int64_t parts) const {
    return bytes / static_cast<std::uint64_t>(parts * chunk);
  }
};

struct Limit {
  std::int64_t least_chunks;
  std::int64_t floor;
};

// Halves the chunk while there are fewer than the wanted number of chunks, not below the floor.
std::int64_t halved(std::int64_t chunk, std::uint64_t bytes, std::int64_t parts,
                    std::initializer_list<Limit> limits) {
  for (const Limit& limit : limits)
    while (Piece{chunk}.per(bytes, parts) < static_cast<std::uint64_t>(limit.least_chunks) &&
           chunk > limit.floor)
      chunk /= 2;
  return chunk;
}

// Takes the chunk `to` where the call has fewer than `chunks` of the present one for everybody.
std::int64_t lowered(std::int64_t chunk, std::uint64_t bytes, std::int64_t parts,
                     std::initializer_list<Limit> limits) {
  for (const Limit& limit : limits)
    if (bytes < static_cast<std::uint64_t>(limit.least_chunks * parts * chunk) &&
        chunk > limit.floor)
      chunk = limit.floor;
  return chunk;
}

std::int64_t full_chunk(const TuningSettings& settings, const ChunkCall& call) {
  const bool is_long_ring =
      call.algorithm == Algorithm::kRing && call.protocol == Protocol::kSimple &&
      call.function != Function::kBroadcast && call.function != Function::kReduce;
  const std::int64_t chunk = settings.buffer[index_of(call.protocol)] / 8 * (is_long_ring ? 4 : 1);
  switch (call.protocol) {
    case Protocol::kLl:
      return chunk / 2;  // every second word is a flag
    case Protocol::kLl128:
      return chunk / 16 * 15;
    case Protocol::kSimple:
      return chunk;
  }
  return chunk;
}

std::int64_t nvls_chunk(const Tuning& tuning, const ChunkCall& call, std::int64_t chunk) {
  const TuningJob& job = tuning.job;
  std::int64_t most = job.settings.nvls_chunk;
  if (job.agreement.nodes > 1 &&
      tuning.cost(Function::kAllReduce, Algorithm::kNvls, Protocol::kSimple).bandwidth.GBps <
          kSlowNvls)
    most = kSlowNvlsChunk;
  return lowered(std::min(chunk, most), call.bytes,
                 std::int64_t{call.channels} * job.channels.nvls_heads,
                 {{64, 65536}, {8, 32768}, {2, 16384}});
}

std::int64_t nvls_tree_chunk(const Tuning& tuning, const ChunkCall& call) {
  const TuningJob& job = tuning.job;
  std::int64_t chunk = job.settings.nvls_chunk;
  if (job.settings.nvls_tree_chunk)
    chunk = std::min(chunk, *job.settings.nvls_tree_chunk);
  else if (job.agreement.nodes >= 4)
    chunk = std::min(chunk, kWideNvlsTreeChunk);
  return lowered(chunk, call.bytes, std::int64_t{call.channels} * job.channels.nvls_heads,
                 {{32, 262144}, {16, 131072}, {4, 65536}, {1, 32768}});
}

std::int64_t tree_ll128_chunk(const Agreement& all, const ChunkCall& call, std::int64_t chunk) {
  const float ppn = static_cast<float>(all.ranks) / static_cast<float>(all.nodes);
  const float steps =
      static_cast<float>(1 + (std::bit_width(static_cast<unsigned>(all.nodes)) - 1) + 0.1 * ppn);
  const auto has_fewer = [&](float chunks) {
    return static_cast<float>(Piece{chunk}.per(call.bytes, call.channels)) < chunks;
  };
  while (has_fewer(steps * 64 / ppn) && chunk > 131072) chunk /= 2;
  while (has_fewer(steps * 16 / ppn) && chunk > 32768) chunk /= 2;
  return chunk;
}

std::int64_t pat_chunk(const ChunkCall& call, std::int64_t chunk) {
  const std::int64_t pieces = call.function == Function::kAllGather ? 32 : 16;
  while (static_cast<std::uint64_t>(chunk * call.channels * pieces) > call.bytes && chunk > 65536)
    chunk /= 2;
  return chunk;
}

std::int64_t shortened(const Tuning& tuning, const ChunkCall& call, std::int64_t chunk) {
  const Agreement& all = tuning.job.agreement;
  switch (call.algorithm) {
    case Algorithm::kCollNetDirect: {
      const int depth = all.most_local_ranks > 1 ? 2 : 1;
      return halved(chunk, call.bytes, std::int64_t{call.channels} * std::max(1, all.collnet_heads),
                    {{64 * depth, 131072}, {8 * depth, 65536}, {8 * depth, 32768}});
    }
    case Algorithm::kCollNetChain: {
      const int depth = all.ranks / all.nodes;
      return halved(std::min(kChainChunk, chunk), call.bytes, call.channels,
                    {{64 * depth, 131072}, {8 * depth, 65536}, {depth, 32768}});
    }
    case Algorithm::kNvls:
      return nvls_chunk(tuning, call, chunk);
    case Algorithm::kNvlsTree:
      return nvls_tree_chunk(tuning, call);
    case Algorithm::kTree:
      return call.protocol == Protocol::kLl128 ? tree_ll128_chunk(all, call, chunk) : chunk;
    case Algorithm::kPat:
      return pat_chunk(call, chunk);
    case Algorithm::kRing:
      return chunk;
  }
  return chunk;
}

}  // namespace

std::int64_t chunk_bytes(const Tuning& tuning, const ChunkCall& call) {
  const std::int64_t full = std::max<std::int64_t>(1, full_chunk(tuning.job.settings, call));
  const std::int64_t grain = kGrain[index_of(call.protocol)];
  return shortened(tuning, call, full) / grain * grain;
}

}  // namespace comm_probe::nccl
