#include "measure/engines/nccl/team.h"

#include "core/packed.h"

namespace comm_probe::measure::nccl {

void Team::collect(int thread, std::size_t size) {
  const Layout& layout = assignment_.layout;
  const local::SampleTable& table = assignment_.board.samples();
  barrier(thread);
  if (thread != 0) return;
  const int mine = layout.ranks_of_process();
  const int first = assignment_.process * mine;
  if (is_spread()) {
    core::Packer samples;
    for (int rank = first; rank < first + mine; ++rank)
      for (const bool in_place : {false, true}) samples(table.at(size, in_place, rank));
    const auto all = met(meeting_.gather(samples.bytes()));
    for (std::size_t process = 1; process < all.size(); ++process) {
      core::Unpacker theirs(all[process]);
      for (int own = 0; own < mine; ++own)
        for (const bool in_place : {false, true})
          theirs(table.at(size, in_place, static_cast<int>(process) * mine + own));
    }
  }
  const int last = is_spread() ? layout.ranks() : first + mine;
  for (int rank = is_spread() ? 0 : first; rank < last; ++rank)
    table.finished(rank).store(static_cast<std::uint32_t>(size + 1), std::memory_order_release);
}

void Team::collect_places(int thread) {
  barrier(thread);
  if (thread != 0 || !is_spread()) return;
  const int mine = assignment_.layout.ranks_of_process();
  core::Packer places;
  for (int own = 0; own < mine; ++own)
    places(assignment_.board.place(assignment_.process * mine + own));
  const auto all = met(meeting_.gather(places.bytes()));
  for (std::size_t process = 1; process < all.size(); ++process) {
    core::Unpacker theirs(all[process]);
    for (int own = 0; own < mine; ++own)
      theirs(assignment_.board.place(static_cast<int>(process) * mine + own));
  }
}

}  // namespace comm_probe::measure::nccl
