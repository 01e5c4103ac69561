#include "cli/tuner_file.h"

#include <fmt/format.h>

#include "nccl/crossover.h"

namespace comm_probe::cli {
namespace {

// The plugin's documentation gives this as the largest size.
constexpr std::uint64_t kLastSize = 4294967295;

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string line(const nccl::Tuning& tuning, nccl::Function function, std::uint64_t first,
                 std::uint64_t last, const nccl::Candidate& method) {
  const nccl::Agreement& all = tuning.job.agreement;
  return fmt::format("{},{},{},{},{},-1,{},{},-1,-1\n", lower(function_name(function)), first, last,
                     lower(call_name(method.algorithm)), lower(call_name(method.protocol)),
                     all.nodes, all.ranks);
}

std::string lines_of(const nccl::Tuning& tuning, nccl::Function function) {
  const int ranks = tuning.job.agreement.ranks;
  std::vector<std::uint64_t> sizes;
  const std::uint64_t least =
      nccl::is_gathering(function) ? 4 * static_cast<std::uint64_t>(ranks) : 4;
  for (std::uint64_t size = least; size < kLastSize; size *= 2) sizes.push_back(size);
  sizes.push_back(kLastSize);
  const auto choice = choose(tuning, nccl::call_of(function, sizes.front(), ranks));
  if (!choice)
    return fmt::format("# {}: NCCL refuses it with these settings\n", function_name(function));
  std::string text;
  std::uint64_t first = 0;
  nccl::Candidate method = choice->taken;
  for (const nccl::Crossover& crossover : crossovers(tuning, {.function = function}, sizes)) {
    text += line(tuning, function, first, crossover.bytes - 1, method);
    first = crossover.bytes;
    method = crossover.to;
  }
  return text + line(tuning, function, first, kLastSize, method);
}

}  // namespace

std::string tuner_file(const nccl::Tuning& tuning) {
  const nccl::Agreement& all = tuning.job.agreement;
  std::string text = fmt::format(
      "# NCCL's choices on {} ranks, {} nodes, for its example tuner plugin: edit the lines where "
      "a\n"
      "# measurement says otherwise, then set NCCL_TUNER_PLUGIN and NCCL_TUNER_CONFIG_FILE. What "
      "no "
      "line\n"
      "# matches falls back to Ring Simple.\n"
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,"
      "regBuff\n",
      all.ranks, all.nodes);
  if (all.ranks > 1)
    for (const nccl::Function function : nccl::kAllFunctions) text += lines_of(tuning, function);
  return text;
}

}  // namespace comm_probe::cli
