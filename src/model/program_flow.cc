#include "model/program_flow.h"

namespace comm_probe::model {

using Kind = ProgramOp::Kind;

void ProgramSchedule::begin(int rank, std::vector<Send>& next) {
  run_.begin(rank, ready_);
  go_on(next);
}

void ProgramSchedule::delivered(const Send& send, std::vector<Send>& next) {
  const OpId id = send.mark;
  const ProgramOp& op = program_.at(id);
  run_.over(id, ready_);
  if (op.kind == Kind::kSend) {
    if (const auto recv = run_.arrived(id)) run_.over(*recv, ready_);
  } else {
    Cpu& cpu = cpus_[{op.rank, op.cpu}];
    cpu.is_busy = false;
    if (!cpu.waiting.empty()) {
      const OpId waiting = cpu.waiting.front();
      cpu.waiting.pop_front();
      calculate(waiting, next);
    }
  }
  go_on(next);
}

// First come, first served: `ready_` grows while it is gone through.
void ProgramSchedule::go_on(std::vector<Send>& next) {
  for (std::size_t i = 0; i < ready_.size(); ++i) start(ready_[i], next);
  ready_.clear();
}

void ProgramSchedule::start(OpId id, std::vector<Send>& next) {
  const ProgramOp& op = program_.at(id);
  if (op.kind == Kind::kCalc) return calculate(id, next);
  run_.begun(id, ready_);
  if (op.kind == Kind::kRecv) {
    if (run_.post(id)) run_.over(id, ready_);
  } else {
    next.push_back({op.rank, op.peer, op.bytes, id});
  }
}

void ProgramSchedule::calculate(OpId id, std::vector<Send>& next) {
  const ProgramOp& op = program_.at(id);
  Cpu& cpu = cpus_[{op.rank, op.cpu}];
  if (cpu.is_busy) return cpu.waiting.push_back(id);
  cpu.is_busy = true;
  run_.begun(id, ready_);
  next.push_back({op.rank, op.rank, {}, id, op.time});
}

}  // namespace comm_probe::model
