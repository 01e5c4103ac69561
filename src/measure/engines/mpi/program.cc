#include "measure/engines/mpi/program.h"

namespace comm_probe::measure::mpi {

Program::Program(const Schedule& schedule, const Call& call, int ranks)
    : scratch_(call.bytes(schedule.scratch)),
      reduce_(kernels_.reduction(call.element, call.reduction)),
      scale_(call.reduction == Reduction::kAvg ? kernels_.scale[static_cast<int>(call.element)]
                                               : nullptr),
      element_(element_bytes(call.element)),
      ranks_(ranks) {
  for (const Slot& slot : schedule.slots) {
    Step step;
    for (const Transfer& transfer : slot.sends) step.sends.push_back(message(transfer, call));
    for (const Transfer& transfer : slot.receives) step.receives.push_back(message(transfer, call));
    for (const Work& work : slot.work) {
      const Loop loop = {address(work.to, call), address(work.a, call),
                         work.b ? address(*work.b, call) : nullptr, work.count, work.is_last};
      if (loop.b != nullptr || loop.to != loop.a) step.loops.push_back(loop);  // in place: nothing
    }
    if (!step.sends.empty() || !step.receives.empty() || !step.loops.empty())
      steps_.push_back(std::move(step));
  }
}

std::byte* Program::address(const Spot& spot, const Call& call) {
  switch (spot.place) {
    case Place::kInput:
      return const_cast<std::byte*>(call.sent(spot.first));  // only read
    case Place::kOutput:
      return call.received(spot.first);
    case Place::kScratch:
      return scratch_.data() + call.bytes(spot.first);
  }
  return nullptr;
}

comm_probe_mpi_message Program::message(const Transfer& transfer, const Call& call) {
  return {address(transfer.at, call), call.bytes(transfer.count), transfer.peer};
}

int Program::transfer(const comm_probe_mpi& calls, const Step& step) const {
  constexpr comm_probe_mpi_message kNone = {nullptr, 0, -1};
  if (step.sends.size() > 1 || step.receives.size() > 1)
    return calls.exchange_all(step.sends.data(), static_cast<int>(step.sends.size()),
                              step.receives.data(), static_cast<int>(step.receives.size()));
  if (step.sends.empty() && step.receives.empty()) return 0;
  return calls.exchange(step.sends.empty() ? &kNone : step.sends.data(),
                        step.receives.empty() ? &kNone : step.receives.data());
}

void Program::work(const Loop& loop) const {
  if (loop.b == nullptr) return kernels_.copy(loop.to, loop.a, loop.count * element_);
  reduce_(loop.to, nullptr, loop.a, loop.b, loop.count);
  if (loop.is_last && scale_ != nullptr) scale_(loop.to, loop.count, ranks_);
}

int Program::run(const comm_probe_mpi& calls) const {
  for (const Step& step : steps_) {
    if (const int status = transfer(calls, step); status != 0) return status;
    for (const Loop& loop : step.loops) work(loop);
  }
  return 0;
}

}  // namespace comm_probe::measure::mpi
