// Any bytes given to the readers of curve/: no crash, and every figure that comes out is one that
// the records promise (finite, in their bounds, in the order of the lines).
#include <cstdlib>

#include "curve/curve.h"

namespace {

using comm_probe::curve::Curve;
using comm_probe::curve::Row;
using comm_probe::curve::Timing;

void require(bool promise) {
  if (!promise) std::abort();
}

void check(const Timing& timing) {
  require(timing.time.in_us() >= 0 && timing.time.in_us() <= 1e15);
  require(timing.algbw.in_GBps() <= 1e15 && timing.busbw.in_GBps() <= 1e15);
}

void check(const Row& row) {
  require(row.out_of_place || row.in_place || row.bytes.count() >= 0);
  require(row.bytes.count() <= 9007199254740992.0);
  if (row.out_of_place) check(*row.out_of_place);
  if (row.in_place) check(*row.in_place);
}

void check(const Curve& curve) {
  require(curve.ranks.value_or(1) >= 1 && curve.nodes.value_or(1) >= 1);
  require(curve.ranks.has_value() == (curve.ranks_from != comm_probe::curve::KnownFrom::kUnknown));
  for (const Row& row : curve.rows) check(row);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The first byte chooses a file name, since names say the operation and the ranks.
  static const char* const kNames[] = {"input", "c1_2n_allreduce.txt", "8gpu_alltoall_a2a.log",
                                       "x_128n_allgather_64gpu"};
  const char* name = size > 0 ? kNames[data[size - 1] % 4] : "input";
  auto input = comm_probe::core::Input::from_memory(
      name, std::string(reinterpret_cast<const char*>(data), size));
  const auto reading = comm_probe::curve::read(input);
  if (!reading) {
    require(!reading.error().one_line().empty());
    return 0;
  }
  require(!reading->curves.empty() || !reading->pairs.empty() || !reading->links.empty());
  for (const Curve& curve : reading->curves) check(curve);
  return 0;
}
