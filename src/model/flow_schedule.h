// Who may send what when: a schedule hands out messages as others arrive. Rounds (a list of them,
// kept once where they repeat) and trees with their chunks; an imported schedule is one more.
#pragma once

#include <cstdint>
#include <vector>

#include "core/quantity.h"
#include "model/rounds.h"

namespace comm_probe::model {

struct Send {
  int from = 0;
  int to = 0;
  core::Bytes bytes = {};
  std::uint32_t mark = 0;  // means something to the schedule alone
  // From a rank to itself: no link is crossed, it is there after this time.
  core::Duration local = {};
};

class FlowSchedule {
 public:
  FlowSchedule() = default;
  FlowSchedule(const FlowSchedule&) = delete;
  FlowSchedule& operator=(const FlowSchedule&) = delete;
  virtual ~FlowSchedule() = default;

  virtual int ranks() const = 0;
  // The rank has come, or a message has arrived: what can be sent now is added to `next`.
  virtual void begin(int rank, std::vector<Send>& next) = 0;
  virtual void delivered(const Send& send, std::vector<Send>& next) = 0;
  // Several messages may be on the way between two ranks: their bytes go one after the other.
  virtual bool is_pipelined() const { return false; }
};

// A rank begins a round when all that it sent and received in the one before has arrived. A message
// to a rank that is still in an earlier round lies in its buffers.
class RoundSchedule : public FlowSchedule, public Rounds {
 public:
  explicit RoundSchedule(int ranks);

  void shift_at_once(std::span<const Shift> shapes, core::Bytes bytes) override;
  void exchange(int mask, int below, core::Bytes bytes) override;
  void messages(std::span<const Message> all) override;

  int ranks() const override { return static_cast<int>(states_.size()); }
  void begin(int rank, std::vector<Send>& next) override;
  void delivered(const Send& send, std::vector<Send>& next) override;

  // Rounds that follow each other and are the same stand here once.
  struct Round {
    std::vector<Shift> shapes = {};
    int mask = 0, below = 0;
    std::vector<Message> all = {};
    std::vector<std::vector<std::uint32_t>> by_sender = {};
    std::vector<std::uint32_t> received = {};  // of `all`, by receiver
    core::Bytes bytes = {};
    std::uint32_t times = 1;
  };
  const std::vector<Round>& rounds() const { return rounds_; }
  double total_messages() const;  // of all rounds

 private:
  struct Early {
    std::uint32_t round = 0, count = 0;
  };
  struct State {
    std::uint32_t kind = 0, turn = 0, round = 0;  // in rounds_, in its repetition, in all
    std::uint32_t open = 0;                       // messages of this round still on the way
    bool has_begun = false;
    std::vector<Early> early = {};
  };
  void add(Round round);
  void enter(int rank, std::vector<Send>& next);
  void send_all(int rank, const State& state, std::vector<Send>& next) const;
  std::uint32_t receives(const Round& round, int rank) const;
  void finish_one(int rank, std::uint32_t round, std::vector<Send>& next);

  std::vector<Round> rounds_ = {};
  std::vector<State> states_ = {};
};

// A tree by the parents of its ranks (-1: the root), chunk after chunk: up, down, or up until the
// root has all (with `overlaps`: each chunk as soon as the root has it) and then down.
class TreeSchedule : public FlowSchedule {
 public:
  struct Shape {
    std::vector<int> parent = {};
    bool goes_up = true, goes_down = true, overlaps = false;
  };
  TreeSchedule(Shape shape, core::Bytes bytes, core::Bytes chunk);

  int ranks() const override { return static_cast<int>(shape_.parent.size()); }
  void begin(int rank, std::vector<Send>& next) override;
  void delivered(const Send& send, std::vector<Send>& next) override;
  bool is_pipelined() const override { return true; }

 private:
  struct State {
    std::vector<int> children = {};
    std::uint32_t raised = 0;   // chunks that have come to its parent
    std::uint32_t sent_up = 0;  // handed to the link
    std::uint32_t here = 0;     // chunks of the result that it has
    std::uint32_t sent_down = 0;
    bool has_begun = false;
  };
  State& at(int rank) { return states_[static_cast<std::size_t>(rank)]; }
  core::Bytes size_of(std::uint32_t chunk) const;
  std::uint32_t reduced(int rank);
  void move_up(int rank, std::vector<Send>& next);
  void move_down(int rank, std::vector<Send>& next);

  Shape shape_;
  core::Bytes bytes_, chunk_;
  std::uint32_t chunks_ = 1;
  std::vector<State> states_ = {};
};

}  // namespace comm_probe::model
