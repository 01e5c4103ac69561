// log2(n) slots; in slot k every rank exchanges the whole message with the rank whose number
// differs in bit k. Ranks beyond the largest power of two first hand theirs to a partner and get
// the result back at the end.
#include <bit>

#include "measure/engines/mpi/schedule_builder.h"

namespace comm_probe::measure::mpi {
namespace {

struct Doubling {
  const Case& asked;
  int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(asked.ranks)));

  // Among the first 2 * (n - power) ranks, each even one leaves its data with the odd one after it.
  int paired() const { return 2 * (asked.ranks - power); }
  bool sits_out() const { return asked.rank < paired() && asked.rank % 2 == 0; }
  bool has_partner() const { return asked.rank < paired(); }
  int number() const { return has_partner() ? asked.rank / 2 : asked.rank - paired() / 2; }
  int rank_of(int number) const {
    return number < paired() / 2 ? 2 * number + 1 : number + paired() / 2;
  }
};

}  // namespace

Schedule recursive_doubling_all_reduce(const Case& asked) {
  ScheduleBuilder builder;
  const Doubling doubling = {asked};
  const std::size_t begin = doubling.paired() > 0 ? 1 : 0;
  const std::size_t end = begin + std::bit_width(static_cast<unsigned>(doubling.power)) - 1;
  if (doubling.sits_out()) {
    builder.send(0, {asked.rank + 1, input(0), asked.count});
    builder.receive(end, {asked.rank + 1, output(0), asked.count});
    return builder.take();
  }
  const Spot arrived = builder.keep(asked.count);
  Spot mine = input(0);
  // The lower rank's operand first, so that both get the same bits.
  const auto combine = [&](std::size_t slot, int partner, bool is_last) {
    builder.receive(slot, {partner, arrived, asked.count});
    const bool is_first = asked.rank < partner;
    builder.work(slot, {output(0), is_first ? mine : arrived, is_first ? arrived : mine,
                        asked.count, is_last});
    mine = output(0);
  };
  if (doubling.has_partner()) combine(0, asked.rank - 1, false);
  for (std::size_t slot = begin; slot < end; ++slot) {
    const int partner = doubling.rank_of(doubling.number() ^ (1 << (slot - begin)));
    builder.send(slot, {partner, mine, asked.count});
    combine(slot, partner, slot + 1 == end);
  }
  if (doubling.has_partner()) builder.send(end, {asked.rank - 1, output(0), asked.count});
  return builder.take();
}

}  // namespace comm_probe::measure::mpi
