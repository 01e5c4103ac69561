#include "model/recurrence.h"

#include <algorithm>

namespace comm_probe::model {

using core::Bytes;
using core::Duration;

Recurrence::Recurrence(const Network& network, std::span<const Duration> late)
    : network_(network), ready_(static_cast<std::size_t>(network.ranks()), 0.0) {
  COMM_PROBE_CHECK(late.empty() || late.size() == ready_.size(), "a start for every rank");
  for (std::size_t rank = 0; rank < late.size(); ++rank) ready_[rank] = late[rank].in_seconds();
  next_ = out_ = ready_;
  in_.assign(ready_.size(), 0.0);  // messages are taken in before the rank comes
  out_across_ = out_;
  in_across_ = in_;
}

void Recurrence::load(const Shift& shape) {
  if (row_.shape == shape) return;
  row_.shape = shape;
  row_.alpha.resize(ready_.size());
  row_.per_byte.resize(ready_.size());
  for (int from = 0; from < ranks(); ++from) {
    const int first = from - from % shape.block;
    const Link link = network_.between(from, first + (from - first + shape.distance) % shape.block);
    row_.alpha[static_cast<std::size_t>(from)] = link.alpha.in_seconds();
    row_.per_byte[static_cast<std::size_t>(from)] = 1 / link.beta.in_bytes_per_second();
  }
}

namespace {

// Senders [first, last) to receivers that begin at `to`: two runs of neighbours, so that the loop
// is one over contiguous memory.
struct Run {
  std::size_t first = 0, to = 0, count = 0;
};

struct Clocks {
  const double* ready;
  double* next;
  double* out;
  double* in;
  const double* alpha;
  const double* per_byte;
};

void pass_run(const Run& run, const Clocks& at, double bytes) {
  const double *ready = at.ready + run.first, *alpha = at.alpha + run.first,
               *per_byte = at.per_byte + run.first;
  double* __restrict out = at.out + run.first;
  double* __restrict in = at.in + run.to;
  double* __restrict next = at.next + run.to;
  for (std::size_t i = 0; i < run.count; ++i) {
    const double start = std::max(std::max(ready[i], out[i]), in[i]);
    const double free = start + bytes * per_byte[i];
    out[i] = free;
    in[i] = free;
    next[i] = std::max(next[i], free + alpha[i]);
  }
}

}  // namespace

void Recurrence::pass_block(int first, const Shift& shape, double bytes) {
  const auto begin = static_cast<std::size_t>(first),
             distance = static_cast<std::size_t>(shape.distance % shape.block);
  const auto block = static_cast<std::size_t>(shape.block);
  const Clocks at = {ready_.data(), next_.data(),      out_.data(),
                     in_.data(),    row_.alpha.data(), row_.per_byte.data()};
  pass_run({begin, begin + distance, block - distance}, at, bytes);
  pass_run({begin + block - distance, begin, distance}, at, bytes);
}

void Recurrence::pass(const Shift& shape, double bytes) {
  COMM_PROBE_CHECK(shape.block > 0 && ranks() % shape.block == 0, "blocks fill the ranks");
  load(shape);
  for (int first = 0; first < ranks(); first += shape.block) pass_block(first, shape, bytes);
}

void Recurrence::shift_at_once(std::span<const Shift> shapes, Bytes bytes) {
  begin_round();
  for (const Shift& shape : shapes) pass(shape, bytes.count());
  end_round();
}

Duration Recurrence::send(const Message& message, Duration have, Ports ports) {
  const Link link = network_.between(message.from, message.to);
  const bool is_across =
      ports == Ports::kByPlace && !network_.shares_node(message.from, message.to);
  double& out = (is_across ? out_across_ : out_)[static_cast<std::size_t>(message.from)];
  double& in = (is_across ? in_across_ : in_)[static_cast<std::size_t>(message.to)];
  out = in = std::max({have.in_seconds(), out, in}) +
             message.bytes.count() / link.beta.in_bytes_per_second();
  return Duration::from_seconds(out) + link.alpha;
}

void Recurrence::one(const Message& message) {
  const Duration there = send(message, ready(message.from));
  double& next = next_[static_cast<std::size_t>(message.to)];
  next = std::max(next, there.in_seconds());
}

void Recurrence::exchange(int mask, int below, Bytes bytes) {
  begin_round();
  for (int rank = 0; rank < below; ++rank)
    if ((rank ^ mask) < below) one({rank, rank ^ mask, bytes});
  end_round();
}

void Recurrence::messages(std::span<const Message> all) {
  begin_round();
  for (const Message& message : all) one(message);
  end_round();
}

void Recurrence::wait_until(int rank, Duration time) {
  double& ready = ready_[static_cast<std::size_t>(rank)];
  ready = std::max(ready, time.in_seconds());
}

Duration Recurrence::ready(int rank) const {
  return Duration::from_seconds(ready_[static_cast<std::size_t>(rank)]);
}

Duration Recurrence::finished() const {
  return Duration::from_seconds(*std::max_element(ready_.begin(), ready_.end()));
}

}  // namespace comm_probe::model
