// An explicit schedule: what every rank sends, receives and calculates, and what must be over, or
// begun, before. Imported schedules (sim/readers/) are lowered to it; program_play.h plays it on
// links of their own, program_flow.h on links that are shared.
//
//   send   of `bytes` to a peer with a tag; over when the last byte has left the sender
//   recv   takes the first message that came from that peer (or any) with that tag (or any): in the
//          order in which messages come, by the order in which receives were posted
//   calc   takes `time` on one of the rank's processors, one after the other on each
//
// A message waits at its receiver for as long as it must (eager): a sender never waits for a recv.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/quantity.h"

namespace comm_probe::model {

using OpId = std::uint32_t;

struct ProgramOp {
  enum class Kind : std::uint8_t { kSend, kRecv, kCalc };
  static constexpr int kAnyPeer = -1;
  static constexpr std::uint32_t kAnyTag = 0xffffffff;
  Kind kind = Kind::kCalc;
  std::uint8_t cpu = 0;
  int rank = 0;
  int peer = 0;
  std::uint32_t tag = 0;
  core::Bytes bytes = {};
  core::Duration time = {};  // of a calc
};

class Program {
 public:
  explicit Program(int ranks) : ranks_(ranks) {}

  OpId add(const ProgramOp& op);
  // `op` waits until `needs` is over; with `begun` only until it has begun. Both of one rank.
  void require(OpId op, OpId needs, bool begun = false);
  // No op is added after this. Returns ops that wait for each other in a circle, in order: empty
  // where there is none.
  std::vector<OpId> seal();

  int ranks() const { return ranks_; }
  std::size_t size() const { return ops_.size(); }
  bool is_sealed() const { return first_.size() == ops_.size() + 1; }
  const ProgramOp& at(OpId op) const { return ops_[op]; }
  std::span<const ProgramOp> ops() const { return ops_; }
  // What waits for `op`, and for how many each op waits.
  struct After {
    OpId op = 0;
    bool begun = false;
  };
  std::span<const After> after(OpId op) const {
    return {after_.data() + first_[op], after_.data() + first_[op + 1]};
  }
  std::uint32_t needs(OpId op) const { return needs_[op]; }

 private:
  struct Edge {
    OpId from = 0, to = 0;
    bool begun = false;
  };
  std::vector<OpId> circle_in(const std::vector<std::uint32_t>& open) const;

  int ranks_ = 0;
  std::vector<ProgramOp> ops_ = {};
  std::vector<Edge> edges_ = {};
  std::vector<std::size_t> first_ = {};
  std::vector<After> after_ = {};
  std::vector<std::uint32_t> needs_ = {};
};

// What can go on in a program while somebody else keeps the time.
class ProgramRun {
 public:
  explicit ProgramRun(const Program& program);

  // The ops of a rank that wait for nothing are added to `ready`; and so below, whatever the call
  // sets free.
  void begin(int rank, std::vector<OpId>& ready);
  // Every op begins once, and is over once, not before.
  void begun(OpId op, std::vector<OpId>& ready);
  void over(OpId op, std::vector<OpId>& ready);
  // A recv looks for its message, a message for its recv: the recv that is over, if any.
  std::optional<OpId> post(OpId recv);
  std::optional<OpId> arrived(OpId send);

  // How it ended, when nothing can go on.
  struct Ends {
    std::vector<OpId> starved = {};     // receives that were posted and found no message
    std::vector<OpId> unreceived = {};  // messages that no recv took
    std::vector<bool> over = {};        // by op
    std::size_t never = 0;              // ops that are not over, because of a recv that starved
  };
  Ends ends() const;
  // No schedule with these messages taken by these receives can be faster, whatever its links and
  // processors do otherwise: the longest way through what happened, each message its alpha alone.
  core::Duration dependency_floor(
      const std::function<core::Duration(int from, int to)>& alpha) const;

 private:
  void release(OpId op, bool begun, std::vector<OpId>& ready);
  bool fits(OpId recv, OpId send) const;

  // Of one receiver: what waits, by the peer and tag of the message. A recv that takes any peer or
  // any tag is looked at by its age.
  struct Waiting {
    std::map<std::pair<int, std::uint32_t>, std::deque<std::pair<std::uint64_t, OpId>>> exact = {};
    std::deque<std::pair<std::uint64_t, OpId>> any = {};
  };
  const Program& program_;
  std::vector<std::uint32_t> open_ = {};
  std::vector<std::vector<OpId>> first_ops_ = {};  // by rank, those that wait for nothing
  std::vector<Waiting> posted_ = {}, came_ = {};   // by rank
  std::uint64_t age_ = 0;
  // What happened, in order: 2 * op when it began, 2 * op + 1 when it was over.
  std::vector<std::uint32_t> log_ = {};
  std::vector<OpId> match_ = {};  // by recv: its message
};

}  // namespace comm_probe::model
