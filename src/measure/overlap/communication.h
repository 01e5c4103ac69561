// What communicates in the overlap probe: an all_reduce on one stream per GPU, by NCCL or by our
// own kernel.
//
//   auto mover = Communication::over_nccl(library, plan, gpus);   // or ::on_one_gpu(plan)
//   (*mover)->issue();                                            // on every GPU's stream
#pragma once

#include <memory>
#include <string>

#include "measure/engines/cuda/resources.h"
#include "measure/engines/nccl/library.h"
#include "measure/overlap/overlap.h"

namespace comm_probe::measure {

class Communication {
 public:
  // One rank for each of so many GPUs, in this process.
  static core::Result<std::unique_ptr<Communication>> over_nccl(const nccl::Library& library,
                                                                const OverlapPlan& plan, int gpus);
  // Two ranks on the first GPU.
  static core::Result<std::unique_ptr<Communication>> on_one_gpu(const OverlapPlan& plan);

  Communication() = default;
  virtual ~Communication() = default;
  Communication(const Communication&) = delete;
  Communication& operator=(const Communication&) = delete;

  virtual std::string name() const = 0;
  virtual int ranks() const = 0;
  virtual int gpus() const = 0;
  virtual const cuda::Context& context(int gpu) const = 0;
  virtual const cuda::Stream& stream(int gpu) const = 0;
  // One all_reduce of all ranks.
  virtual core::Result<bool> issue() = 0;
};

}  // namespace comm_probe::measure
