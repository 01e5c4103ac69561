// All dumps of a job side by side: the same group on every rank, the same call on every member.
//
// A group is its name and its list of ranks (two groups may share a name, spec 1.9). Where no dump
// lists the ranks (gloo, a communicator that was never made), the members are the ranks that called
// it: `ranks_inferred`. Collective n of a group on one rank belongs to collective n on every other;
// below `watermark` a missing call means nothing, because a ring has lost it.
//
//   rank 0 calls 1..9, rank 3 calls 1..8 of group "0" -> issued(rank 3) = 8, state(rank 3, 9) =
//   kNotIssued
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "torch/digest.h"

namespace comm_probe::torch {

enum class CallStanding {
  kDone,
  kPending,
  kEnded,
  kNotIssued,
  kUnknown,  // no dump, a cut dump, or older than the ring
};

// One member of one group.
struct Lane {
  int rank = 0;
  const Digest* digest = nullptr;         // absent: no dump of this rank
  std::optional<std::size_t> group = {};  // index in the digest; absent: this rank never used it
  const Progress* progress = nullptr;     // of pg_status, where it may be compared

  std::span<const Work> collectives() const;
  const Work* find(std::uint32_t seq) const;
  // The largest collective that it is known to have issued; nothing: not known.
  std::optional<std::uint32_t> issued() const;
  CallStanding standing(std::uint32_t seq) const;
  bool is_complete() const { return digest != nullptr && !digest->dump.cut; }
};

struct Group {
  std::string name = {};
  std::string desc = {};
  std::vector<int> ranks = {};  // global, in group rank order
  bool ranks_inferred = false;
  bool has_p2p = false;
  std::vector<Lane> lanes = {};  // in the order of `ranks`
  bool is_sorted = false;        // `ranks` rise, as they nearly always do

  const Lane* lane_of(int rank) const;
  std::uint32_t watermark() const;  // the first call that no ring has lost
};

struct Job {
  std::vector<std::shared_ptr<const Digest>> digests = {};  // by rank
  std::vector<Group> groups = {};
  std::vector<int> ranks = {};    // every rank that any dump names, sorted
  std::vector<int> missing = {};  // of those, the ones without a dump
  std::vector<int> stale = {};    // of the missing ones: a dump of an older run lies there
  // Two dumps of one rank that differ: the files may be of two runs.
  bool has_other_dumps = false;
  // Dumps of which nobody knows the rank: not compared.
  std::vector<std::shared_ptr<const Digest>> unplaced = {};
  std::vector<core::Caveat> caveats = {};

  const Digest* digest_of(int rank) const;
  // Of any digest: see there.
  bool has_one_counter() const;
};

// `digests` in any order; several of one rank: the later wins over the earlier, the pickle over the
// JSON of the same time, and a caveat says so. A dump whose calls all lie far before those that the
// others show is of an older run and left out.
Job align(std::vector<std::shared_ptr<const Digest>> digests);

}  // namespace comm_probe::torch
