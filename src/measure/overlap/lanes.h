// One GPU's two streams in the overlap probe: products on one, the all_reduce on the other, and the
// events that say when each ran. Both streams are held until everything is launched.
#pragma once

#include <vector>

#include "measure/engines/cuda/gemm.h"
#include "measure/overlap/communication.h"

namespace comm_probe::measure {

// How often each is launched, and whether the host waits in between. NCCL's first call connects the
// ranks and loads its kernels, and both wait for all that a GPU has to do: it must find no stream
// that is held (two H200, 2026-11-30: it never ended).
struct Arrangement {
  int products = 0;
  int calls = 0;
  bool is_synchronised = false;
  bool is_held = true;
};

struct LaneTimes {
  core::Duration span = {};
  core::Duration exposed = {};
  core::Duration gemm = {};
  core::Duration comm = {};
};

class Lane {
 public:
  static core::Result<Lane> make(const Communication& mover, int gpu, int matrix);

  // In this order; between them all_reduces are issued for all lanes.
  core::Result<bool> begin() const;              // holds both streams, notes the start of both
  core::Result<bool> end_communication() const;  // notes the end of the all_reduces
  core::Result<bool> compute(int products) const;
  void release() const;
  core::Result<bool> wait_for_communication() const;
  core::Result<bool> wait() const;
  core::Result<LaneTimes> times(const Arrangement& arrangement) const;

  core::Result<std::uint64_t> count_wrong() const;

 private:
  Lane(const cuda::Context& context, const cuda::Stream& comm, cuda::Stream stream, cuda::Gemm gemm,
       cuda::Module module, cuda::PinnedBuffer word, std::vector<cuda::Event> events)
      : context_(&context),
        comm_(&comm),
        stream_(std::move(stream)),
        gemm_(std::move(gemm)),
        module_(std::move(module)),
        word_(std::move(word)),
        events_(std::move(events)) {}
  enum Moment : std::size_t { kStart, kCommBegin, kCommEnd, kGemmBegin, kGemmEnd, kMoments };
  core::Result<core::Duration> since_start(Moment moment) const;
  core::Result<Interval> between(Moment begin, Moment end) const;

  const cuda::Context* context_;
  const cuda::Stream* comm_;
  cuda::Stream stream_;
  cuda::Gemm gemm_;
  cuda::Module module_;
  cuda::PinnedBuffer word_;
  cuda::FunctionHandle hold_ = nullptr;
  std::vector<cuda::Event> events_;
};

}  // namespace comm_probe::measure
