// The mpi engine beside loops as the OSU micro-benchmarks have them, written directly against MPI
// here: barrier, N calls, time / N, mean over the ranks. Both in one process, block after block in
// turn, so that both see the same placement and the same noise; medians of the blocks.
//   mpirun -n 2 bench_mpi_loops [LARGEST_BYTES=1048576] [BLOCKS=41]
//   rows "what ours(us) direct(us) ratio"; exit 1 where the median ratio of an operation is above
//   1.03
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "measure/clock.h"
#include "measure/engines/mpi/session.h"

namespace {

using namespace comm_probe;
using measure::mpi::Session;
using model::Op;

constexpr double kBar = 1.03;

struct Direct {
  int rank, ranks;
  std::byte *out, *in;

  void once(Op op, int count) const {
    switch (op) {
      case Op::kAllReduce:
        MPI_Allreduce(out, in, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return;
      case Op::kAllGather:
        MPI_Allgather(out, count, MPI_FLOAT, in, count, MPI_FLOAT, MPI_COMM_WORLD);
        return;
      case Op::kReduceScatter:
        MPI_Reduce_scatter_block(out, in, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return;
      case Op::kAllToAll:
        MPI_Alltoall(out, count, MPI_FLOAT, in, count, MPI_FLOAT, MPI_COMM_WORLD);
        return;
      case Op::kReduce:
        MPI_Reduce(out, in, count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
        return;
      case Op::kSendRecv:
        MPI_Sendrecv(out, count, MPI_FLOAT, (rank + 1) % ranks, 1, in, count, MPI_FLOAT,
                     (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
      case Op::kBroadcast:
        return;  // ours copies the root's buffer too, as nccl-tests does: nothing to compare with
    }
  }
  double block(Op op, int count, int calls) const {
    for (int i = 0; i < 5; ++i) once(op, count);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = measure::now_seconds();
    for (int i = 0; i < calls; ++i) once(op, count);
    return (measure::now_seconds() - start) / calls;
  }
};

double mean_over_ranks(double mine, int ranks) {
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum / ranks;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Comparison {
  std::size_t largest = std::size_t{1} << 20;
  int blocks = 41;
};

// The ratio of one size.
double compare(measure::mpi::Team& team, measure::Plan plan, const Direct& direct, core::Bytes size,
               int blocks) {
  measure::mpi::Watchdog watchdog(plan.patience);  // counts calls; nobody waits for it here
  watchdog.join(team.rank());
  const measure::Amount amount = measure::amount_of(plan, size);
  const int count = static_cast<int>(amount.count);
  int calls = measure::iterations_for(direct.block(plan.op, count, 20));
  calls = std::min(calls, 400);
  MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
  plan.iterations = calls;
  Session session(plan, team, watchdog);
  if (!session.allocate(amount.count)) std::exit(3);
  std::vector<double> ours, theirs, ratios;
  for (int i = 0; i < blocks; ++i) {
    ours.push_back(
        mean_over_ranks(session.measure(amount).out_of_place.seconds.front(), team.ranks()));
    theirs.push_back(mean_over_ranks(direct.block(plan.op, count, calls), team.ranks()));
    ratios.push_back(ours.back() / theirs.back());
  }
  if (team.speaks())
    std::printf("%-14s %10zu B %12.3f %12.3f %8.3f\n", op_name(plan.op), size.whole(),
                median(ours) * 1e6, median(theirs) * 1e6, median(ratios));
  return median(ratios);
}

}  // namespace

int main(int argc, char** argv) {
  Comparison what;
  if (argc > 1) what.largest = std::strtoull(argv[1], nullptr, 10);
  if (argc > 2) what.blocks = std::atoi(argv[2]);
  auto team = measure::mpi::Team::join();
  if (!team) {
    std::printf("%s\n", team.error().one_line().c_str());
    return 3;
  }
  const auto out = measure::local::PrivateMemory::map(what.largest);
  const auto in = measure::local::PrivateMemory::map(what.largest);
  if (!out || !in) return 3;
  std::memset(out->data(), 0, what.largest);
  std::memset(in->data(), 0, what.largest);
  const Direct direct = {team->rank(), team->ranks(), out->data(), in->data()};
  if (team->speaks())
    std::printf("%s, %d ranks: median of %d blocks in turn\n%-14s %12s %12s %12s %8s\n",
                team->library().c_str(), team->ranks(), what.blocks, "what", "size", "ours (us)",
                "direct (us)", "ratio");
  bool is_met = true;
  for (const Op op : {Op::kAllReduce, Op::kAllGather, Op::kReduceScatter, Op::kReduce,
                      Op::kAllToAll, Op::kSendRecv}) {
    measure::Plan plan = {.op = op, .ranks = team->ranks()};
    plan.blocks = 1;
    plan.check = plan.with_in_place = false;
    std::vector<double> ratios;
    for (std::size_t size = 8; size <= what.largest; size *= 8)
      ratios.push_back(
          compare(*team, plan, direct, core::Bytes::of(std::uint64_t{size}), what.blocks));
    is_met = is_met && median(ratios) <= kBar;
    if (team->speaks())
      std::printf("%-14s median ratio over %zu sizes %.3f\n", op_name(op), ratios.size(),
                  median(ratios));
  }
  if (team->speaks())
    std::printf("bar (every median <= %.2f) %s\n", kBar, is_met ? "met" : "missed");
  return is_met ? 0 : 1;
}
