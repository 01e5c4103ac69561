// Any bytes given to the readers of network counters: no crash; what comes out has counters, is
// judged as one snapshot and against itself, and is read again after it was written.
#include <cstdlib>

#include "core/mask.h"
#include "diagnose/net_state.h"
#include "topology/bundle.h"
#include "topology/net_change.h"

namespace {

using namespace comm_probe;

void require(bool promise) {
  if (!promise) std::abort();
}

void check(const topology::NetSnapshot& snapshot) {
  require(!snapshot.ports.empty());
  for (const topology::PortCounters& port : snapshot.ports) require(!port.counters.empty());
  (void)diagnose::judge_network(snapshot);
  const auto change = topology::change_between(snapshot, snapshot);
  for (const topology::PortChange& port : change.ports)
    for (const auto& [counter, one] : port.counters) require(one.more == 0);
  auto again = core::Input::from_memory("again", topology::counters_text(snapshot));
  (void)topology::read_net_counters(again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)topology::looks_like_net_counters(text);
  auto input = core::Input::from_memory("input", text);
  auto reading = topology::read_net_counters(input);
  require(reading.ok() || !reading.error().one_line().empty());
  if (reading) {
    for (const topology::NetSnapshot& snapshot : reading->snapshots) check(snapshot);
    const auto ends = topology::ends_of(std::move(reading->snapshots));
    (void)diagnose::judge_network(topology::change_between(ends.first, ends.last));
  }
  core::Masker masker;
  masker.learn(text);
  (void)masker.masked_text(text);
  require(masker.masked_binary(text).size() == size);
  return 0;
}
