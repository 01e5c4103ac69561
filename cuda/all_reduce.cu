// The kernels of `bench all_reduce --backend cuda`, one for each algorithm, element type and number
// of ranks (so that the loads of all ranks are in flight at once): all_reduce_one_shot_half_8 is
// that for 7 and 8 ranks; and the waiting of each algorithm alone, all_reduce_waits_ring. What they do stands in all_reduce.cuh, what they are told in
// all_reduce_call.h.
#include "all_reduce.cuh"

using namespace comm_probe::measure::cuda;

#define KERNEL(NAME, ...)                                             \
  extern "C" __global__ void __launch_bounds__(kMostThreads, 1)       \
      all_reduce_##NAME(const __grid_constant__ AllReduceCall call) { \
    const int rank = call.first_rank + static_cast<int>(blockIdx.y);  \
    Block<> block(call, rank);                                        \
    if (__VA_ARGS__(call, rank, block)) block.leave();                \
  }
#define OF_RANKS(T, NAME, RANKS)                        \
  KERNEL(one_shot_##NAME##_##RANKS, one_shot<T, RANKS>) \
  KERNEL(two_shot_##NAME##_##RANKS, two_shot<T, RANKS>)
#define OF_TYPE(T, NAME) \
  OF_RANKS(T, NAME, 2)   \
  OF_RANKS(T, NAME, 4) OF_RANKS(T, NAME, 6) OF_RANKS(T, NAME, 8) KERNEL(ring_##NAME, ring<T>)

KERNEL(waits_one_shot, one_shot_waits)
KERNEL(waits_two_shot, two_shot_waits)
KERNEL(waits_ring, ring_waits)
OF_TYPE(float, float)
OF_TYPE(__half, half)
OF_TYPE(__nv_bfloat16, bfloat16)
