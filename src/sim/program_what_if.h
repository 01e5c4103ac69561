// An imported schedule (readers/goal.h) on given links, of their own or shared, with late ranks and
// slow links, and what each change costs.
#pragma once

#include "sim/fabric_run.h"
#include "sim/readers/goal.h"

namespace comm_probe::sim {

struct ProgramWhatIf {
  model::Fabric links = {};
  std::vector<model::SlowLink> slow = {};
  std::vector<LateRank> late = {};
  std::optional<FabricShape> shape = {};  // given: links are shared
  std::uint64_t seed = 0;
};

// Below these no order of its messages can be: `bandwidth` what must go through one port of a rank
// or node, `processor` what one processor calculates, `dependencies` the longest way through the
// schedule, each message its alpha alone.
struct ProgramFloors {
  core::Duration bandwidth = {}, processor = {}, dependencies = {};
  core::Duration all() const { return std::max({bandwidth, processor, dependencies}); }
};

struct ProgramOutcome {
  core::Duration time = {}, first_rank = {};
  core::Duration alike = {};  // without slow links and late ranks
  std::optional<core::Duration> without_slow = {}, without_late = {};
  core::Duration last_late = {};
  ProgramFloors floors = {};
  std::size_t sends = 0, receives = 0, calcs = 0;
  core::Bytes bytes = {};
  std::size_t unreceived = 0;
  int first_unreceived = 0;                  // its line
  std::optional<FabricOutcome> fabric = {};  // its links and what held the flows up
};

// Fails where receives wait for messages that never come (which ones, and whether their sender has
// such a message), where `what` names ranks that do not exist, and where a fabric cannot hold them.
core::Result<ProgramOutcome> play_program(const ProgramFile& file, const ProgramWhatIf& what);

}  // namespace comm_probe::sim
