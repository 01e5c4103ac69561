// Everybody to everybody: in one step, or in two over parts of the message.
#include "measure/engines/mpi/schedule_builder.h"

namespace comm_probe::measure::mpi {
namespace {

// The other ranks, beginning after our own, so that not all send to rank 0 first.
std::vector<int> others_of(const Case& asked) {
  std::vector<int> others;
  for (int step = 1; step < asked.ranks; ++step)
    others.push_back(wrapped(asked.rank + step, asked));
  return others;
}

// The operand of every rank, in rank order: `own`, and a message of `count` from each other rank
// that arrives in `slot`.
std::vector<Spot> gathered(ScheduleBuilder& builder, const Case& asked, std::size_t slot,
                           const Transfer& own) {
  std::vector<Spot> operands;
  for (int rank = 0; rank < asked.ranks; ++rank)
    operands.push_back(rank == asked.rank ? own.at : builder.keep(own.count));
  for (const int from : others_of(asked))
    builder.receive(slot, {from, operands[static_cast<std::size_t>(from)], own.count});
  return operands;
}

}  // namespace

Schedule one_shot_all_reduce(const Case& asked) {
  ScheduleBuilder builder;
  const Transfer own = {asked.rank, input(0), asked.count};
  for (const int to : others_of(asked)) builder.send(0, {to, own.at, own.count});
  reduce_in_rank_order(builder, 0, gathered(builder, asked, 0, own),
                       {.to = output(0), .count = asked.count});
  return builder.take();
}

Schedule one_shot_all_gather(const Case& asked) {
  ScheduleBuilder builder;
  const auto place = [&](int rank) { return output(static_cast<std::size_t>(rank) * asked.count); };
  for (const int other : others_of(asked)) {
    builder.send(0, {other, input(0), asked.count});
    builder.receive(0, {other, place(other), asked.count});
  }
  builder.copy(0, place(asked.rank), input(0), asked.count);
  return builder.take();
}

Schedule one_shot_reduce_scatter(const Case& asked) {
  ScheduleBuilder builder;
  const auto part = [&](int rank) { return input(static_cast<std::size_t>(rank) * asked.count); };
  for (const int to : others_of(asked)) builder.send(0, {to, part(to), asked.count});
  const Transfer own = {asked.rank, part(asked.rank), asked.count};
  reduce_in_rank_order(builder, 0, gathered(builder, asked, 0, own),
                       {.to = output(0), .count = asked.count});
  return builder.take();
}

Schedule one_shot_broadcast(const Case& asked) {
  ScheduleBuilder builder;
  if (asked.rank != asked.root) {
    builder.receive(0, {asked.root, output(0), asked.count});
    return builder.take();
  }
  for (const int to : others_of(asked)) builder.send(0, {to, input(0), asked.count});
  builder.copy(0, output(0), input(0), asked.count);
  return builder.take();
}

Schedule one_shot_reduce(const Case& asked) {
  ScheduleBuilder builder;
  const Transfer own = {asked.rank, input(0), asked.count};
  if (asked.rank != asked.root)
    builder.send(0, {asked.root, own.at, own.count});
  else
    reduce_in_rank_order(builder, 0, gathered(builder, asked, 0, own),
                         {.to = output(0), .count = asked.count});
  return builder.take();
}

Schedule two_shot_all_reduce(const Case& asked) {
  ScheduleBuilder builder;
  const auto part = [&](int rank) { return part_of({0, asked.count}, rank, asked.ranks); };
  const Piece own = part(asked.rank);
  for (const int to : others_of(asked))
    builder.send(0, {to, input(part(to).first), part(to).count});
  const Transfer ours = {asked.rank, input(own.first), own.count};
  reduce_in_rank_order(builder, 0, gathered(builder, asked, 0, ours),
                       {.to = output(own.first), .count = own.count});
  for (const int other : others_of(asked)) {
    builder.send(1, {other, output(own.first), own.count});
    builder.receive(1, {other, output(part(other).first), part(other).count});
  }
  return builder.take();
}

// In place what arrives must not take the place of what still has to leave.
Schedule direct_all_to_all(const Case& asked) {
  ScheduleBuilder builder;
  const auto first = [&](int rank) { return static_cast<std::size_t>(rank) * asked.count; };
  for (const int other : others_of(asked)) {
    const Spot arrived = asked.is_in_place ? builder.keep(asked.count) : output(first(other));
    builder.send(0, {other, input(first(other)), asked.count});
    builder.receive(0, {other, arrived, asked.count});
    if (asked.is_in_place) builder.copy(0, output(first(other)), arrived, asked.count);
  }
  builder.copy(0, output(first(asked.rank)), input(first(asked.rank)), asked.count);
  return builder.take();
}

// To the next rank, from the previous one.
Schedule direct_send_recv(const Case& asked) {
  ScheduleBuilder builder;
  const Spot arrived = asked.is_in_place ? builder.keep(asked.count) : output(0);
  builder.send(0, {next_of(asked), input(0), asked.count});
  builder.receive(0, {previous_of(asked), arrived, asked.count});
  if (asked.is_in_place) builder.copy(0, output(0), arrived, asked.count);
  return builder.take();
}

}  // namespace comm_probe::measure::mpi
