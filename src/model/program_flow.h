// An explicit schedule on shared links: a FlowSchedule for flow_play.h. A send is over when its
// message has arrived; a calc goes its time without any link.
#pragma once

#include "model/flow_schedule.h"
#include "model/program.h"

namespace comm_probe::model {

class ProgramSchedule : public FlowSchedule {
 public:
  explicit ProgramSchedule(const Program& program) : program_(program), run_(program) {}

  int ranks() const override { return program_.ranks(); }
  void begin(int rank, std::vector<Send>& next) override;
  void delivered(const Send& send, std::vector<Send>& next) override;
  // Messages of two ranks keep their order.
  bool is_pipelined() const override { return true; }

  const ProgramRun& run() const { return run_; }

 private:
  void go_on(std::vector<Send>& next);
  void start(OpId op, std::vector<Send>& next);
  void calculate(OpId op, std::vector<Send>& next);

  // One processor: whether it is busy, and what waits for it.
  struct Cpu {
    bool is_busy = false;
    std::deque<OpId> waiting = {};
  };
  const Program& program_;
  ProgramRun run_;
  std::vector<OpId> ready_ = {};
  std::map<std::pair<int, int>, Cpu> cpus_ = {};
};

}  // namespace comm_probe::model
