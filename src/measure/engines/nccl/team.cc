#include "measure/engines/nccl/team.h"

#include <cstring>

namespace comm_probe::measure::nccl {
namespace {

template <class T>
void append(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
void take(const std::string& text, std::size_t at, T& value) {
  if (text.size() >= (at + 1) * sizeof value)
    std::memcpy(&value, text.data() + at * sizeof value, sizeof value);
}

}  // namespace

void Team::collect(int thread, std::size_t size) {
  const Layout& layout = assignment_.layout;
  const local::SampleTable& table = assignment_.board.samples();
  barrier(thread);
  if (thread != 0) return;
  const int mine = layout.ranks_of_process();
  const int first = assignment_.process * mine;
  if (is_spread()) {
    std::string samples;
    for (int rank = first; rank < first + mine; ++rank)
      for (const bool in_place : {false, true}) append(samples, table.at(size, in_place, rank));
    const auto all = met(meeting_.gather(samples));
    for (std::size_t process = 1; process < all.size(); ++process)
      for (int own = 0; own < mine; ++own)
        for (const bool in_place : {false, true})
          take(all[process], static_cast<std::size_t>(own * 2 + (in_place ? 1 : 0)),
               table.at(size, in_place, static_cast<int>(process) * mine + own));
  }
  const int last = is_spread() ? layout.ranks() : first + mine;
  for (int rank = is_spread() ? 0 : first; rank < last; ++rank)
    table.finished(rank).store(static_cast<std::uint32_t>(size + 1), std::memory_order_release);
}

void Team::collect_places(int thread) {
  barrier(thread);
  if (thread != 0 || !is_spread()) return;
  const int mine = assignment_.layout.ranks_of_process();
  std::string places;
  for (int own = 0; own < mine; ++own)
    append(places, assignment_.board.place(assignment_.process * mine + own));
  const auto all = met(meeting_.gather(places));
  for (std::size_t process = 1; process < all.size(); ++process)
    for (int own = 0; own < mine; ++own)
      take(all[process], static_cast<std::size_t>(own),
           assignment_.board.place(static_cast<int>(process) * mine + own));
}

}  // namespace comm_probe::measure::nccl
