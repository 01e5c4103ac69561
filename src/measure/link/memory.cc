#include <algorithm>
#include <array>
#include <cstring>

#include "measure/link/buffer.h"
#include "measure/link/crew.h"
#include "measure/link/phases.h"

namespace comm_probe::measure {
namespace {

enum Series { kRead, kWrite, kCopy };

// The exclusive or of all words: every line is read, nothing written.
std::uint64_t read_all(const std::byte* data, std::size_t bytes) {
  std::array<std::uint64_t, 16> lanes = {};
  const auto* words = reinterpret_cast<const std::uint64_t*>(data);
  for (std::size_t i = 0; i + lanes.size() <= bytes / 8; i += lanes.size())
    for (std::size_t k = 0; k < lanes.size(); ++k) lanes[k] ^= words[i + k];
  std::uint64_t all = 0;
  for (const std::uint64_t lane : lanes) all ^= lane;
  return all;
}

template <class Work>
void timed(Member& member, Series series, Work work) {
  member.meet();
  const double start = now_seconds();
  work();
  asm volatile("" ::: "memory");
  member.record(series, now_seconds() - start);
}

// The slowest member of every block: the sum of the rates is n * array / slowest.
Summary slowest(const CrewRecords& records, Series series, int members) {
  std::vector<double> worst;
  for (int member = 0; member < members; ++member) {
    const std::vector<double> values = records.of(member, series);
    worst.resize(std::max(worst.size(), values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) worst[i] = std::max(worst[i], values[i]);
  }
  return summarize(std::move(worst));
}

}  // namespace

core::Result<MemoryTimes> time_memory(const MemoryPlan& plan) {
  const std::size_t bytes = plan.array.whole();
  const auto body = [&](Member& member) {
    const Buffer a(bytes);
    const Buffer b(bytes);
    volatile std::uint64_t sink = 0;
    const double budget = plan.budget.in_seconds();
    for (int block = 0; block < plan.blocks && member.wants_more(block, budget); ++block) {
      timed(member, kRead, [&] { sink = read_all(a.data(), bytes); });
      timed(member, kWrite, [&] { std::memset(b.data(), block, bytes); });
      timed(member, kCopy, [&] { std::memcpy(b.data(), a.data(), bytes); });
    }
  };
  const auto records = run_crew({.cpus = plan.cpus}, body);
  if (!records) return records.error();
  const int members = static_cast<int>(plan.cpus.size());
  return MemoryTimes{slowest(*records, kRead, members), slowest(*records, kWrite, members),
                     slowest(*records, kCopy, members), records->preemptions};
}

}  // namespace comm_probe::measure
