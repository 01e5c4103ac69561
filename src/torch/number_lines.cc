#include "torch/number_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "torch/rank_of_name.h"

namespace comm_probe::torch {
namespace {

constexpr std::size_t kLongestLine = 4096;  // longer ones are no line of a log
constexpr std::size_t kLongestShown = 200;
constexpr std::size_t kMostStatements = 4096;
constexpr std::size_t kMostTexts = 256;

struct Key {
  std::string_view word;
  Quantity quantity;
};
// In the spelling of torchtitan, Megatron, transformers, DeepSpeed, nanotron.
constexpr std::array kKeys = {
    Key{"grad_norm", Quantity::kGradNorm},
    Key{"grad norm", Quantity::kGradNorm},
    Key{"grad-norm", Quantity::kGradNorm},
    Key{"gradient norm", Quantity::kGradNorm},
    Key{"gnorm", Quantity::kGradNorm},
    Key{"params norm", Quantity::kParamNorm},
    Key{"param_norm", Quantity::kParamNorm},
    Key{"param norm", Quantity::kParamNorm},
    Key{"loss", Quantity::kLoss},
    Key{"Loss", Quantity::kLoss},
};

struct Statement {
  std::string_view first;  // both occur in the line
  std::string_view second;
  bool is_before_communication;
  std::string_view who;
};
constexpr std::array kStatements = {
    // TORCH_NCCL_NAN_CHECK=1: a kernel that looks at the input of every collective and asserts
    Statement{"NanCheck", "isnan", true, "PyTorch's NaN check"},
    Statement{"checkForNaN", "Assertion", true, "PyTorch's NaN check"},
    // Megatron, --check-for-nan-in-loss-and-grad
    Statement{"found NaN in local grad norm", "", true, "Megatron's check"},
    Statement{"found Inf in local grad norm", "", true, "Megatron's check"},
    Statement{"found NaN in local forward loss", "", true, "Megatron's check"},
    // torch.autograd.set_detect_anomaly
    Statement{"returned nan values in its", "output", true, "autograd's anomaly detection"},
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What stands between a name and its number: quotes, ":", "=", blanks, "tensor(".
std::string_view behind_separator(std::string_view text) {
  while (!text.empty() && (text.front() == '\'' || text.front() == '"')) text.remove_prefix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (!text.empty() && (text.front() == ':' || text.front() == '=')) text.remove_prefix(1);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\'' || text.front() == '"'))
    text.remove_prefix(1);
  if (text.starts_with("tensor(")) text.remove_prefix(7);
  return text;
}

// "2.31E+00", "nan", "-inf"; nothing where no number begins here, or one with letters behind it.
std::optional<double> number_at(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  // from_chars takes nan and inf in any case
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return std::nullopt;
  if (error != std::errc() || end == text.data()) return std::nullopt;
  if (end != text.data() + text.size() && (is_letter(*end) || *end == '/')) return std::nullopt;
  return value;
}

// "best_val_loss", "lowest loss", "min loss": a record so far, which begins with inf.
bool is_record(std::string_view before) {
  constexpr std::size_t kNear = 24;
  before = before.substr(before.size() - std::min(before.size(), kNear));
  std::size_t begin = before.size();
  while (begin > 0 && (is_letter(before[begin - 1]) || before[begin - 1] == ' ')) --begin;
  before.remove_prefix(begin);
  for (const std::string_view word : {"best", "Best", "lowest", "min_", "min ", "minimum"})
    for (std::size_t at = before.find(word); at != before.npos; at = before.find(word, at + 1))
      if (at == 0 || before[at - 1] == '_' || before[at - 1] == ' ') return true;
  return false;
}

// The number of `word`, wherever it stands as a word of its own ("loss", not "loss scale").
std::optional<double> value_of(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const bool is_inside = at > 0 && is_letter(text[at - 1]) && text[at - 1] != '_';
    const std::string_view rest = text.substr(at + word.size());
    if (is_inside || is_record(text.substr(0, at)) || rest.empty() || is_letter(rest.front()) ||
        is_digit(rest.front()))
      continue;
    if (const auto value = number_at(behind_separator(rest))) return value;
  }
  return std::nullopt;
}

std::optional<std::int64_t> step_of(std::string_view text) {
  for (const std::string_view word : {"global_step", "iteration", "step", "Step", "iter"})
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1)) {
      std::string_view rest = text.substr(at + word.size());
      if ((at > 0 && is_letter(text[at - 1])) || rest.empty() || is_letter(rest.front())) continue;
      rest = behind_separator(rest);
      std::int64_t step = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), step);
      if (error == std::errc() && end != rest.data() && step >= 0) return step;
    }
  return std::nullopt;
}

// The number behind "rank" as a word of its own: "[rank3]", "rank=3", "Rank 3"; not of local_rank.
std::optional<int> rank_word(std::string_view text) {
  for (const std::string_view word : {"rank", "Rank", "RANK"})
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1)) {
      if (at > 0 && (is_letter(text[at - 1]) || text[at - 1] == ' ')) {
        const std::string_view before = text.substr(0, at);
        if (is_letter(text[at - 1]) || before.ends_with("local ")) continue;
      }
      const std::string_view rest = behind_separator(text.substr(at + word.size()));
      int rank = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), rank);
      if (error == std::errc() && end != rest.data() && rank >= 0) return rank;
    }
  return std::nullopt;
}

// "3: " of srun -l, "[1,3]<stdout>:" of mpirun --tag-output.
std::optional<int> launcher_rank(std::string_view text) {
  int rank = 0;
  if (text.starts_with("[1,")) {
    const auto [end, error] = std::from_chars(text.data() + 3, text.data() + text.size(), rank);
    const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    return error == std::errc() && rest.starts_with("]<std") ? std::optional(rank) : std::nullopt;
  }
  while (text.starts_with(' ')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  return error == std::errc() && rank >= 0 && rest.starts_with(": ") ? std::optional(rank)
                                                                     : std::nullopt;
}

const Statement* statement_of(std::string_view text) {
  for (const Statement& known : kStatements)
    if (text.find(known.first) != std::string_view::npos &&
        text.find(known.second) != std::string_view::npos)
      return &known;
  return nullptr;
}

// A pile has millions of lines that hold nothing of this: each check costs little on those. "ss" of
// loss and "rm" of norm are rare pairs, a capital N, I or E is soon searched for.
bool may_hold_numbers(std::string_view text) {
  bool is_there = false;
  for (std::size_t i = 0; i + 1 < text.size(); ++i)
    is_there |= (text[i] == 's' && text[i + 1] == 's') || (text[i] == 'r' && text[i + 1] == 'm');
  return is_there;
}

bool may_be_statement(std::string_view text) {
  constexpr std::array<std::string_view, 4> kParts = {"NaN", "NanC", "Inf in local",
                                                      "Error: Function '"};
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

}  // namespace

const char* quantity_name(Quantity quantity) {
  switch (quantity) {
    case Quantity::kLoss:
      return "loss";
    case Quantity::kGradNorm:
      return "grad_norm";
    case Quantity::kParamNorm:
      return "param_norm";
  }
  return "";
}

void NumberLineReader::begin_file(const std::string& name) {
  lines_.files.push_back(name);
  rank_of_file_ = rank_word_of_name(name);
  count_in_file_.clear();
}

std::optional<int> NumberLineReader::rank_of(std::string_view text) const {
  if (const auto rank = rank_word(text)) return rank;
  if (const auto rank = launcher_rank(text)) return rank;
  return rank_of_file_;
}

void NumberLineReader::add_statement(const core::Line& line) {
  const Statement* said = statement_of(line.text);
  if (said == nullptr || lines_.statements.size() == kMostStatements) return;
  lines_.statements.push_back({rank_of(line.text), said->is_before_communication,
                               std::string(said->who), lines_.files.back(), line.number,
                               std::string(line.text.substr(0, kLongestShown))});
}

void NumberLineReader::keep(Quantity quantity, double value, const core::Line& line,
                            std::int64_t step) {
  if (lines_.numbers.size() == NumberLines::kMostNumbers) {
    ++lines_.dropped;
    return;
  }
  if (!std::isfinite(value) && lines_.texts.size() < kMostTexts)
    lines_.texts.emplace(lines_.numbers.size(), line.text.substr(0, kLongestShown));
  lines_.numbers.push_back({step, value, line.number,
                            static_cast<std::uint32_t>(lines_.files.size() - 1),
                            rank_of(line.text).value_or(-1), quantity});
}

void NumberLineReader::add(const core::Line& line) {
  if (lines_.files.empty() || line.text.size() > kLongestLine) return;
  if (may_be_statement(line.text)) add_statement(line);
  if (!may_hold_numbers(line.text)) return;
  const auto step = step_of(line.text);
  std::array<bool, 3> told = {};
  for (const Key& key : kKeys) {
    bool& is_told = told[static_cast<std::size_t>(key.quantity)];
    if (is_told) continue;
    const auto value = value_of(line.text, key.word);
    if (!value) continue;
    is_told = true;
    keep(key.quantity, *value, line, step.value_or(count_in_file_[key.quantity]++));
  }
}

}  // namespace comm_probe::torch
