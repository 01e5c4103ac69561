#include "measure/engines/local/standstill.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/host.h"

namespace comm_probe::measure::local {
namespace {

// The number of a line "name:<tab>12".
std::optional<std::uint64_t> number_of(const std::string& status, const std::string& name) {
  const std::size_t at = status.find("\n" + name + ":");
  if (at == std::string::npos) return std::nullopt;
  return std::strtoull(status.c_str() + at + name.size() + 2, nullptr, 10);
}

bool stands_still(const ProcessPulse& before, const ProcessPulse& now) {
  if (now.state == 'T') return before.state == 'T' && before.switches == now.switches;
  // Where switches are not counted, a sleeper cannot be told from one that sleeps again and again.
  return now.state == 'S' && now.switches.value_or(0) > 0 && before.switches == now.switches;
}

}  // namespace

std::optional<ProcessPulse> read_pulse(const std::string& status) {
  const std::size_t at = status.find("\nState:");
  const std::size_t letter = at == std::string::npos ? at : status.find_first_not_of(" \t", at + 7);
  if (letter == std::string::npos) return std::nullopt;
  ProcessPulse pulse{.state = status[letter]};
  const auto given_away = number_of(status, "voluntary_ctxt_switches");
  const auto taken = number_of(status, "nonvoluntary_ctxt_switches");
  if (given_away && taken) pulse.switches = *given_away + *taken;
  return pulse;
}

std::optional<Standstill::Rank> Standstill::look(const std::vector<pid_t>& pids) {
  const Clock::time_point now = Clock::now();
  if (now - last_ < limit_.every) return std::nullopt;
  last_ = now;
  seen_.resize(pids.size());
  for (std::size_t rank = 0; rank < pids.size(); ++rank) {
    Seen& seen = seen_[rank];
    const std::string status =
        pids[rank] <= 0
            ? ""
            : core::Host::real().read(fmt::format("/proc/{}/status", pids[rank])).value_or("");
    const auto pulse = read_pulse(status);
    const bool counts = pulse && (pulse->state == 'T' || !limit_.only_stopped);
    seen.still = counts && seen.pulse && stands_still(*seen.pulse, *pulse) ? seen.still + 1 : 0;
    seen.pulse = pulse;
    if (seen.still >= limit_.looks)
      return Rank{static_cast<int>(rank), pulse->state, limit_.every * limit_.looks};
  }
  return std::nullopt;
}

}  // namespace comm_probe::measure::local
