#include "cli/tuning_text.h"

#include <fmt/format.h>

namespace comm_probe::cli {
namespace {

using nccl::Algorithm;
using nccl::Function;
using nccl::index_of;
using nccl::Protocol;
using nccl::Tuning;

constexpr std::size_t kAlgorithmsPerBlock = 3;

using Block = std::span<const Algorithm>;

std::string algorithm_row(Block block) {
  std::string row = "  Algorithm   |";
  for (const Algorithm algorithm : block)
    row += fmt::format(" {:>14}   {:>14}   {:>14} |", "", table_name(algorithm), "");
  return row;
}

// NCCL prints nine cells whatever the block holds.
std::string protocol_row() {
  std::string row = "  Protocol    |";
  for (std::size_t i = 0; i < kAlgorithmsPerBlock; ++i)
    for (const Protocol protocol : nccl::kAllProtocols)
      row += fmt::format(" {:>14} |", table_name(protocol));
  return row;
}

template <class Cell>
std::string cells(std::string row, Block block, Cell cell) {
  for (const Algorithm algorithm : block)
    for (const Protocol protocol : nccl::kAllProtocols) row += cell(algorithm, protocol);
  return row;
}

std::string function_row(const Tuning& tuning, Function function, Block block) {
  return cells(fmt::format("{:>13} |", function_name(function)), block,
               [&](Algorithm algorithm, Protocol protocol) {
                 const nccl::MethodCost& cost = tuning.cost(function, algorithm, protocol);
                 return fmt::format("{:8.1f}/{:6.1f} |", cost.latency.us, cost.bandwidth.GBps);
               });
}

}  // namespace

std::vector<std::string> tuning_table_lines(const Tuning& tuning) {
  std::vector<std::string> lines;
  const Block all = nccl::kAllAlgorithms;
  for (std::size_t at = 0; at < all.size(); at += kAlgorithmsPerBlock) {
    const Block block = all.subspan(at, std::min(kAlgorithmsPerBlock, all.size() - at));
    lines.push_back(algorithm_row(block));
    lines.push_back(protocol_row());
    lines.push_back(cells(" Max NThreads |", block, [&](Algorithm algorithm, Protocol protocol) {
      return fmt::format(" {:>14} |", tuning.max_threads[index_of(algorithm)][index_of(protocol)]);
    }));
    for (const Function function : nccl::kAllFunctions)
      lines.push_back(function_row(tuning, function, block));
  }
  return lines;
}

std::string thread_threshold_line(const Tuning& tuning) {
  const auto of = [&](Algorithm algorithm, Protocol protocol) {
    return tuning.thread_thresholds[index_of(algorithm)][index_of(protocol)];
  };
  const auto all_of = [&](Algorithm algorithm) {
    return fmt::format("{}/{}/{}", of(algorithm, Protocol::kLl), of(algorithm, Protocol::kLl128),
                       of(algorithm, Protocol::kSimple));
  };
  return fmt::format("threadThresholds {} | {} | {} | {}", all_of(Algorithm::kTree),
                     all_of(Algorithm::kRing), of(Algorithm::kCollNetDirect, Protocol::kSimple),
                     of(Algorithm::kCollNetChain, Protocol::kSimple));
}

}  // namespace comm_probe::cli
