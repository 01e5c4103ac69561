#include "cli/hang_file.h"

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/finding_table.h"
#include "core/input.h"
#include "torch/readers/ras_json.h"

namespace comm_probe::cli {
namespace {

// When the file was written last: at most so old is what it shows as open.
std::optional<std::int64_t> file_time(const std::string& path) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  if (error) return std::nullopt;
  const auto since = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

// What ncclras says, or the lines of a log; nothing where the file is neither.
void read_text(core::Input& input, HangFile& content) {
  const bool is_ras = torch::looks_like_ras(input.head());
  if (!is_ras && core::classify_content(input.head()) != core::ContentClass::kText) return;
  content.lines.emplace();
  if (is_ras) {
    if (!torch::read_ras(input, *content.lines)) content.lines.reset();
    return;
  }
  if (const auto error = torch::read_job_lines(input, *content.lines)) {
    content.caveats.push_back(
        core::make_caveat("input.truncated", error->one_line(), "the lines before it were used"));
  }
  // A quiet log says something; a JSON text that is neither dump nor report does not.
  const bool is_quiet = content.lines->lines.empty() && content.lines->exceptions.empty();
  if (is_quiet && nlohmann::json::accept(input.head())) content.lines.reset();
}

// Dumps pack 10 to 40 times smaller; a file that unpacks to far more is a trap.
std::uint64_t largest_unpacked(const std::string& path) {
  constexpr std::uint64_t kAlways = std::uint64_t{64} << 20;
  constexpr std::uint64_t kTimes = 256;
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error || size > torch::kLargestDump / kTimes) return torch::kLargestDump;
  return std::max(kAlways, size * kTimes);
}

}  // namespace

HangFile read_hang_file(const std::string& path, torch::RankLists& rank_lists) {
  HangFile content;
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
  auto dump = torch::read_dump(*input, rank_lists, largest_unpacked(path));
  if (!dump) {
    content.error = dump.error();
    return content;
  }
  content.caveats = std::move(dump->caveats);
  dump->file_time_ns = file_time(path);
  content.digest = std::make_shared<torch::Digest>(torch::digest(std::move(*dump)));
  return content;
}

}  // namespace comm_probe::cli
