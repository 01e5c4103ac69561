#include "measure/lab/hang_lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/json.h"
#include "measure/clock.h"
#include "measure/lab/python_ranks.h"

namespace comm_probe::measure::lab {
namespace {

using core::Result;

constexpr double kSettled = 5;  // seconds without a new byte in any dump

std::string script_of(const std::string& folder) { return folder + "/hang_rank.py"; }
std::string dump_of(const std::string& folder, int rank) {
  return fmt::format("{}/nccl_trace_rank_{}", folder, rank);
}

std::uint64_t size_of(const std::string& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  return error ? 0 : size;
}

std::string truth_of(const HangCase& planted) {
  const core::Json truth = {
      {"case", fmt::format("lab/{}/{}", planted.hang_class, planted.variant)},
      {"class", planted.hang_class},
      {"culprit_ranks", planted.has_culprit ? std::vector<int>{planted.rank} : std::vector<int>{}},
      {"explanation", planted.planted},
      {"missing_dumps", planted.no_dump},
      {"ranks", kRanks},
      {"hung", true}};
  return truth.dump(1) + "\n";
}

// A dump of an earlier run would pass for one of this.
Result<bool> prepare(const HangRequest& request) {
  std::error_code error;
  std::filesystem::create_directories(request.folder, error);
  for (int rank = 0; rank < kRanks; ++rank) {
    std::filesystem::remove(dump_of(request.folder, rank), error);
    std::filesystem::remove(log_of(request.folder, rank), error);
  }
  if (!write_file(script_of(request.folder), hang_script()) ||
      !write_file(request.folder + "/truth.json", truth_of(request.planted)))
    return core::input_error(fmt::format("cannot write into {}", request.folder),
                             "name another folder with --folder DIR");
  return true;
}

std::vector<std::string> words_of(const HangRequest& request, int rank, int port) {
  return {script_of(request.folder),
          std::string(request.planted.variant),
          std::to_string(rank),
          std::to_string(kRanks),
          request.folder,
          std::to_string(port),
          fmt::format("{}", request.timeout.in_seconds())};
}

bool is_expected(const HangCase& planted, int rank) {
  return std::find(planted.no_dump.begin(), planted.no_dump.end(), rank) == planted.no_dump.end();
}

// Grows until the last dump is written; 0 while one is missing.
std::uint64_t bytes_of_dumps(const HangRequest& request) {
  std::uint64_t bytes = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::uint64_t size = size_of(dump_of(request.folder, rank));
    if (size == 0 && is_expected(request.planted, rank)) return 0;
    bytes += size;
  }
  return bytes;
}

// Until every dump is there and has settled, all have ended, or patience is at its end.
int watch(const HangRequest& request, PythonRanks& ranks, double begin) {
  std::uint64_t seen = 0;
  double since = begin;
  while (ranks.any_runs() && now_seconds() - begin < request.patience.in_seconds()) {
    if (const int signal = ranks.wait_a_little(); signal != 0) return signal;
    const std::uint64_t bytes = bytes_of_dumps(request);
    if (bytes != seen) since = now_seconds();
    seen = bytes;
    if (bytes > 0 && now_seconds() - since > kSettled) break;
  }
  return 0;
}

Result<HangLeft> look(const HangRequest& request, HangLeft left) {
  for (int rank = 0; rank < kRanks; ++rank) {
    if (left.interrupted_by == 0 && !has_line(log_of(request.folder, rank), "READY "))
      return core::missing_error(fmt::format("rank {} ended before the fault was planted: {}", rank,
                                             last_line(log_of(request.folder, rank))),
                                 fmt::format("{} says more", log_of(request.folder, rank)));
    const bool has_dump = size_of(dump_of(request.folder, rank)) > 0;
    if (has_dump) left.dumps.push_back(rank);
    if (!has_dump && is_expected(request.planted, rank)) left.waiting.push_back(rank);
  }
  return left;
}

}  // namespace

Result<HangLeft> make_hang(const HangRequest& asked,
                           const std::function<void(const std::string&)>& progress) {
  HangRequest request = asked;
  std::error_code error;
  request.folder = std::filesystem::absolute(asked.folder, error);
  if (const auto prepared = prepare(request); !prepared) return prepared.error();
  const auto port = free_port();
  if (!port) return port.error();
  HangLeft left = {.folder = asked.folder};
  const double begin = now_seconds();
  progress(fmt::format("{} ranks hang on purpose ({}): a minute", kRanks, request.planted.planted));
  {
    PythonRanks ranks(request.python, request.folder);
    ranks.start([&](int rank) { return words_of(request, rank, *port); });
    left.interrupted_by = watch(request, ranks, begin);
  }
  left.took = core::Duration::from_seconds(now_seconds() - begin);
  return look(request, std::move(left));
}

}  // namespace comm_probe::measure::lab
