#include "cli/hang_load.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "core/input.h"
#include "core/parallel.h"

namespace comm_probe::cli {
namespace {

using core::Result;

// What one file turned out to be.
struct FileContent {
  std::shared_ptr<const torch::Digest> digest = {};
  std::vector<core::Caveat> caveats = {};
  std::optional<core::Error> error = {};
};

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
  if (!torch::looks_like_dump(input->head())) return content;
  auto dump = torch::read_dump(*input, rank_lists);
  if (!dump) {
    content.error = dump.error();
    return content;
  }
  content.caveats = std::move(dump->caveats);
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
  if (!content.digest) return;
  if (!content.digest->dump.rank) {
    inputs.caveats.push_back(core::make_caveat("hang.rank-unknown", path + ": no rank in its name",
                                               "the dump was left out"));
    return;
  }
  inputs.records.push_back({path, "flight-recorder", content.digest->rank});
  inputs.digests.push_back(std::move(content.digest));
}

core::Error nothing_read(const std::vector<FileContent>& contents, const std::string& path) {
  for (const FileContent& content : contents)
    if (content.error) return *content.error;
  core::Error error = core::input_error(
      contents.size() == 1
          ? "no Flight Recorder dump"
          : fmt::format("none of {} files is a Flight Recorder dump", contents.size()),
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
  core::for_each_index(files->size(),
                       [&](std::size_t i) { contents[i] = read_file((*files)[i], rank_lists); });
  HangInputs inputs;
  for (std::size_t i = 0; i < contents.size(); ++i)
    if (contents[i].digest || contents[i].error) take(inputs, (*files)[i], contents[i]);
  if (inputs.digests.empty()) return nothing_read(contents, paths.front());
  return inputs;
}

}  // namespace comm_probe::cli
