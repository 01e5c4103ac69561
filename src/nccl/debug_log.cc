#include "nccl/debug_log.h"

#include <algorithm>

#include "nccl/readers/log_scan.h"

namespace comm_probe::nccl {
namespace {

// Path numbers were renumbered when one was inserted (shared spec nccl-9-versions, 9.1).
struct PathNumbers {
  int last_minor;
  std::array<std::string_view, 12> names;
};
constexpr std::array kPathNumbers = {
    PathNumbers{25, {"LOC", "NVL", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS", "NET", "DIS", "", ""}},
    PathNumbers{26,
                {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PXN", "PHB", "SYS", "NET", "DIS", ""}},
    PathNumbers{
        1 << 20,
        {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS"}},
};

constexpr std::string_view kRccl = "RCCL ";

}  // namespace

const char* log_phase_text(LogPhase phase) {
  switch (phase) {
    case LogPhase::kStart:
      return "has started";
    case LogPhase::kBootstrap:
      return "has met the other ranks";
    case LogPhase::kGraphs:
      return "has exchanged topology and search results";
    case LogPhase::kChannels:
      return "has its rings and trees";
    case LogPhase::kConnected:
      return "has connected its rings";
    case LogPhase::kTuned:
      return "has its channels";
    case LogPhase::kComplete:
      return "is initialised";
    case LogPhase::kCalls:
      return "has called collectives";
    case LogPhase::kEnded:
      return "has ended";
  }
  return "";
}

std::optional<topology::NcclVersion> version_of_text(std::string_view text) {
  LogScan scan(text);
  scan.skip(kRccl);
  const auto major = scan.small();
  if (!major || !scan.skip(".")) return std::nullopt;
  const auto minor = scan.small();
  if (!minor || *minor < 0 || *minor > 1000) return std::nullopt;
  scan.skip(".");
  return topology::NcclVersion{*major, *minor, scan.small().value_or(0)};
}

std::optional<topology::NcclVersion> DebugLog::version() const {
  for (const LogFact& fact : versions)
    if (const auto version = version_of_text(fact.text)) return version;
  return std::nullopt;
}

bool DebugLog::is_rccl() const {
  return std::any_of(versions.begin(), versions.end(),
                     [](const LogFact& fact) { return fact.text.starts_with(kRccl); });
}

const LogSetting* DebugLog::setting(std::string_view name) const {
  for (const LogSetting& setting : settings)
    if (setting.name == name) return &setting;
  return nullptr;
}

const LogProblem* DebugLog::problem(LogFamily family) const {
  for (const LogProblem& problem : problems)
    if (problem.family == family) return &problem;
  return nullptr;
}

std::string_view log_path_name(int number, topology::NcclVersion version) {
  for (const PathNumbers& row : kPathNumbers) {
    if (version.minor > row.last_minor) continue;
    if (number < 0 || static_cast<std::size_t>(number) >= row.names.size()) return "";
    return row.names[static_cast<std::size_t>(number)];
  }
  return "";
}

std::size_t DebugLog::named_processes() const {
  return static_cast<std::size_t>(
      std::count_if(processes.begin(), processes.end(), [&](const LogProcess& process) {
        return !hosts[static_cast<std::size_t>(process.host)].empty();
      }));
}

std::string DebugLog::host_at(std::string_view address) const {
  const auto found = host_of_address.find(address.substr(0, address.find('<')));
  if (found == host_of_address.end() || found->second < 0) return "";
  return hosts[static_cast<std::size_t>(found->second)];
}

std::size_t DebugLog::named_hosts() const {
  return static_cast<std::size_t>(std::count_if(
      hosts.begin(), hosts.end(), [](const std::string& name) { return !name.empty(); }));
}

}  // namespace comm_probe::nccl
