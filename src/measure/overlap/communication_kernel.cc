#include <algorithm>

#include "measure/engines/cuda/all_reduce_kernels.h"
#include "measure/engines/cuda/all_reduce_launcher.h"
#include "measure/engines/cuda/all_reduce_peers.h"
#include "measure/measure.h"
#include "measure/overlap/communication.h"

namespace comm_probe::measure {
namespace {

using core::Result;

constexpr int kRanks = 2;
constexpr auto kAlgorithm = model::Algorithm::kTwoShot;
// Blocks of a rank: with two ranks about as many multiprocessors as NCCL's channels take on NVLink,
// so that the product is left most of the GPU.
constexpr unsigned kMostBlocks = 16;
constexpr std::uint64_t kTimeoutNs = 10'000'000'000;

class KernelCommunication : public Communication {
 public:
  KernelCommunication(cuda::Context context, cuda::AllReduceKernels kernels,
                      cuda::AllReducePeers peers, cuda::AllReduceLauncher launcher)
      : context_(std::move(context)),
        kernels_(std::move(kernels)),
        peers_(std::move(peers)),
        launcher_(std::move(launcher)) {}

  Result<bool> prepare(const OverlapPlan& plan) {
    const auto kernel = kernels_.of(kAlgorithm);
    if (!kernel) return kernel.error();
    const auto resident = cuda::resident_blocks(*kernel, cuda::kMostThreads, context_);
    if (!resident) return resident.error();
    const auto shape = cuda::shape_for(
        {.algorithm = kAlgorithm,
         .bytes = plan.bytes.whole(),
         .ranks = kRanks,
         .ranks_here = kRanks,
         .resident = *resident,
         .multiprocessors = static_cast<unsigned>(context_.attribute(cuda::kMultiprocessors))});
    if (!shape) return shape.error();
    work_ = {.call = peers_.call(), .kernel = *kernel, .shape = *shape};
    work_.shape.blocks = std::min(work_.shape.blocks, kMostBlocks);
    work_.call.count = plan.bytes.whole() / element_bytes(Element::kF32);
    work_.call.timeout_ns = kTimeoutNs;
    return true;
  }

  std::string name() const override { return "our two-shot kernel"; }
  int ranks() const override { return kRanks; }
  int gpus() const override { return 1; }
  const cuda::Context& context(int) const override { return context_; }
  const cuda::Stream& stream(int) const override { return launcher_.stream(); }
  Result<bool> issue() override { return launcher_.launch(work_); }

 private:
  cuda::Context context_;
  cuda::AllReduceKernels kernels_;
  cuda::AllReducePeers peers_;
  cuda::AllReduceLauncher launcher_;
  cuda::AllReduceWork work_ = {};
};

}  // namespace

Result<std::unique_ptr<Communication>> Communication::on_one_gpu(const OverlapPlan& plan) {
  auto context = cuda::Context::open(0);
  if (!context) return context.error();
  auto kernels = cuda::AllReduceKernels::load(Element::kF32, kRanks);
  if (!kernels) return kernels.error();
  const auto world = cuda::AllReduceWorld::make(1, 1);
  if (!world) return world.error();
  const cuda::AllReduceMemory memory(plan.bytes.whole(), kRanks, 1);
  auto peers = cuda::AllReducePeers::join(memory, *world, 0);
  if (!peers) return peers.error();
  auto launcher = cuda::AllReduceLauncher::make(kRanks);
  if (!launcher) return launcher.error();
  auto mover = std::make_unique<KernelCommunication>(std::move(*context), std::move(*kernels),
                                                     std::move(*peers), std::move(*launcher));
  if (const auto ready = mover->prepare(plan); !ready) return ready.error();
  return std::unique_ptr<Communication>(std::move(mover));
}

}  // namespace comm_probe::measure
