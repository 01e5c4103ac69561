// `bench all_reduce --backend cuda -c N`: N calls in a row, each on other data and each checked,
// while blocks are held up at random before and after they meet the others. One launch holds all of
// them, so that nothing but the flags of flag_barrier.cuh orders the ranks: a block fills its
// part of the input, takes part in the all_reduce, checks its part of the result, and goes on to
// the next call without waiting for anybody. A flag that is too weak, or a barrier too few, shows
// as an element of the call before or after.
#include "all_reduce.cuh"
#include "known_result.cuh"

using namespace comm_probe::measure::cuda;

namespace {

// One time in four, up to `longest_ns`, each warp by itself.
struct RandomDelay {
  std::uint32_t longest_ns;
  std::uint64_t state;

  __device__ void operator()() {
    state = mixed(state);
    if (longest_ns == 0 || (state & 3) != 0) return;
    const std::uint64_t until = nanoseconds() + (state >> 8) % longest_ns;
    while (nanoseconds() < until) {
    }
  }
};

// Elements of the packs that this block handles, in the mapping of the algorithm (one part for
// one-shot, a slice for each rank else), spread over its threads.
template <class T, class Visit>
__device__ void for_block_elements(const AllReduceCall& call, int parts, Visit visit) {
  const Slices<T> slices(call.count, parts);
  const std::uint64_t at_a_time = std::uint64_t{blockDim.x} * kPerPack<T>;
  for (int part = 0; part < parts; ++part) {
    const std::uint64_t end = slices.begin(part + 1);
    for (std::uint64_t begin = slices.begin(part) + blockIdx.x * at_a_time; begin < end;
         begin += gridDim.x * at_a_time)
#pragma unroll 1
      for (std::uint64_t i = threadIdx.x; i < at_a_time && begin + i < end; i += blockDim.x)
        visit(begin + i);
  }
}

template <class T, class Reduce>
__device__ void stress(const AllReduceCall& call, const StressOrder& order, int parts,
                       unsigned long long* wrong, Reduce reduce) {
  const int rank = call.first_rank + static_cast<int>(blockIdx.y);
  const std::uint64_t where = mixed(rank * 1024 + blockIdx.x) + threadIdx.x / 32;
  Block<RandomDelay> block(call, rank, {order.longest_delay_ns, mixed(order.first_seed ^ where)});
  T* const send = static_cast<T*>(const_cast<void*>(call.send[rank]));
  const T* const recv = static_cast<const T*>(call.recv[rank]);
  unsigned long long own = 0;
  for (std::uint32_t round = 0; round < order.rounds; ++round) {
    const CheckOrder known = {order.first_seed + round, order.is_ring};
    for_block_elements<T>(call, parts, [&](std::uint64_t index) {
      send[index] = input_of<T>(known.seed, rank, index);
    });
    __syncthreads();
    if (!reduce(block, rank)) break;
    __syncthreads();
    for_block_elements<T>(call, parts, [&](std::uint64_t index) {
      own += is_right<T>(call, known, index, widened(recv[index])) ? 0 : 1;
    });
    __syncthreads();
  }
  if (own != 0) atomicAdd(wrong, own);
  block.leave();
}

}  // namespace

#define KERNEL(NAME, T, PARTS, ...)                                                               \
  extern "C" __global__ void __launch_bounds__(kStressThreads, 1) stress_##NAME(                  \
      const __grid_constant__ AllReduceCall call, StressOrder order, unsigned long long* wrong) { \
    stress<T>(call, order, PARTS, wrong, [&](Block<RandomDelay>& block, int rank) {               \
      return __VA_ARGS__(call, rank, block);                                                      \
    });                                                                                           \
  }
#define OF_TYPE(T, NAME)                                         \
  KERNEL(one_shot_##NAME, T, 1, one_shot<T, kAnyRanks>)          \
  KERNEL(two_shot_##NAME, T, call.ranks, two_shot<T, kAnyRanks>) \
  KERNEL(ring_##NAME, T, call.ranks, ring<T>)

OF_TYPE(float, float)
OF_TYPE(__half, half)
OF_TYPE(__nv_bfloat16, bfloat16)
