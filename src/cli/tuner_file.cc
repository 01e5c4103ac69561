#include "cli/tuner_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cli/nccl_job.h"
#include "nccl/crossover.h"

namespace comm_probe::cli {
namespace {

// The plugin reads sizes with strtoull into a size_t.
constexpr std::uint64_t kLastSize = std::numeric_limits<std::uint64_t>::max();
// Above it nothing changes any more: the bytes have long outgrown every latency.
constexpr std::uint64_t kLastDecided = std::uint64_t{1} << 40;

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = kLastSize;
  nccl::Candidate method = {};
};

std::string line(const nccl::Tuning& tuning, nccl::Function function, const Range& range) {
  const nccl::Agreement& all = tuning.job.agreement;
  return fmt::format("{},{},{},{},{},0,{},{},-1,-1\n", lower(function_name(function)), range.first,
                     range.last, lower(call_name(range.method.algorithm)),
                     lower(call_name(range.method.protocol)), all.nodes, all.ranks);
}

// Nothing where NCCL refuses the function.
std::vector<Range> ranges_of(const nccl::Tuning& tuning, nccl::Call call) {
  const int ranks = tuning.job.agreement.ranks;
  std::vector<std::uint64_t> sizes;
  const std::uint64_t least =
      nccl::is_gathering(call.function) ? 4 * static_cast<std::uint64_t>(ranks) : 4;
  for (std::uint64_t size = least; size <= kLastDecided; size *= 2) sizes.push_back(size);
  call.count = nccl::call_of(call.function, sizes.front(), ranks).count;
  const auto choice = choose(tuning, call);
  if (!choice) return {};
  std::vector<Range> ranges = {{.method = choice->taken}};
  for (const nccl::Crossover& crossover : crossovers(tuning, call, sizes)) {
    ranges.back().last = crossover.bytes - 1;
    ranges.push_back({.first = crossover.bytes, .method = crossover.to});
  }
  return ranges;
}

// Behind the choice for a sum, where not every call can use it, the one for an average, which
// neither NVLink SHARP nor PAT reduces.
std::string lines_of(const nccl::Tuning& tuning, nccl::Function function) {
  const std::vector<Range> ranges = ranges_of(tuning, {.function = function});
  if (ranges.empty())
    return fmt::format("# {}: NCCL refuses it with these settings\n", function_name(function));
  std::string text;
  for (const Range& range : ranges) text += line(tuning, function, range);
  const bool is_for_some = std::any_of(ranges.begin(), ranges.end(), [](const Range& range) {
    return is_nvls(range.method.algorithm) || range.method.algorithm == nccl::Algorithm::kPat;
  });
  if (!is_for_some || function == nccl::Function::kAllGather) return text;
  text += "# where NVLink SHARP or PAT cannot reduce the type or the operation:\n";
  for (const Range& range :
       ranges_of(tuning, {.function = function, .reduction = nccl::Reduction::kAvg}))
    text += line(tuning, function, range);
  return text;
}

}  // namespace

std::string tuner_file(const nccl::Tuning& tuning) {
  const nccl::Agreement& all = tuning.job.agreement;
  std::string text = fmt::format(
      "# What NCCL {} takes on {} rank{}, {} node{} (borders: float, sum), for its example "
      "tuner\n"
      "# plugin (ext-tuner/example). Edit the lines where a measurement says otherwise, then set\n"
      "#   NCCL_TUNER_PLUGIN=/path/of/libnccl-tuner-example.so\n"
      "#   NCCL_TUNER_CONFIG_FILE=/path/of/this/file\n"
      "# The first line that matches and that the call can use decides. channels 0: NCCL's own "
      "number;\n"
      "# -1 would be one channel. What no line matches keeps NCCL's own choice, but on one "
      "channel.\n"
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,"
      "regBuff\n",
      nccl_version_text(tuning.job.settings.version), all.ranks, all.ranks == 1 ? "" : "s",
      all.nodes, all.nodes == 1 ? "" : "s");
  if (all.ranks > 1)
    for (const nccl::Function function : nccl::kAllFunctions) text += lines_of(tuning, function);
  return text;
}

}  // namespace comm_probe::cli
