// Kernels that measure links and launches (src/measure/link/gpu_*.cc). No library is used but what nvcc brings.
#include <cstdint>

namespace {

__device__ std::uint64_t now_ns() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__device__ std::uint32_t load(const std::uint32_t* word) {
  return *reinterpret_cast<const volatile std::uint32_t*>(word);
}
__device__ void store(std::uint32_t* word, std::uint32_t value) {
  *reinterpret_cast<volatile std::uint32_t*>(word) = value;
}

// No kernel waits longer for the other side.
constexpr std::uint64_t kPatienceNs = 20'000'000'000ull;

// False where `value` did not come in time.
__device__ bool wait_for(const std::uint32_t* word, std::uint32_t value) {
  const std::uint64_t begin = now_ns();
  while (load(word) != value)
    if (now_ns() - begin > kPatienceNs) return false;
  return true;
}

}  // namespace

// Does nothing: what a launch costs.
extern "C" __global__ void empty() {}

// Holds the stream until the host stores a word other than 0: what is put behind it meanwhile starts without waiting
// for the host.
extern "C" __global__ void hold(const std::uint32_t* word) {
  const std::uint64_t begin = now_ns();
  while (load(word) == 0 && now_ns() - begin < kPatienceNs) {
  }
}

// Makes one cycle through `count` places (a power of two), `stride` bytes apart: place i leads to i * step + 12345, which
// visits every place once where step is 1 modulo 4.
extern "C" __global__ void make_chain(char* chain, std::uint64_t count, std::uint64_t stride, std::uint64_t step) {
  const std::uint64_t all = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += all) {
    const std::uint64_t next = (i * step + 12345) & (count - 1);
    *reinterpret_cast<std::uint64_t*>(chain + i * stride) = next * stride;
  }
}

// One thread follows the chain, each load waiting for the one before it. result[0]: clock ticks in ns; [1] keeps the last
// place, so that nothing is optimised away.
extern "C" __global__ void chase(const char* chain, std::uint64_t start, std::uint64_t hops, std::uint64_t* result) {
  std::uint64_t at = start;
  const std::uint64_t begin = now_ns();
  for (std::uint64_t i = 0; i < hops; ++i) at = *reinterpret_cast<const volatile std::uint64_t*>(chain + at);
  result[1] = at;
  result[0] = now_ns() - begin;
}

// Copies `count` packs of 16 bytes; source or target may lie in another GPU.
extern "C" __global__ void copy(uint4* to, const uint4* from, std::uint64_t count) {
  const std::uint64_t all = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i + 3 * all < count; i += 4 * all) {
    const uint4 a = from[i], b = from[i + all], c = from[i + 2 * all], d = from[i + 3 * all];
    to[i] = a;
    to[i + all] = b;
    to[i + 2 * all] = c;
    to[i + 3 * all] = d;
  }
  for (; i < count; i += all) to[i] = from[i];
}

// One side of a ping-pong of one word: waits in its own memory, stores into that of the other. The first side begins.
// result: ns for all rounds; 0 where the other side did not answer.
extern "C" __global__ void ping_pong(std::uint32_t* own, std::uint32_t* other, std::uint32_t rounds, int is_first,
                                     std::uint64_t* result) {
  // a first round, in which both begin
  if (is_first) store(other, 1);
  if (!wait_for(own, 1)) return;
  if (!is_first) store(other, 1);
  const std::uint64_t begin = now_ns();
  for (std::uint32_t round = 2; round < rounds + 2; ++round) {
    if (is_first) store(other, round);
    if (!wait_for(own, round)) return;
    if (!is_first) store(other, round);
  }
  *result = now_ns() - begin;
}
