#include <fmt/format.h>

#include <vector>

#include "measure/engines/nccl/device_rank.h"
#include "measure/overlap/communication.h"

namespace comm_probe::measure {
namespace {

using core::Result;

Plan plan_of(const OverlapPlan& asked) {
  Plan plan;
  plan.begin = plan.end = asked.bytes;
  return plan;
}

class NcclCommunication : public Communication {
 public:
  NcclCommunication(const nccl::Library& library, const OverlapPlan& asked)
      : library_(library), plan_(plan_of(asked)) {}
  ~NcclCommunication() override {
    for (nccl::DeviceRank& rank : ranks_) rank.leave();
  }

  Result<bool> join(int gpus) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      auto rank = nccl::DeviceRank::make(library_, plan_, {gpu, gpus, gpu});
      if (!rank) return rank.error();
      ranks_.push_back(std::move(*rank));
    }
    nccl::UniqueId id;
    if (const int status = library_.calls().get_unique_id(&id); status != nccl::kSuccess)
      return failed("ncclGetUniqueId", status);
    return grouped([&](nccl::DeviceRank& rank) { return rank.join(id); });
  }

  std::string name() const override { return fmt::format("NCCL {}", library_.version().text()); }
  int ranks() const override { return gpus(); }
  int gpus() const override { return static_cast<int>(ranks_.size()); }
  const cuda::Context& context(int gpu) const override { return at(gpu).context(); }
  const cuda::Stream& stream(int gpu) const override { return at(gpu).stream(); }
  Result<bool> issue() override {
    const std::size_t count = amount_of(plan_, plan_.begin).count;
    return grouped([&](nccl::DeviceRank& rank) { return rank.issue(rank.call_of(count, false)); });
  }

 private:
  const nccl::DeviceRank& at(int gpu) const { return ranks_[static_cast<std::size_t>(gpu)]; }
  core::Error failed(const char* what, int status) const {
    return core::missing_error(fmt::format("{}: {}", what, library_.explain(status)));
  }
  template <class Act>
  Result<bool> grouped(const Act& act) {
    library_.calls().group_start();
    Result<bool> done = true;
    for (nccl::DeviceRank& rank : ranks_)
      if (done) done = act(rank);
    const int status = library_.calls().group_end();
    if (!done) return done;
    if (status != nccl::kSuccess && status != nccl::kInProgress)
      return failed("ncclGroupEnd", status);
    return true;
  }

  const nccl::Library& library_;
  const Plan plan_;
  std::vector<nccl::DeviceRank> ranks_ = {};
};

}  // namespace

Result<std::unique_ptr<Communication>> Communication::over_nccl(const nccl::Library& library,
                                                                const OverlapPlan& plan, int gpus) {
  auto mover = std::make_unique<NcclCommunication>(library, plan);
  if (const auto joined = mover->join(gpus); !joined) return joined.error();
  return std::unique_ptr<Communication>(std::move(mover));
}

}  // namespace comm_probe::measure
