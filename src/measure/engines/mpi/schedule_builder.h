// How the algorithms write their schedules: messages and work are put into numbered slots, empty
// ones are left out.
#pragma once

#include <vector>

#include "measure/engines/mpi/schedule.h"
#include "measure/pieces.h"

namespace comm_probe::measure::mpi {

inline Spot input(std::size_t first) { return {Place::kInput, first}; }
inline Spot output(std::size_t first) { return {Place::kOutput, first}; }
inline Spot scratch(std::size_t first) { return {Place::kScratch, first}; }

class ScheduleBuilder {
 public:
  void send(std::size_t slot, const Transfer& transfer);
  void receive(std::size_t slot, const Transfer& transfer);
  void work(std::size_t slot, const Work& work);
  void copy(std::size_t slot, Spot to, Spot from, std::size_t count) {
    work(slot, {.to = to, .a = from, .count = count});
  }
  // The first of so many elements for this algorithm's own use.
  Spot keep(std::size_t elements);
  Schedule take() { return std::move(schedule_); }

 private:
  Slot& at(std::size_t slot);
  Schedule schedule_ = {};
};

// Operands of all ranks in rank order; `to` gets their reduction. All but the rank's own lie in
// scratch, and the first of those is overwritten.
void reduce_in_rank_order(ScheduleBuilder& builder, std::size_t slot,
                          const std::vector<Spot>& operands, const Work& to);

inline int next_of(const Case& asked) { return (asked.rank + 1) % asked.ranks; }
inline int previous_of(const Case& asked) { return (asked.rank + asked.ranks - 1) % asked.ranks; }
inline int wrapped(int rank, const Case& asked) {
  return ((rank % asked.ranks) + asked.ranks) % asked.ranks;
}

Schedule ring_all_reduce(const Case& asked);
Schedule ring_all_gather(const Case& asked);
Schedule ring_reduce_scatter(const Case& asked);
Schedule chain_broadcast(const Case& asked);
Schedule chain_reduce(const Case& asked);
Schedule tree_all_reduce(const Case& asked);
Schedule tree_broadcast(const Case& asked);
Schedule tree_reduce(const Case& asked);
Schedule double_tree_all_reduce(const Case& asked);
Schedule recursive_doubling_all_reduce(const Case& asked);
Schedule one_shot_all_reduce(const Case& asked);
Schedule one_shot_all_gather(const Case& asked);
Schedule one_shot_reduce_scatter(const Case& asked);
Schedule one_shot_broadcast(const Case& asked);
Schedule one_shot_reduce(const Case& asked);
Schedule two_shot_all_reduce(const Case& asked);
Schedule direct_all_to_all(const Case& asked);
Schedule direct_send_recv(const Case& asked);

}  // namespace comm_probe::measure::mpi
