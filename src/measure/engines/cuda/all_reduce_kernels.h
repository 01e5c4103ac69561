// The kernels of cuda/all_reduce.cu and cuda/all_reduce_check.cu by what they do, and the grid they
// are launched with.
//
// Blocks of one launch wait for each other, so all of them must be resident: at most
// (blocks that the occupancy calculator puts on a multiprocessor) x (multiprocessors) blocks, over
// all ranks that share the GPU. Kernels that finish by themselves may run beside; they only delay.
#pragma once

#include <string>

#include "measure/element.h"
#include "measure/engines/cuda/all_reduce_check.h"
#include "measure/engines/cuda/resources.h"
#include "model/collective.h"

namespace comm_probe::measure::cuda {

struct LaunchShape {
  unsigned blocks = 1;   // of each rank
  unsigned threads = 1;  // of each block
};

// What a launch for one size is cut into. `resident` blocks fit the GPU at a time, `ranks_here` of
// the `ranks` run on it. Fails where not even one block for each fits.
//
// Found on an H200 (docs/measured/h200-custom-allreduce.md): a thread for each pack is fastest, in
// blocks of 128 threads, of more where it would be over 16 blocks (each block signals every peer);
// two blocks on one multiprocessor wait longer than one.
struct ShapeRequest {
  model::Algorithm algorithm = model::Algorithm::kOneShot;
  std::uint64_t bytes = 0;
  int ranks = 2;
  int ranks_here = 2;
  unsigned resident = 0;
  unsigned multiprocessors = 0;
};
core::Result<LaunchShape> shape_for(const ShapeRequest& request);

// "all_reduce_one_shot_half_8"; a kernel for an even number of ranks also serves one less.
std::string kernel_name(model::Algorithm algorithm, Element element, int ranks);

// Blocks of a kernel that fit the GPU at a time.
core::Result<unsigned> resident_blocks(FunctionHandle kernel, int threads, const Context& context);

class AllReduceKernels {
 public:
  static core::Result<AllReduceKernels> load(Element element, int ranks);
  core::Result<FunctionHandle> of(model::Algorithm algorithm) const;
  // The waiting of that algorithm, with nothing moved.
  core::Result<FunctionHandle> waits(model::Algorithm algorithm) const;
  core::Result<FunctionHandle> fill() const;
  core::Result<FunctionHandle> check() const;
  core::Result<FunctionHandle> stress(model::Algorithm algorithm) const;

 private:
  AllReduceKernels(Module reduce, Module check, Module stress, Element element, int ranks)
      : reduce_(std::move(reduce)),
        check_(std::move(check)),
        stress_(std::move(stress)),
        element_(element),
        ranks_(ranks) {}
  Module reduce_;
  Module check_;
  Module stress_;
  Element element_;
  int ranks_;
};

}  // namespace comm_probe::measure::cuda
