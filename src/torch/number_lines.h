// What training prints about its own numbers: loss and norms per step and rank, and statements that
// a NaN was found. Streaming, one line at a time, any text in front.
//
//   "[rank3]: step 12  loss: 2.31  grad_norm: 0.82"                   (torchtitan, most scripts)
//   " iteration 12/ 100 | lm loss: 2.31E+00 | grad norm: 0.820 |"     (Megatron)
//   "{'loss': 2.31, 'grad_norm': nan, 'step': 12}"                    (transformers)
//   -> {kLoss, step 12, rank 3, 2.31}, {kGradNorm, step 12, rank 3, 0.82}
//
// The rank is that of the line ("[rank3]:", "rank=3", "[1,3]<stdout>:", "3: " of srun -l), else of
// the name of the file. A line without a step takes the number of its value in its file. Memory is
// bounded: kMostNumbers are kept, the rest is counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/input.h"

namespace comm_probe::torch {

enum class Quantity : std::uint8_t { kLoss, kGradNorm, kParamNorm };
const char* quantity_name(Quantity quantity);  // "loss", "grad_norm"

struct LoggedNumber {
  std::int64_t step = 0;
  double value = 0;  // NaN and infinite too
  std::uint64_t line = 0;
  std::uint32_t file = 0;  // in NumberLines::files
  std::int32_t rank = -1;
  Quantity quantity = Quantity::kLoss;
};

// Somebody looked for a NaN and says where it was.
struct NanStatement {
  std::optional<int> rank = {};
  // In this rank's own data, before a collective could have brought it.
  bool is_before_communication = false;
  std::string who = {};  // "PyTorch's NaN check"
  std::string file = {};
  std::uint64_t line = 0;
  std::string text = {};  // shortened
};

struct NumberLines {
  static constexpr std::size_t kMostNumbers = 1'000'000;
  std::vector<std::string> files = {};
  std::vector<LoggedNumber> numbers = {};         // in the order of the lines
  std::map<std::size_t, std::string> texts = {};  // of numbers that are not finite, the first ones
  std::vector<NanStatement> statements = {};
  std::uint64_t dropped = 0;

  bool empty() const { return numbers.empty() && statements.empty(); }
};

class NumberLineReader {
 public:
  void begin_file(const std::string& name);
  void add(const core::Line& line);
  // Numbers and statements so far.
  std::size_t found() const { return lines_.numbers.size() + lines_.statements.size(); }
  NumberLines finish() { return std::move(lines_); }

 private:
  void add_statement(const core::Line& line);
  void keep(Quantity quantity, double value, const core::Line& line, std::int64_t step);
  std::optional<int> rank_of(std::string_view text) const;

  NumberLines lines_ = {};
  std::optional<int> rank_of_file_ = {};
  std::map<Quantity, std::int64_t> count_in_file_ = {};
};

}  // namespace comm_probe::torch
