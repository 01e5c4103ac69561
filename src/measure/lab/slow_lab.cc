#include "measure/lab/slow_lab.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

namespace comm_probe::measure::lab {
namespace {

using core::Result;

constexpr std::array kCases = {
    SlowCase{"healthy", "nothing, to compare with", ""},
    SlowCase{"tiny_collectives", "twenty all_reduces of 256 bytes in every step",
             "trace.tiny-collectives"},
    SlowCase{"item_sync", "loss.item() in every step", "trace.item-sync"},
    SlowCase{"straggler", "rank 2 sleeps 150 ms in every step", "trace.straggler"},
};

constexpr const char* kScript = "slow_rank.py";

std::string trace_of(const std::string& folder, int rank) {
  return fmt::format("{}/rank{}.json", folder, rank);
}

Result<bool> prepare(const SlowRequest& request) {
  std::error_code error;
  for (int rank = 0; rank < kRanks; ++rank) {
    std::filesystem::remove(trace_of(request.job.folder, rank), error);
    std::filesystem::remove(log_of(request.job.folder, rank), error);
  }
  const std::string truth =
      fmt::format("{}: {}\n", request.planted.slow_class, request.planted.planted);
  return write_files(request.job.folder, {{kScript, slow_script()}, {"truth.txt", truth}});
}

std::vector<std::string> words_of(const SlowRequest& request, int rank, int port) {
  const std::string& folder = request.job.folder;
  return {fmt::format("{}/{}", folder, kScript),
          std::string(request.planted.slow_class),
          std::to_string(rank),
          std::to_string(kRanks),
          folder,
          std::to_string(port)};
}

bool all_are_done(const std::string& folder) {
  for (int rank = 0; rank < kRanks; ++rank)
    if (!has_said(folder, rank, "DONE ")) return false;
  return true;
}

}  // namespace

std::span<const SlowCase> slow_cases() { return kCases; }

const SlowCase* find_slow_case(std::string_view slow_class) {
  for (const SlowCase& known : kCases)
    if (known.slow_class == slow_class) return &known;
  return nullptr;
}

Result<SlowLeft> make_slow(const SlowRequest& asked,
                           const std::function<void(const std::string&)>& progress) {
  SlowRequest request = asked;
  std::error_code error;
  request.job.folder = std::filesystem::absolute(asked.job.folder, error);
  if (const auto prepared = prepare(request); !prepared) return prepared.error();
  progress(fmt::format("{} ranks train on purpose slowly ({}): half a minute", kRanks,
                       request.planted.planted));
  const auto words = [&](int rank, int port) { return words_of(request, rank, port); };
  const auto end = run_job(request.job, words, [&] { return all_are_done(request.job.folder); });
  if (!end) return end.error();
  SlowLeft left = {.end = *end};
  for (int rank = 0; rank < kRanks && end->interrupted_by == 0; ++rank) {
    if (!has_said(request.job.folder, rank, "DONE "))
      return ended_early(request.job.folder, rank, "without its trace");
    left.traces.push_back(rank);
  }
  return left;
}

}  // namespace comm_probe::measure::lab
