#include "cli/hang_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/hang_share.h"
#include "core/finding_table.h"
#include "torch/rank_of_name.h"

namespace comm_probe::cli {
namespace {

using core::Result;

void take(HangInputs& inputs, const std::string& path, HangFile content) {
  for (core::Caveat& caveat : content.caveats) inputs.caveats.push_back(std::move(caveat));
  if (content.error) {
    inputs.caveats.push_back(core::make_caveat("input.unreadable", content.error->one_line(),
                                               "the other inputs were used"));
    if (content.digest) inputs.digests.push_back(std::move(content.digest));
    return;
  }
  if (content.lines) {
    for (torch::JobLine& line : content.lines->lines) inputs.lines.lines.push_back(std::move(line));
    inputs.lines.logs.merge(content.lines->logs);
    inputs.lines.lines_read += content.lines->lines_read;
    inputs.records.push_back({path, "log", torch::rank_of_name(path)});
    return;
  }
  if (!content.digest) return;
  inputs.records.push_back({path, "flight-recorder", content.digest->dump.rank});
  inputs.digests.push_back(std::move(content.digest));
}

core::Caveat unused_caveat(const std::vector<std::string>& paths) {
  constexpr std::size_t kMostNamed = 4;
  std::string named;
  for (std::size_t i = 0; i < std::min(kMostNamed, paths.size()); ++i)
    named += (i > 0 ? ", " : "") + paths[i];
  if (paths.size() > kMostNamed) named += fmt::format(" and {} more", paths.size() - kMostNamed);
  return core::make_caveat("input.passed-over",
                           fmt::format("{}: {} empty, or neither a Flight Recorder dump nor text",
                                       named, paths.size() == 1 ? "is" : "are"),
                           "not used", false);
}

core::Error nothing_read(const std::optional<core::Error>& first, std::size_t files,
                         const std::string& path) {
  if (first) return *first;
  core::Error error = core::input_error(
      files == 1
          ? "neither a Flight Recorder dump nor a log that tells of a hang"
          : fmt::format("none of {} files is a Flight Recorder dump or a log that tells of a "
                        "hang",
                        files),
      "expected the files that PyTorch writes to TORCH_FR_DUMP_TEMP_FILE, as pickle or JSON");
  error.where.file = path;
  return error;
}

}  // namespace

void add_stand_ins(std::vector<HangFiles::One>& files) {
  std::set<std::string> prefixes;
  std::set<int> ranks;
  for (const HangFiles::One& file : files) {
    if (!file.content.digest) continue;
    if (const auto prefix = torch::dump_prefix_of_name(file.path)) prefixes.insert(*prefix);
    if (const auto rank = file.content.digest->dump.rank) ranks.insert(*rank);
  }
  for (HangFiles::One& file : files) {
    const auto prefix = torch::dump_prefix_of_name(file.path);
    const auto rank = torch::rank_of_name(file.path);
    const bool is_log = file.content.lines && !file.content.lines->lines.empty();
    if (file.content.digest || is_log || !prefix || !rank) continue;
    if (!prefixes.contains(*prefix) || !ranks.insert(*rank).second) continue;
    if (!file.content.error) {
      file.content.error =
          core::input_error("no Flight Recorder dump, although it is named like one");
      file.content.error->where.file = file.path;
    }
    file.content.lines.reset();
    torch::Dump dump;
    dump.file = file.path;
    dump.rank = rank;
    dump.cut = true;
    file.content.digest = std::make_shared<torch::Digest>(torch::digest(std::move(dump)));
  }
}

Result<HangInputs> load_hang(const std::vector<std::string>& paths, core::Crew& crew,
                             core::Progress& progress) {
  auto files = read_hang_files(paths, crew, progress);
  if (!files) return files.error();
  HangInputs inputs;
  if (!crew.is_first()) return inputs;
  add_stand_ins(files->files);
  std::vector<std::string> unused;
  std::optional<core::Error> first;
  for (const HangFiles::One& file : files->files)
    if (file.content.error && !first) first = file.content.error;
  for (HangFiles::One& file : files->files)
    if (file.content.digest || file.content.error || file.content.lines)
      take(inputs, file.path, std::move(file.content));
    else
      unused.push_back(file.path);
  if (inputs.digests.empty() && inputs.lines.lines.empty())
    return nothing_read(first, files->files.size(), paths.front());
  if (!unused.empty()) inputs.caveats.push_back(unused_caveat(unused));
  return inputs;
}

}  // namespace comm_probe::cli
