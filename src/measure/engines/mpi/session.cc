#include "measure/engines/mpi/session.h"

#include <fmt/format.h>

#include <cstring>

#include "core/units.h"
#include "measure/clock.h"
#include "measure/known_data.h"

namespace comm_probe::measure::mpi {
namespace {

comm_probe_mpi_call library_call(const Call& call, bool in_place) {
  return {static_cast<int>(call.op),
          static_cast<int>(call.element),
          static_cast<int>(call.reduction),
          call.root,
          in_place ? 1 : 0,
          call.count,
          call.send,
          call.recv};
}

// avg in MPI is a sum that is divided here, where this rank has it.
struct Division {
  local::ScaleLoop loop = nullptr;
  std::byte* data = nullptr;
  std::size_t count = 0;
};
Division division_of(const Call& call, int rank) {
  const bool has_result = call.op == model::Op::kAllReduce ||
                          call.op == model::Op::kReduceScatter ||
                          (call.op == model::Op::kReduce && rank == call.root);
  if (call.reduction != Reduction::kAvg || !has_result) return {};
  return {local::kernels().scale[static_cast<int>(call.element)], call.recv, call.count};
}

}  // namespace

bool Session::allocate(std::size_t largest_count) {
  const Call largest = {.op = plan_.op, .element = plan_.element, .count = largest_count};
  const std::size_t send = largest.bytes(send_count(largest, team_.ranks()));
  const std::size_t recv = largest.bytes(recv_count(largest, team_.ranks()));
  for (const std::size_t bytes : {send, std::max(send, recv)}) {
    auto memory = local::PrivateMemory::map(bytes);
    if (!memory) return false;
    std::memset(memory->data(), 0, bytes);
    buffers_.push_back(std::move(*memory));
  }
  return true;
}

SizeSamples Session::measure(const Amount& amount) {
  watchdog_.enter(fmt::format("{} of {}", op_name(plan_.op), core::format_bytes(amount.bytes)));
  const Call call = {plan_.op,     plan_.element,      plan_.reduction,   plan_.root,
                     amount.count, buffers_[0].data(), buffers_[1].data()};
  SizeSamples samples;
  samples.out_of_place = measure(call, false);
  if (plan_.with_in_place)
    samples.in_place = measure(measure::in_place(call, team_.rank(), call.recv), true);
  return samples;
}

Session::Once Session::once_of(const Call& call, bool in_place) {
  const comm_probe_mpi& mpi = team_.calls();
  if (!plan_.algorithm) {
    const comm_probe_mpi_call asked = library_call(call, in_place);
    const Division division = division_of(call, team_.rank());
    if (division.loop == nullptr) return [&mpi, asked] { return mpi.collective(&asked); };
    return [&mpi, asked, division, ranks = team_.ranks()] {
      const int status = mpi.collective(&asked);
      division.loop(division.data, division.count, ranks);
      return status;
    };
  }
  Case asked = case_of(plan_, team_.rank(), call.count);
  asked.is_in_place = in_place;
  const Schedule schedule = find_builder(plan_.op, *plan_.algorithm)(asked);
  auto program = std::make_shared<Program>(schedule, call, team_.ranks());
  return [&mpi, program] { return program->run(mpi); };
}

void Session::require(int status) const {
  if (status == 0) return;
  fmt::print(stderr, "comm-probe: bench --backend mpi: MPI failed with status {} on rank {}\n",
             status, team_.rank());
  team_.calls().abort(static_cast<int>(core::ErrorCode::kMissing));
}

std::uint64_t Session::check(const Call& call, bool in_place, const Once& once) {
  std::byte* input = const_cast<std::byte*>(call.send);  // points into our own buffers
  if (!in_place) std::memset(call.recv, 0x5a, call.bytes(recv_count(call, team_.ranks())));
  fill_input(call, team_.rank(), team_.ranks(), input);
  require(team_.calls().barrier());
  require(once());
  return count_wrong(call, team_.rank(), team_.ranks());
}

double Session::timed(const Once& once, int calls) {
  require(team_.calls().barrier());
  int status = 0;
  const double start = now_seconds();
  for (int i = 0; i < calls; ++i) {
    status |= once();
    watchdog_.tick();
  }
  const double seconds = (now_seconds() - start) / calls;
  require(status);
  return seconds;
}

// Rank 0 times a few calls and tells the others how many to make.
int Session::agree_on_iterations(const Once& once) {
  if (plan_.iterations > 0) return plan_.iterations;
  int calls = iterations_for(timed(once, 2));
  require(team_.calls().from_first(&calls, sizeof calls));
  calls = iterations_for(timed(once, std::min(calls, 100)));
  require(team_.calls().from_first(&calls, sizeof calls));
  return calls;
}

RankSamples Session::measure(const Call& call, bool in_place) {
  RankSamples samples;
  const Once once = once_of(call, in_place);
  if (plan_.check) samples.wrong = check(call, in_place, once);
  for (int i = 0; i < plan_.warmup; ++i) require(once());
  samples.iterations = agree_on_iterations(once);
  const std::int64_t before = preemptions_so_far();
  for (int block = 0; block < plan_.blocks; ++block)
    samples.seconds.push_back(timed(once, samples.iterations));
  samples.preemptions = preemptions_so_far() - before;
  require(team_.calls().barrier());
  return samples;
}

}  // namespace comm_probe::measure::mpi
