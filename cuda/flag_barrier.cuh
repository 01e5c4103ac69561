// Flags in memory that several GPUs (or several blocks of one) can reach: how block b of a rank
// meets block b of the others, and how long it waits for them.
//
// Two strengths (PTX memory model, "Release and Acquire Patterns"):
//  - kOrdered: what a block wrote before it arrived is visible to whoever has met it. All threads
//    write; bar.sync orders their writes before the st.release.sys of the thread that signals;
//    the peer's ld.acquire.sys reads that flag and synchronizes with it; bar.sync orders the
//    peer's other threads after it. Release is cumulative, so the chain holds for all writes of
//    the block, and system scope holds it across GPUs and processes. The acquire also drops what
//    the SM's L1 holds, where a neighbour's read may have left an old copy of the same sector.
//  - kRelaxed: only says "I have read what I wanted". Enough where the next write to that memory
//    is what must wait: a thread's loads have returned their values before it reaches bar.sync
//    (the stores of the sums, which need them as operands, were issued before), and a value that
//    is in a register cannot be changed by a later write. It may not be used to publish data.
#pragma once

#include <cstdint>

#include "measure/engines/cuda/all_reduce_call.h"

namespace comm_probe::measure::cuda {

enum class Order { kRelaxed, kOrdered };

template <Order order>
__device__ inline void store_flag(std::uint32_t* flag, std::uint32_t value) {
  if constexpr (order == Order::kOrdered)
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
  else
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

template <Order order>
__device__ inline std::uint32_t load_flag(const std::uint32_t* flag) {
  std::uint32_t value;
  if constexpr (order == Order::kOrdered)
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  else
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

__device__ inline std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

// Where nothing disturbs the meeting of blocks (the stress test plants delays there).
struct Undisturbed {
  __device__ void operator()() const {}
};

template <class Disturbance = Undisturbed>
class Block {
 public:
  __device__ Block(const AllReduceCall& call, int rank, Disturbance disturb = {})
      : call_(call), rank_(rank), disturb_(disturb), own_(signals_of(rank)) {
    barriers_ = own_->barriers;
    messages_ = own_->messages;
  }

  // All blocks of this number, of all ranks. False: somebody did not come in time, all threads of
  // the block are told.
  template <Order order>
  __device__ bool meet() {
    ++barriers_;
    disturb_();
    __syncthreads();
    bool came = true;
    const int peer = static_cast<int>(threadIdx.x);
    if (peer < call_.ranks && peer != rank_) {
      store_flag<order>(&signals_of(peer)->arrived[rank_], barriers_);
      came = wait<order>(&own_->arrived[peer], barriers_, peer);
    }
    const bool all_came = __syncthreads_and(came) != 0;
    disturb_();
    return all_came;
  }

  // Tells the rank after this one that everything the block has written for it is there.
  __device__ void push() {
    ++messages_;
    disturb_();
    __syncthreads();
    if (threadIdx.x == 0) store_flag<Order::kOrdered>(&signals_of(after())->pushed, messages_);
  }
  // Waits for the message of the same number from the rank before.
  __device__ bool pull(std::uint32_t number) {
    bool came = true;
    if (threadIdx.x == 0) came = wait<Order::kOrdered>(&own_->pushed, number, before());
    const bool all_came = __syncthreads_and(came) != 0;
    disturb_();
    return all_came;
  }

  __device__ std::uint32_t messages() const { return messages_; }
  __device__ int after() const { return (rank_ + 1) % call_.ranks; }
  __device__ int before() const { return (rank_ + call_.ranks - 1) % call_.ranks; }

  // What the next launch goes on from. Also after a failure: nothing that follows is meant.
  __device__ void leave() {
    if (threadIdx.x != 0) return;
    own_->barriers = barriers_;
    own_->messages = messages_;
  }

 private:
  __device__ BlockSignals* signals_of(int rank) const {
    return &call_.signals[rank]->block[blockIdx.x];
  }

  template <Order order>
  __device__ bool wait(const std::uint32_t* flag, std::uint32_t wanted, int peer) {
    std::uint64_t since = 0;
    for (std::uint32_t polls = 1;; ++polls) {
      const std::uint32_t seen = load_flag<order>(flag);
      if (static_cast<std::int32_t>(seen - wanted) >= 0) return true;
      if (polls % kPollsPerLook != 0) continue;
      if (since == 0) since = nanoseconds();
      if (is_hopeless(since)) return give_up(wanted, seen, peer);
    }
  }

  // Out of time, or another block of this rank is: then every launch that is still queued ends at
  // once instead of waiting as long again.
  __device__ bool is_hopeless(std::uint64_t since) const {
    if (load_flag<Order::kRelaxed>(&call_.signals[rank_]->failure.happened) != 0) return true;
    return nanoseconds() - since > call_.timeout_ns;
  }

  __device__ bool give_up(std::uint32_t wanted, std::uint32_t seen, int peer) {
    Failure& failure = call_.signals[rank_]->failure;
    if (atomicCAS(&failure.happened, 0U, 1U) == 0U) {
      failure.rank = static_cast<std::uint32_t>(rank_);
      failure.peer = static_cast<std::uint32_t>(peer);
      failure.block = blockIdx.x;
      failure.wanted = wanted;
      failure.seen = seen;
    }
    return false;
  }

  // A poll takes some 0.5 us: the clock is read every half millisecond, never in a short wait.
  static constexpr std::uint32_t kPollsPerLook = 1024;

  const AllReduceCall& call_;
  int rank_;
  Disturbance disturb_;
  BlockSignals* own_;
  std::uint32_t barriers_;
  std::uint32_t messages_;
};

}  // namespace comm_probe::measure::cuda
