#include "cli/hang_load.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "core/finding_table.h"
#include "core/input.h"
#include "core/parallel.h"
#include "torch/rank_of_name.h"
#include "torch/readers/ras_json.h"

namespace comm_probe::cli {
namespace {

using core::Result;

// What one file turned out to be.
struct FileContent {
  std::shared_ptr<const torch::Digest> digest = {};
  std::optional<torch::JobLines> lines = {};
  std::vector<core::Caveat> caveats = {};
  std::optional<core::Error> error = {};
};

// When the file was written last: at most so old is what it shows as open.
std::optional<std::int64_t> file_time(const std::string& path) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  if (error) return std::nullopt;
  const auto since = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

// What ncclras says, or the lines of a log; nothing where the file is neither.
void read_text(core::Input& input, FileContent& content) {
  const bool is_ras = torch::looks_like_ras(input.head());
  if (!is_ras && core::classify_content(input.head()) != core::ContentClass::kText) return;
  content.lines.emplace();
  if (is_ras) {
    torch::read_ras(input, *content.lines);
  } else if (const auto error = torch::read_job_lines(input, *content.lines)) {
    content.caveats.push_back(
        core::make_caveat("input.truncated", error->one_line(), "the lines before it were used"));
  }
}

FileContent read_file(const std::string& path, torch::RankLists& rank_lists) {
  FileContent content;
  auto input = core::Input::open(path);
  if (!input) {
    content.error = input.error();
    return content;
  }
  if (auto error = input->unreadable()) {
    content.error = *error;
    return content;
  }
  if (!torch::looks_like_dump(input->head())) {
    read_text(*input, content);
    return content;
  }
  auto dump = torch::read_dump(*input, rank_lists);
  if (!dump) {
    content.error = dump.error();
    return content;
  }
  content.caveats = std::move(dump->caveats);
  dump->file_time_ns = file_time(path);
  content.digest = std::make_shared<const torch::Digest>(torch::digest(std::move(*dump)));
  return content;
}

void take(HangInputs& inputs, const std::string& path, FileContent content) {
  for (core::Caveat& caveat : content.caveats) inputs.caveats.push_back(std::move(caveat));
  if (content.error) {
    inputs.caveats.push_back(core::make_caveat("input.unreadable", content.error->one_line(),
                                               "the other inputs were used"));
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

Result<HangInputs> load_hang(const std::vector<std::string>& paths) {
  const auto files = core::expand_paths(paths);
  if (!files) return files.error();
  std::vector<FileContent> contents(files->size());
  torch::RankLists rank_lists;
  core::for_each_index(
      files->size(), [&](std::size_t i) { contents[i] = read_file((*files)[i], rank_lists); }, 1);
  HangInputs inputs;
  std::optional<core::Error> first;
  for (const FileContent& content : contents)
    if (content.error && !first) first = content.error;
  for (std::size_t i = 0; i < contents.size(); ++i)
    if (contents[i].digest || contents[i].error || contents[i].lines)
      take(inputs, (*files)[i], std::move(contents[i]));
  if (inputs.digests.empty() && inputs.lines.lines.empty())
    return nothing_read(first, files->size(), paths.front());
  return inputs;
}

}  // namespace comm_probe::cli
