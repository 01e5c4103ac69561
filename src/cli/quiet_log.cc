#include "cli/quiet_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/finding_table.h"
#include "core/input.h"
#include "torch/rank_of_name.h"

namespace comm_probe::cli {
namespace {

constexpr std::size_t kMostShown = 100;  // of the last line
constexpr std::array<std::string_view, 3> kTextEndings = {".log", ".out", ".err"};
// Prefixes of ranks, and what torchrun, srun and mpirun print at the start of every job.
constexpr std::array<std::string_view, 8> kOfJobs = {
    "[rank",  "torch/distributed/", "torchrun", "OMP_NUM_THREADS", "MASTER_ADDR",
    "srun: ", "slurmstepd",         "[default"};

// "rank3.log", "rank_3.txt", "stderr.3.log": a text that names the rank of its writer.
bool is_named_as_log(const std::string& path) {
  if (torch::rank_word_of_name(path)) return true;
  return torch::rank_of_name(path) &&
         std::any_of(kTextEndings.begin(), kTextEndings.end(),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

}  // namespace

std::optional<QuietLog> quiet_log(const std::string& path) {
  auto input = core::Input::open(path);
  if (!input) return std::nullopt;
  const core::ContentClass content = core::classify_content(input->head());
  const bool is_named = is_named_as_log(path);
  QuietLog log{.file = path};
  // A file for warnings alone is empty where all is well.
  if (content == core::ContentClass::kEmpty && path.ends_with(".warnings.log")) return std::nullopt;
  if (content == core::ContentClass::kEmpty && is_named) return log;
  if (content != core::ContentClass::kText) return std::nullopt;
  bool is_of_job = is_named;
  core::LineReader lines(*input);
  for (core::Line line; lines.next(line);) {
    if (line.text.find_first_not_of(" \t") == line.text.npos) continue;
    ++log.lines;
    log.last = line.text.substr(0, kMostShown);
    is_of_job = is_of_job || std::any_of(kOfJobs.begin(), kOfJobs.end(), [&](auto word) {
                  return line.text.find(word) != line.text.npos;
                });
  }
  return is_of_job ? std::optional(log) : std::nullopt;
}

std::optional<core::Caveat> caveat_of(const std::vector<QuietLog>& logs) {
  if (logs.empty()) return std::nullopt;
  const QuietLog& first = logs.front();
  std::string text = first.lines == 0
                         ? first.file + " is empty"
                         : fmt::format(
                               "{}: nothing in its {} line{} is known here, the last is "
                               "\"{}\"",
                               first.file, first.lines, first.lines == 1 ? "" : "s", first.last);
  if (logs.size() > 1)
    text +=
        fmt::format(" (and {} more log{} like it)", logs.size() - 1, logs.size() > 2 ? "s" : "");
  return core::make_caveat("job.quiet-log", std::move(text),
                           "a rank that died early writes no more: look there, and at what its "
                           "launcher and the kernel say of it",
                           false);
}

}  // namespace comm_probe::cli
