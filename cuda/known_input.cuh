// Random inputs that every rank, and the host, can compute again: the element at `index` of rank
// `rank` in call number `seed` is a hash of the three, a 24-bit fraction in [-1, 1) times 2^0 to
// 2^-7, rounded to the element's type. Sums of such numbers do round.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define COMM_PROBE_BOTH __host__ __device__
#else
#define COMM_PROBE_BOTH
#endif

namespace comm_probe::measure::cuda {

// The finaliser of splitmix64 (Steele, Lea, Flood 2014).
COMM_PROBE_BOTH inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

COMM_PROBE_BOTH inline float random_element(std::uint64_t seed, int rank, std::uint64_t index) {
  const std::uint64_t hash = mixed(index ^ mixed(seed * 16 + static_cast<std::uint64_t>(rank)));
  const auto fraction = static_cast<std::int32_t>(hash >> 40) - (1 << 23);
  const auto halvings = static_cast<std::uint32_t>(hash & 7);
  return static_cast<float>(fraction) / static_cast<float>(1U << (23 + halvings));
}

}  // namespace comm_probe::measure::cuda
