// Where every rank stands: its oldest open work, what every call still lacks, which devices do not
// report completions. The ground on which the rules of hang.h look.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "torch/job.h"

namespace comm_probe::diagnose {

using CallKey = std::pair<std::size_t, std::uint32_t>;  // group, collective seq

// A collective as all its members see it.
struct CallView {
  std::size_t group = 0;
  std::uint32_t seq = 0;
  std::vector<int> pending = {};  // issued, not completed
  std::vector<int> done = {};
  std::vector<int> not_issued = {};
  std::vector<int> no_dump = {};      // or a cut one that does not reach so far
  std::vector<int> unknown = {};      // lost by the ring
  const torch::Work* work = nullptr;  // of one member that has it
  int work_rank = -1;
};

// The oldest open work of a rank.
struct Head {
  const torch::Work* work = nullptr;
  std::size_t group = 0;  // in Job::groups
};

// A collective that is the oldest open work of some ranks.
struct AwaitedCall {
  CallKey key = {};
  std::int64_t since_ns = 0;  // the first of them, by its own clock
  std::uint32_t record = 0;   // the smallest of them
};

class HangState {
 public:
  explicit HangState(const torch::Job& job);

  const torch::Job& job() const { return job_; }
  // Of a rank that has a dump.
  const torch::Digest& digest(int rank) const;
  const CallView& call(std::size_t group, std::uint32_t seq) const;
  // Nothing where the rank has no dump or nothing open.
  const Head* head(int rank) const;
  // Open works of a rank by record, with the job's groups.
  const std::vector<Head>& open(int rank) const;
  // Has a complete dump, and everything that it issued is over.
  bool is_idle(int rank) const;
  // In the order of the first rank that waits in each.
  const std::vector<AwaitedCall>& awaited() const { return awaited_; }
  // What it did last is not known: no dump, or a cut one.
  bool is_blank(int rank) const;
  // The job's group of a work of this rank.
  std::optional<std::size_t> group_of(const torch::Digest& digest, std::uint16_t group) const;
  // Its calls stay open although other members have completed the same synchronising calls.
  bool is_broken(int rank) const;
  // Calls that prove it, oldest first.
  std::vector<Head> broken_calls(int rank) const;

 private:
  bool is_open(const torch::Digest& digest, const torch::Work& work) const;
  void find_groups();
  void find_open();
  void find_awaited();
  CallView view(std::size_t group, std::uint32_t seq) const;

  const torch::Job& job_;
  std::map<const torch::Digest*, std::vector<std::optional<std::size_t>>> groups_ = {};
  std::map<int, std::vector<Head>> open_ = {};
  std::vector<AwaitedCall> awaited_ = {};
  mutable std::map<CallKey, CallView> views_ = {};
};

// What a rank did, one after the other.
std::vector<const torch::Work*> works_by_record(const torch::Digest& digest);
// Completed on one member proves that all members launched it (spec 5.0).
bool is_synchronising(const torch::Operation& operation);
// gloo and the hooks of c10d never look at completions: an entry only leaves the list.
bool is_untracked(const torch::Operation& operation);

}  // namespace comm_probe::diagnose
