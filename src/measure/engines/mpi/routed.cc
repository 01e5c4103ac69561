#include "measure/engines/mpi/routed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/units.h"
#include "measure/engines/local/shared_memory.h"
#include "measure/engines/mpi/team.h"
#include "measure/engines/mpi/watchdog.h"
#include "measure/free_memory.h"
#include "measure/routed/cases.h"

namespace comm_probe::measure::mpi {
namespace {

class MpiTransport final : public RoutedTransport {
 public:
  MpiTransport(Team& team, std::vector<local::PrivateMemory> send,
               std::vector<local::PrivateMemory> receive)
      : team_(team), send_(std::move(send)), receive_(std::move(receive)) {}

  int rank() const override { return team_.rank(); }
  void barrier() override { require(team_.calls().barrier()); }
  std::byte* send_buffer(int slot) override { return send_[static_cast<std::size_t>(slot)].data(); }
  std::byte* receive_buffer(int slot) override {
    return receive_[static_cast<std::size_t>(slot)].data();
  }

  void exchange(const StageBytes& stage, int slot, NicLimit) override {
    const int self = rank();
    out_.clear();
    in_.clear();
    for (int i = 1; i < stage.ranks; ++i) {
      const int to = (self + i) % stage.ranks, from = (self + stage.ranks - i) % stage.ranks;
      if (stage.at(self, to) > 0)
        out_.push_back({send_buffer(slot) + stage.send_offset(self, to), stage.at(self, to), to});
      if (stage.at(from, self) > 0)
        in_.push_back(
            {receive_buffer(slot) + stage.receive_offset(from, self), stage.at(from, self), from});
    }
    if (stage.at(self, self) > 0)
      std::memcpy(receive_buffer(slot) + stage.receive_offset(self, self),
                  send_buffer(slot) + stage.send_offset(self, self), stage.at(self, self));
    require(team_.calls().exchange_all(out_.data(), static_cast<int>(out_.size()), in_.data(),
                                       static_cast<int>(in_.size())));
    barrier();
  }

 private:
  // MPI ends all ranks where a call fails; a status that comes back does the same.
  void require(int status) const {
    if (status != 0) team_.calls().abort(status);
  }
  Team& team_;
  std::vector<local::PrivateMemory> send_;
  std::vector<local::PrivateMemory> receive_;
  std::vector<comm_probe_mpi_message> out_ = {};
  std::vector<comm_probe_mpi_message> in_ = {};
};

// What a rank tells the others of a case.
struct CaseSeen {
  std::vector<double> dispatch = {};
  std::vector<double> combine = {};
  std::uint64_t picks = 0, missing = 0, twice = 0, wrong = 0;
};
template <class Archive>
void pack_fields(Archive& archive, CaseSeen& seen) {
  archive(seen.dispatch, seen.combine, seen.picks, seen.missing, seen.twice, seen.wrong);
}

CaseSeen told(const RankRouted& rank) {
  CaseSeen seen;
  for (const RoutedSample& sample : rank.samples) {
    seen.dispatch.push_back(sample.dispatch);
    seen.combine.push_back(sample.combine);
  }
  seen.picks = rank.check.picks;
  seen.missing = rank.check.missing;
  seen.twice = rank.check.twice;
  seen.wrong = rank.check.wrong;
  return seen;
}

RankRouted heard(const CaseSeen& seen) {
  RankRouted rank;
  for (std::size_t block = 0; block < seen.dispatch.size(); ++block)
    rank.samples.push_back({seen.dispatch[block], seen.combine[block]});
  rank.check = {seen.picks, seen.missing, seen.twice, seen.wrong};
  return rank;
}

// Buffers of four slots; nothing where the memory is not there.
std::optional<std::vector<local::PrivateMemory>> buffers(const std::array<std::size_t, 4>& bytes) {
  std::vector<local::PrivateMemory> all;
  for (const std::size_t size : bytes) {
    auto memory = local::PrivateMemory::map(std::max<std::size_t>(size, 1));
    if (!memory) return std::nullopt;
    all.push_back(std::move(*memory));
  }
  return all;
}

std::optional<core::Error> refuse(const RoutedPlan& plan) {
  const int launched = launched_ranks();
  if (launched > 0 && plan.shape.ranks != launched)
    return core::input_error(
        fmt::format("{} ranks asked for, mpirun started {}", plan.shape.ranks, launched),
        fmt::format("leave --ranks out, or start it with mpirun -np {}", plan.shape.ranks));
  if (plan.nic.in_bytes_per_second() > 0)
    return core::input_error("--nic limits processes of one machine, and MPI has links of its own",
                             "leave --nic out, or take --backend local");
  return std::nullopt;
}

Context context_of(const Team& team) {
  Context context;
  context.engine = "mpi";
  context.speaks = team.speaks();
  context.versions = {team.library()};
  return context;
}

}  // namespace

core::Result<RoutedRun> run_routed(const RoutedPlan& plan, const Progress& progress) {
  if (const auto refused = refuse(plan)) return *refused;
  if (const auto possible = check_routed(plan); !possible) return possible.error();
  auto team = Team::join();
  if (!team) return team.error();
  Watchdog watchdog(plan.patience);
  watchdog.join(team->rank());
  const EndOnLoss ends_all(watchdog, [&] { team->calls().abort(3); });
  const RoutedCases cases = cases_of(plan);
  const SlotBytes bytes = slot_bytes(cases, team->rank());
  auto send = buffers(bytes.send), receive = buffers(bytes.receive);
  const std::vector<int> mapped = team->all(send && receive ? 1 : 0);
  if (const auto none = std::find(mapped.begin(), mapped.end(), 0); none != mapped.end())
    return core::missing_error(
        fmt::format("rank {} could not map {} of buffers", none - mapped.begin(),
                    core::format_bytes(core::Bytes::of(static_cast<std::uint64_t>(bytes.all())))),
        "fewer --tokens, or a smaller --hidden");
  MpiTransport transport(*team, std::move(*send), std::move(*receive));
  std::vector<std::vector<RankRouted>> by_case;
  for (const RoutedCase& one : cases) {
    progress(
        fmt::format("sending {} tokens {}", one.routing->tokens(), scheme_name(one.stages.scheme)));
    watchdog.enter(fmt::format("all_to_all of {} tokens, {}", one.routing->tokens(),
                               scheme_name(one.stages.scheme)));
    const RankRouted mine = measure_case(plan, one, transport, [&] { watchdog.tick(); });
    by_case.emplace_back();
    for (const CaseSeen& seen : team->all(told(mine))) by_case.back().push_back(heard(seen));
  }
  RoutedRun run{.context = context_of(*team)};
  take_rows(plan, cases, by_case, run);
  return run;
}

}  // namespace comm_probe::measure::mpi
