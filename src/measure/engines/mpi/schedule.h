// A collective algorithm as data: what one rank sends, receives and computes, slot by slot. The
// same schedule runs over MPI (program.h), is priced (price.h), and is proved by a test that plays
// all ranks in one process.
//
// Slots have one number for all ranks: what rank a sends to rank b in slot k, b receives from a in
// slot k. So no order of waiting can come to a standstill, and a chunk that needs a link needs it
// in one slot. Messages of a slot travel at the same time; the work of a slot follows its messages.
//
// Worked example (tests/unit/measure/mpi_schedule_test.cc): all_reduce of 8 elements on 2 ranks,
// ring: slot 0: rank 0 sends elements 0..3, receives 4..7 into scratch and reduces them; slot 1:
// sends 4..7, receives 0..3. Two slots of half the message: 2(n-1) steps, 2(n-1)/n of the bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/result.h"
#include "measure/call.h"
#include "measure/measure.h"
#include "model/collective.h"

namespace comm_probe::measure::mpi {

enum class Place { kInput, kOutput, kScratch };

// An element of the rank's send buffer, receive buffer, or of what the algorithm keeps for itself.
struct Spot {
  Place place = Place::kInput;
  std::size_t first = 0;
  Spot operator+(std::size_t elements) const { return {place, first + elements}; }
};
struct Transfer {
  int peer = 0;
  Spot at = {};
  std::size_t count = 0;
};
// to = a, or to = a op b where there is a b (a the operand of the lower rank).
struct Work {
  Spot to = {};
  Spot a = {};
  std::optional<Spot> b = {};
  std::size_t count = 0;
  bool is_last = false;  // of these elements: avg divides
};
struct Slot {
  std::vector<Transfer> sends = {};
  std::vector<Transfer> receives = {};
  std::vector<Work> work = {};
};
struct Schedule {
  std::vector<Slot> slots = {};
  std::size_t scratch = 0;  // elements
};

// One call of one rank. `count` and `root` are those of measure::Call.
struct Case {
  model::Op op = model::Op::kAllReduce;
  int rank = 0;
  int ranks = 1;
  int root = 0;
  std::size_t count = 0;
  bool is_in_place = false;
  std::size_t chunk = 1;  // elements in which trees and chains pass a message on
};

using Builder = Schedule (*)(const Case&);
// Nothing where the combination does not exist.
Builder find_builder(model::Op op, model::Algorithm algorithm);
std::vector<model::Algorithm> algorithms_for(model::Op op);
// Fails with what exists for the op. Schedules are for two ranks and more.
core::Result<Builder> require_builder(model::Op op, model::Algorithm algorithm);

// Trees and chains pass messages on in chunks of so many bytes: long enough that the latency of a
// message (some us on a network) is small beside its transfer, short enough that 1 MiB is in flight
// on several links at once.
inline constexpr std::size_t kChunkBytes = std::size_t{64} << 10;

// The case of one rank of a plan, out of place, at `count` elements.
Case case_of(const Plan& plan, int rank, std::size_t count);

}  // namespace comm_probe::measure::mpi
