#include "sim/readers/goal.h"

#include <fmt/format.h>

#include <unordered_map>

#include "core/number.h"
#include "sim/readers/goal_words.h"
#include "sim/what_if.h"

namespace comm_probe::sim {
namespace {

using core::Error;
using core::whole_number;
using model::OpId;
using model::ProgramOp;

constexpr std::size_t kMostLater = 1 << 20;
constexpr const char* kHint = "GOAL text is expected (docs/formats/goal.md)";

// Words of one statement, from left to right.
class Words {
 public:
  explicit Words(const std::vector<std::string>& words) : words_(words) {}
  bool is_end() const { return at_ >= words_.size(); }
  const std::string& here() const { return is_end() ? kEnd : words_[at_]; }
  bool take(std::string_view word) { return here() == word && (++at_, true); }
  template <class Number>
  std::optional<Number> number() {
    const auto value = whole_number<Number>(here());
    if (value) ++at_;
    return value;
  }
  std::string name() { return is_end() ? kEnd : words_[at_++]; }
  bool is_followed_by(std::string_view word) const {
    return at_ + 1 < words_.size() && words_[at_ + 1] == word;
  }

 private:
  inline static const std::string kEnd = "the end of the statement";
  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
};

class GoalReader {
 public:
  explicit GoalReader(core::Input& input) : words_(input) { file_.name = input.name(); }

  core::Result<ProgramFile> read() {
    GoalStatement statement;
    while (words_.next(statement)) {
      line_ = statement.line;
      Words words(statement.words);
      if (auto error = take(words)) return place(*std::move(error));
    }
    line_ = words_.line();
    if (words_.error()) return place(*words_.error());
    if (auto error = finish()) return place(*std::move(error));
    return std::move(file_);
  }

 private:
  using Failed = std::optional<Error>;
  struct Requirement {
    std::string op = {}, needs = {};
    bool begun = false;
    std::uint64_t line = 0;
  };

  Error place(Error error) const {
    error.where.file = file_.name;
    if (!error.where.line) error.where.line = line_;
    return error;
  }
  static Failed expected(Words& words, std::string_view what) {
    return core::input_error(fmt::format("found '{}', expected {}", words.here(), what), kHint);
  }

  Failed take(Words& words) {
    if (words.take("num_ranks")) return take_ranks(words);
    if (file_ranks_ == 0) return expected(words, "num_ranks before anything else");
    if (rank_ < 0) return take_rank(words);
    if (words.take("}")) return close_block();
    return take_line(words);
  }

  Failed take_ranks(Words& words) {
    const auto count = words.number<std::uint64_t>();
    if (!count || !words.is_end()) return expected(words, "num_ranks and a number");
    if (file_ranks_ > 0) return core::input_error("num_ranks stands here twice");
    if (*count < 1 || *count > kMostPlayedRanks)
      return core::input_error(fmt::format("num_ranks {} is outside 1 to {}", *count,
                                           static_cast<int>(kMostPlayedRanks)));
    file_ranks_ = static_cast<int>(*count);
    file_.program = model::Program(file_ranks_);
    has_block_.resize(static_cast<std::size_t>(file_ranks_));
    return std::nullopt;
  }

  Failed take_rank(Words& words) {
    if (!words.take("rank")) return expected(words, "rank R {");
    const auto rank = words.number<std::uint64_t>();
    if (!rank || !words.take("{") || !words.is_end()) return expected(words, "rank R {");
    if (*rank >= static_cast<std::uint64_t>(file_ranks_))
      return core::input_error(
          fmt::format("rank {} does not exist, num_ranks is {}", *rank, file_ranks_));
    if (has_block_[*rank]) return core::input_error(fmt::format("rank {} has two blocks", *rank));
    has_block_[*rank] = true;
    rank_ = static_cast<int>(*rank);
    return std::nullopt;
  }

  Failed take_line(Words& words) {
    if (words.is_followed_by("requires") || words.is_followed_by("irequires"))
      return take_requirement(words);
    std::string label;
    if (words.is_followed_by(":")) {
      label = words.name();
      words.take(":");
    }
    ProgramOp op{.rank = rank_};
    if (words.take("calc")) {
      if (auto failed = take_calc(words, op)) return failed;
    } else if (words.here() == "send" || words.here() == "recv") {
      op.kind = words.name() == "send" ? ProgramOp::Kind::kSend : ProgramOp::Kind::kRecv;
      if (auto failed = take_message(words, op)) return failed;
    } else {
      return expected(words, "send, recv, calc, or a label with `:`, requires or irequires");
    }
    if (file_.program.size() >= kMostOps)
      return core::input_error(
          fmt::format("more than the {} operations that are played", kMostOps));
    const OpId id = file_.program.add(op);
    file_.lines.push_back(line_);
    if (!label.empty() && !labels_.emplace(label, id).second)
      return core::input_error(fmt::format("label '{}' stands twice in rank {}", label, rank_));
    return std::nullopt;
  }

  static Failed take_calc(Words& words, ProgramOp& op) {
    op.kind = ProgramOp::Kind::kCalc;
    const auto time = words.number<std::uint64_t>();
    if (!time) return expected(words, "how many nanoseconds");
    op.time = core::Duration::from_ns(static_cast<double>(*time));
    return take_ends(words, op, nullptr);
  }

  // "8b to 1 tag 0 cpu 0 nic 0"
  Failed take_message(Words& words, ProgramOp& op) {
    const auto bytes = words.number<std::uint64_t>();
    if (!bytes) return expected(words, "how many bytes, like 8b");
    op.bytes = core::Bytes::of(*bytes);
    if (!words.take("b")) return expected(words, "b behind the number of bytes");
    const bool is_send = op.kind == ProgramOp::Kind::kSend;
    if (!words.take(is_send ? "to" : "from"))
      return expected(words, is_send ? "to and a rank" : "from and a rank");
    if (op.kind == ProgramOp::Kind::kRecv && words.take("-1")) {
      op.peer = ProgramOp::kAnyPeer;
    } else {
      const auto peer = words.number<std::uint64_t>();
      if (!peer) return expected(words, "a rank");
      if (*peer >= static_cast<std::uint64_t>(file_ranks_))
        return core::input_error(
            fmt::format("rank {} does not exist, num_ranks is {}", *peer, file_ranks_));
      op.peer = static_cast<int>(*peer);
    }
    return take_ends(words, op, &file_.other_nics);
  }

  // In any order, each at most once in files that are written by programs.
  static Failed take_ends(Words& words, ProgramOp& op, std::size_t* other_nics) {
    while (!words.is_end()) {
      if (other_nics != nullptr && words.take("tag")) {
        const bool is_any = op.kind == ProgramOp::Kind::kRecv && words.take("-1");
        const auto tag = is_any ? ProgramOp::kAnyTag : words.number<std::uint32_t>();
        if (!tag || (!is_any && *tag == ProgramOp::kAnyTag)) return expected(words, "a tag");
        op.tag = *tag;
      } else if (words.take("cpu")) {
        const auto cpu = words.number<std::uint8_t>();
        if (!cpu) return expected(words, "a processor from 0 to 255");
        op.cpu = *cpu;
      } else if (words.take("nic")) {
        const auto nic = words.number<std::uint8_t>();
        if (!nic) return expected(words, "a NIC from 0 to 255");
        if (other_nics != nullptr && *nic > 0) ++*other_nics;
      } else {
        return expected(words, "tag, cpu, nic or the end of the statement");
      }
    }
    return std::nullopt;
  }

  Failed take_requirement(Words& words) {
    Requirement one{.op = words.name()};
    one.begun = words.name() == "irequires";
    if (words.is_end()) return expected(words, "a label");
    one.needs = words.name();
    one.line = line_;
    if (!words.is_end()) return expected(words, "the end of the statement");
    if (++dependencies_ > kMostDependencies)
      return core::input_error(
          fmt::format("more than the {} dependencies that are played", kMostDependencies));
    if (labels_.count(one.op) > 0 && labels_.count(one.needs) > 0) return require(one);
    if (later_.size() >= kMostLater)
      return core::input_error(
          fmt::format("more than {} dependencies name labels that stand further down", kMostLater));
    later_.push_back(std::move(one));
    return std::nullopt;
  }

  Failed require(const Requirement& one) {
    for (const std::string& label : {one.op, one.needs})
      if (labels_.count(label) == 0) {
        Error error =
            core::input_error(fmt::format("label '{}' does not stand in rank {}", label, rank_));
        error.where.line = one.line;
        return error;
      }
    file_.program.require(labels_[one.op], labels_[one.needs], one.begun);
    return std::nullopt;
  }

  Failed close_block() {
    for (const Requirement& one : later_)
      if (auto failed = require(one)) return failed;
    later_.clear();
    labels_.clear();
    rank_ = -1;
    return std::nullopt;
  }

  Failed finish() {
    if (words_.is_in_comment())
      return core::input_error("the file ends inside a comment, expected */", "it may be cut");
    if (rank_ >= 0)
      return core::input_error(
          fmt::format("the file ends inside the block of rank {}, expected }}", rank_),
          "it may be cut");
    if (file_ranks_ == 0) return core::input_error("no schedule: num_ranks is missing", kHint);
    if (file_.program.size() == 0)
      return core::input_error("the schedule is empty: no send, recv or calc");
    const std::vector<OpId> circle = file_.program.seal();
    if (circle.empty()) return std::nullopt;
    std::string text;
    constexpr std::size_t kShown = 5;
    for (std::size_t i = 0; i < std::min(kShown, circle.size()); ++i)
      text += fmt::format("line {} for ", file_.lines[circle[i]]);
    if (circle.size() > kShown) text += "... for ";
    Error error = core::input_error(
        fmt::format("operations of rank {} wait for each other in a circle: {}line {}",
                    file_.program.at(circle[0]).rank, text, file_.lines[circle[0]]));
    error.where.line = file_.lines[circle[0]];
    return error;
  }

  GoalWords words_;
  ProgramFile file_ = {};
  std::unordered_map<std::string, OpId> labels_ = {};
  std::vector<Requirement> later_ = {};  // labels that may still come
  std::vector<bool> has_block_ = {};
  std::size_t dependencies_ = 0;
  std::uint64_t line_ = 0;
  int file_ranks_ = 0, rank_ = -1;
};

}  // namespace

core::Result<ProgramFile> read_goal(core::Input& input) { return GoalReader(input).read(); }

}  // namespace comm_probe::sim
