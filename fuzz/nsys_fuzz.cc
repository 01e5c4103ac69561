// Any bytes given as an export of Nsight Systems: no crash, every index inside of its list.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "torch/breakdown.h"
#include "torch/readers/nsys.h"
#include "torch/steps.h"

namespace {

using namespace comm_probe;

void require(bool promise) {
  if (!promise) std::abort();
}

// SQLite reads files; this one lies in memory.
const std::string& path() {
  static const std::string kPath = "/dev/shm/comm-probe-nsys-fuzz-" + std::to_string(::getpid());
  static const bool kRemoved = std::atexit([] { std::filesystem::remove(path()); }) == 0;
  (void)kRemoved;
  return kPath;
}

void check(torch::Trace& trace) {
  torch::find_steps(trace);
  for (const torch::GpuOp& op : trace.gpu_ops) {
    require(op.name < trace.names.size() && op.stream < trace.streams.size());
    require(op.launch == torch::kNone || op.launch < trace.calls.size());
    require(op.collective == torch::kNone || op.collective < trace.collectives.size());
    require(op.start <= op.end);
  }
  const torch::Breakdown one = torch::break_down(trace).total;
  require(one.span == one.compute + one.exposed_communication + one.exposed_memory + one.idle);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::ofstream(path(), std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  auto traces = torch::read_nsys(path());
  if (!traces) {
    require(!traces.error().one_line().empty());
    return 0;
  }
  for (torch::Trace& trace : *traces) check(trace);
  return 0;
}
