// When does every rank finish where links are unlike or ranks come late? The closed form
// (closed_form.h) knows one link; here each message has its own, and every rank its own clock.
//
// A message of w bytes from a to b starts at s, when a has what it received in the round before,
// the port out of a is free, and the port into b is free; both ports are busy for w / beta, and the
// message is there alpha later:
//
//   s = max(ready[a], out[a], in[b])     out[a] = in[b] = s + w / beta(a, b)
//   ready'[b] = max(ready[b], s + alpha(a, b) + w / beta(a, b))
//
// ready' counts from the next round on. Only these numbers are kept, a few for each rank, however
// many rounds there are. A sender does not wait for a receiver that is late: its messages lie in
// that rank's buffers.
//
// Where all links are alike this is the closed form, to 1e-9 (tests/property/recurrence_test.cc).
// Worked example (tests/unit/model/recurrence_test.cc): 1 GiB around a ring of 8 ranks, 500 ns and
// 50 GB/s per link, 14 rounds of 128 MiB: 37.58796 ms (spec/simulation-timing.md, section C).
#pragma once

#include <span>
#include <vector>

#include "core/quantity.h"
#include "model/network.h"
#include "model/rounds.h"

namespace comm_probe::model {

class Recurrence : public Rounds {
 public:
  // `late`: how long after time 0 each rank begins; empty: none is late. `network` must live on.
  Recurrence(const Network& network, std::span<const core::Duration> late);

  int ranks() const { return static_cast<int>(ready_.size()); }

  void shift_at_once(std::span<const Shift> shapes, core::Bytes bytes) override;
  void exchange(int mask, int below, core::Bytes bytes) override;
  void messages(std::span<const Message> all) override;

  // A message outside of rounds, for trees and chains, which pass on chunk after chunk: `have` is
  // when the sender has the chunk. Returns when it has arrived; ready() is left alone. kByPlace: a
  // rank has a port inside its node and another out of it, so that both can be busy at once.
  enum class Ports { kOne, kByPlace };
  core::Duration send(const Message& message, core::Duration have, Ports ports = Ports::kOne);
  // From now on the rank has nothing before `time`.
  void wait_until(int rank, core::Duration time);

  core::Duration ready(int rank) const;
  core::Duration finished() const;  // of the last rank

 private:
  struct Row {  // what a message of a shift costs, by sender
    Shift shape = {0, 0};
    std::vector<double> alpha = {}, per_byte = {};
  };
  void load(const Shift& shape);
  void pass(const Shift& shape, double bytes);
  void pass_block(int first, const Shift& shape, double bytes);
  void one(const Message& message);
  void begin_round() { next_ = ready_; }
  void end_round() { ready_.swap(next_); }

  const Network& network_;
  Row row_ = {};
  // seconds; plain numbers, because this loop over ranks is what takes the time
  std::vector<double> ready_ = {}, next_ = {}, out_ = {}, in_ = {};
  std::vector<double> out_across_ = {}, in_across_ = {};  // used by kByPlace alone
};

}  // namespace comm_probe::model
