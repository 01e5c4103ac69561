// One rank of NCCL on one GPU: its context, stream, buffers and communicator, and the two things
// that are done with them: one checked call, and a block of timed ones.
//
// Checking: the buffer is filled on the host with known data (measure/known_data.h), copied to the
// GPU, the call is made, and what it left is compared on the host.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "measure/engines/cuda/resources.h"
#include "measure/engines/nccl/issue.h"
#include "measure/measure.h"

namespace comm_probe::measure::nccl {

struct RankPlace {
  int rank = 0;
  int ranks = 1;
  int device = 0;
};

// One of the two buffers, from the driver or from ncclMemAlloc (which registration needs).
class Buffer {
 public:
  static core::Result<Buffer> make(const Library& library, std::size_t bytes,
                                   bool for_registration);
  std::byte* at() const { return at_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
  std::optional<cuda::DeviceBuffer> plain_ = {};
};

class DeviceRank {
 public:
  static core::Result<DeviceRank> make(const Library& library, const Plan& plan, RankPlace place);

  const RankPlace& place() const { return place_; }
  const cuda::Context& context() const { return context_; }
  const cuda::Stream& stream() const { return stream_; }
  // Inside a group where a thread has several.
  core::Result<bool> join(const UniqueId& id);
  // 1: ncclCommRegister, 2: as a symmetric window, which all ranks do together: inside a group
  // where a thread has several, and done when the group is.
  core::Result<bool> register_buffers(int how);
  int registered() const;  // buffers that NCCL took

  Call call_of(std::size_t count, bool in_place) const;
  core::Result<bool> prepare(const Call& call);
  core::Result<bool> issue(const Call& call) const;
  core::Result<std::uint64_t> count_wrong(const Call& call);
  // True once everything on the stream is done; fails where the GPU or NCCL reports an error.
  core::Result<bool> is_done() const;
  void leave();

 private:
  DeviceRank(const Library& library, const Plan& plan, RankPlace place, cuda::Context context,
             cuda::Stream stream)
      : library_(&library),
        plan_(&plan),
        place_(place),
        context_(std::move(context)),
        stream_(std::move(stream)) {}
  Call on_host(const Call& call);
  core::Error failed(const char* what, int status) const;

  const Library* library_;
  const Plan* plan_;
  RankPlace place_;
  cuda::Context context_;
  cuda::Stream stream_;
  Buffer send_ = {};
  Buffer recv_ = {};
  std::vector<std::byte> host_send_ = {};
  std::vector<std::byte> host_recv_ = {};
  Comm comm_ = nullptr;
  std::array<void*, 2> handles_ = {};  // of registered buffers
};

}  // namespace comm_probe::measure::nccl
