#include "measure/engines/local/death.h"

namespace comm_probe::measure::local {

RankDeath death_of(const Ended& ended) {
  const Died& died = *ended.died;
  const auto rank = static_cast<std::size_t>(died.rank);
  return {died.rank, died.signal, died.sentence(), died.still.has_value(),
          rank < ended.processes.size() ? ended.processes[rank] : 0};
}

}  // namespace comm_probe::measure::local
