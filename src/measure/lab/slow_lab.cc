#include "measure/lab/slow_lab.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "measure/clock.h"
#include "measure/lab/python_ranks.h"

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

std::string script_of(const std::string& folder) { return folder + "/slow_rank.py"; }
std::string trace_of(const std::string& folder, int rank) {
  return fmt::format("{}/rank{}.json", folder, rank);
}

Result<bool> prepare(const SlowRequest& request) {
  std::error_code error;
  std::filesystem::create_directories(request.folder, error);
  for (int rank = 0; rank < kRanks; ++rank)
    std::filesystem::remove(trace_of(request.folder, rank), error);
  const std::string truth =
      fmt::format("{}: {}\n", request.planted.slow_class, request.planted.planted);
  if (!write_file(script_of(request.folder), slow_script()) ||
      !write_file(request.folder + "/truth.txt", truth))
    return core::input_error(fmt::format("cannot write into {}", request.folder),
                             "name another folder with --folder DIR");
  return true;
}

std::vector<std::string> words_of(const SlowRequest& request, int rank, int port) {
  return {script_of(request.folder),
          std::string(request.planted.slow_class),
          std::to_string(rank),
          std::to_string(kRanks),
          request.folder,
          std::to_string(port)};
}

bool all_are_done(const std::string& folder) {
  for (int rank = 0; rank < kRanks; ++rank)
    if (!has_line(log_of(folder, rank), "DONE ")) return false;
  return true;
}

int watch(const SlowRequest& request, PythonRanks& ranks, double begin) {
  while (ranks.any_runs() && now_seconds() - begin < request.patience.in_seconds()) {
    if (const int signal = ranks.wait_a_little(); signal != 0) return signal;
    if (all_are_done(request.folder)) break;
  }
  return 0;
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
  request.folder = std::filesystem::absolute(asked.folder, error);
  if (const auto prepared = prepare(request); !prepared) return prepared.error();
  const auto port = free_port();
  if (!port) return port.error();
  SlowLeft left;
  const double begin = now_seconds();
  progress(fmt::format("{} ranks train on purpose slowly ({}): half a minute", kRanks,
                       request.planted.planted));
  {
    PythonRanks ranks(request.python, request.folder);
    ranks.start([&](int rank) { return words_of(request, rank, *port); });
    left.interrupted_by = watch(request, ranks, begin);
  }
  left.took = core::Duration::from_seconds(now_seconds() - begin);
  for (int rank = 0; rank < kRanks && left.interrupted_by == 0; ++rank) {
    if (!has_line(log_of(request.folder, rank), "DONE "))
      return core::missing_error(fmt::format("rank {} ended without its trace: {}", rank,
                                             last_line(log_of(request.folder, rank))),
                                 fmt::format("{} says more", log_of(request.folder, rank)));
    left.traces.push_back(rank);
  }
  return left;
}

}  // namespace comm_probe::measure::lab
