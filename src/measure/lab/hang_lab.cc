#include "measure/lab/hang_lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/json.h"
#include "measure/clock.h"

namespace comm_probe::measure::lab {
namespace {

using core::Result;

constexpr double kSettled = 5;  // seconds without a new byte in any dump

constexpr const char* kScript = "hang_rank.py";

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
  const std::string& folder = request.job.folder;
  std::error_code error;
  for (int rank = 0; rank < kRanks; ++rank) {
    std::filesystem::remove(dump_of(folder, rank), error);
    std::filesystem::remove(log_of(folder, rank), error);
  }
  const std::string truth = truth_of(request.planted);
  return write_files(folder, {{kScript, hang_script()}, {"truth.json", truth}});
}

std::vector<std::string> words_of(const HangRequest& request, int rank, int port) {
  const std::string& folder = request.job.folder;
  return {fmt::format("{}/{}", folder, kScript),
          std::string(request.planted.variant),
          std::to_string(rank),
          std::to_string(kRanks),
          folder,
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
    const std::uint64_t size = size_of(dump_of(request.job.folder, rank));
    if (size == 0 && is_expected(request.planted, rank)) return 0;
    bytes += size;
  }
  return bytes;
}

// Every dump is there and has settled.
class Settled {
 public:
  explicit Settled(const HangRequest& request) : request_(request) {}
  bool operator()() {
    const std::uint64_t bytes = bytes_of_dumps(request_);
    if (bytes != seen_) since_ = now_seconds();
    seen_ = bytes;
    return bytes > 0 && now_seconds() - since_ > kSettled;
  }

 private:
  const HangRequest& request_;
  std::uint64_t seen_ = 0;
  double since_ = 0;
};

Result<HangLeft> look(const HangRequest& request, const JobEnd& end) {
  const std::string& folder = request.job.folder;
  HangLeft left = {.end = end};
  for (int rank = 0; rank < kRanks; ++rank) {
    if (end.interrupted_by == 0 && !has_said(folder, rank, "READY "))
      return ended_early(folder, rank, "before the fault was planted");
    const bool has_dump = size_of(dump_of(folder, rank)) > 0;
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
  request.job.folder = std::filesystem::absolute(asked.job.folder, error);
  if (const auto prepared = prepare(request); !prepared) return prepared.error();
  progress(fmt::format("{} ranks hang on purpose ({}): a minute", kRanks, request.planted.planted));
  const auto words = [&](int rank, int port) { return words_of(request, rank, port); };
  const auto end = run_job(request.job, words, Settled(request));
  if (!end) return end.error();
  return look(request, *end);
}

}  // namespace comm_probe::measure::lab
