// Any bytes given to the reader and the rules of debug logs: no crash, and the facts keep what they
// promise: indices that exist, ranks below the size of their communicator, places in the files.
#include <cstdlib>

#include "diagnose/log.h"
#include "nccl/readers/debug_log_reader.h"

namespace {

namespace nccl = comm_probe::nccl;

void require(bool promise) {
  if (!promise) std::abort();
}

template <class Facts>
bool exists(int index, const Facts& facts) {
  return index >= 0 && static_cast<std::size_t>(index) < facts.size();
}

void check(const nccl::DebugLog& log, const nccl::LogPlace& place) {
  require(exists(place.file, log.files));
  require(place.line >= 1 && place.line <= log.lines && place.text.size() <= 300);
}

void check(const nccl::DebugLog& log) {
  require(log.files.size() == log.nccl_lines_of_file.size());
  require(log.nccl_lines <= log.lines && log.torn_lines <= log.nccl_lines);
  for (const nccl::LogProcess& process : log.processes) require(exists(process.host, log.hosts));
  for (const nccl::LogRank& rank : log.ranks) {
    require(exists(rank.comm, log.comms) && exists(rank.process, log.processes));
    require(rank.rank >= 0 && rank.rank < log.comms[static_cast<std::size_t>(rank.comm)].size);
  }
  for (const nccl::LogComm& comm : log.comms)
    for (const int process : comm.processes) require(exists(process, log.processes));
  for (const nccl::LogProblem& problem : log.problems) {
    check(log, problem.first);
    require(problem.count >= 1);
    for (const int process : problem.processes) require(exists(process, log.processes));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto input = comm_probe::core::Input::from_memory(
      "log", std::string(reinterpret_cast<const char*>(data), size));
  const auto log = nccl::read_debug_log(input);
  if (!log) {
    require(!log.error().one_line().empty());
    return 0;
  }
  check(*log);
  const auto judgement = comm_probe::diagnose::judge_log(*log);
  for (const auto& finding : judgement.findings) require(!finding.summary.empty());
  return 0;
}
