#include "measure/engines/nccl/board.h"

#include <algorithm>
#include <cstring>

namespace comm_probe::measure::nccl {

core::Result<Board> Board::make(int processes, int ranks, std::size_t sizes) {
  auto memory = local::SharedMemory::map(static_cast<std::size_t>(processes) * sizeof(Note) +
                                             static_cast<std::size_t>(ranks) * sizeof(Place),
                                         false);
  if (!memory) return memory.error();
  auto samples = local::SampleTable::make(ranks, sizes);
  if (!samples) return samples.error();
  return Board(std::move(*memory), std::move(*samples), processes, ranks);
}

Note& Board::note(int process) const { return reinterpret_cast<Note*>(memory_.data())[process]; }

Place& Board::place(int rank) const {
  std::byte* places = memory_.data() + static_cast<std::size_t>(processes_) * sizeof(Note);
  return reinterpret_cast<Place*>(places)[rank];
}

void copy_text(const std::string& text, char* to, std::size_t size) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace comm_probe::measure::nccl
