// Imported schedules: GOAL text, Chakra traces; what can be read is played on links of its own.
#include <string>

#include "core/input.h"
#include "sim/chakra_program.h"
#include "sim/program_what_if.h"

using namespace comm_probe;

namespace {

// A schedule that is small and announces a million ranks takes long and shows nothing new.
constexpr int kMostRanks = 64;
constexpr std::size_t kMostPlayedOps = 1 << 14;

void play(const sim::ProgramFile& file) {
  if (file.program.ranks() > kMostRanks || file.program.size() > kMostPlayedOps) return;
  const model::Link link{core::Duration::from_us(1), core::Bandwidth::from_GBps(50)};
  sim::ProgramWhatIf what{.links = {.link = link}};
  (void)sim::play_program(file, what);
  what.shape = sim::FabricShape{};
  (void)sim::play_program(file, what);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  auto text = core::Input::from_memory("fuzz", bytes);
  if (const auto goal = sim::read_goal(text)) play(*goal);
  std::vector<sim::ChakraTrace> traces;
  for (int rank = 0; rank < 2; ++rank) {
    auto input = core::Input::from_memory("fuzz", bytes);
    auto trace = sim::read_chakra(input, rank);
    if (!trace) return 0;
    traces.push_back(*std::move(trace));
  }
  if (const auto program = sim::program_of(traces)) play(program->file);
  return 0;
}
