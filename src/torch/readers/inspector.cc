#include "torch/readers/inspector.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "core/finding_table.h"

namespace comm_probe::torch {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestRecord = 1 << 20;  // verbose mode writes every channel's events
constexpr double kMostMicroseconds = 1e12;       // eleven days: no collective

struct Named {
  std::string_view name;
  CollectiveClass kind;
};
// as NCCL names its functions to profiler plugins
constexpr std::array kNames = {
    Named{"AllReduce", CollectiveClass::kAllReduce},
    Named{"AllGather", CollectiveClass::kAllGather},
    Named{"ReduceScatter", CollectiveClass::kReduceScatter},
    Named{"AllToAll", CollectiveClass::kAllToAll},
    Named{"AlltoAll", CollectiveClass::kAllToAll},
    Named{"Broadcast", CollectiveClass::kBroadcast},
    Named{"Reduce", CollectiveClass::kReduce},
    Named{"Gather", CollectiveClass::kGather},
    Named{"Scatter", CollectiveClass::kScatter},
    Named{"Send", CollectiveClass::kSend},
    Named{"Recv", CollectiveClass::kReceive},
};

CollectiveClass kind_of(std::string_view name) {
  for (const Named& one : kNames)
    if (one.name == name) return one.kind;
  return CollectiveClass::kUnknown;
}

// Null where there is no such object.
const json& member(const json& object, const char* key) {
  static const json kNull = nullptr;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}
std::string text(const json& value) { return value.is_string() ? value.get<std::string>() : ""; }
// Of a whole number that is not negative and below `limit`; 0 where it is not.
std::uint64_t whole(const json& value, double limit) {
  if (!value.is_number()) return 0;
  const auto number = value.get<double>();
  return number >= 0 && number < limit ? static_cast<std::uint64_t>(number) : 0;
}

// Collects lines until the braces close.
class Braces {
 public:
  // Depth after this text; strings may hold braces.
  void pass(std::string_view text) {
    for (const char c : text) {
      if (in_string_) {
        if (!escaped_ && c == '"') in_string_ = false;
        escaped_ = !escaped_ && c == '\\';
      } else if (c == '"') {
        in_string_ = true;
      } else if (c == '{') {
        ++depth_;
      } else if (c == '}') {
        --depth_;
      }
    }
  }
  bool closed() const { return depth_ <= 0 && !in_string_; }
  void reset() { *this = Braces(); }

 private:
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

class LogReader {
 public:
  explicit LogReader(core::Input& input) : lines_(input) { log_.file = input.name(); }

  core::Result<InspectorLog> read() {
    core::Line line;
    while (lines_.next(line)) take(line);
    if (!pending_.empty()) drop(line.number);
    if (lines_.error())
      log_.caveats.push_back(core::make_caveat("input.unreadable", lines_.error()->one_line(),
                                               "what stood before it was used"));
    if (log_.records.empty()) {
      core::Error error = core::input_error("no record of NCCL Inspector could be read",
                                            "expected one JSON object per collective");
      error.where.file = log_.file;
      return error;
    }
    if (broken_ > 0) log_.caveats.push_back(broken_caveat());
    return std::move(log_);
  }

 private:
  void take(const core::Line& line) {
    if (!pending_.empty() && line.text.starts_with('{')) drop(line.number - 1);
    if (pending_.empty() && line.text.find('{') == std::string_view::npos) return;
    if (pending_.size() + line.text.size() > kLongestRecord) return drop(line.number);
    pending_ += line.text;
    braces_.pass(line.text);
    if (!braces_.closed()) return;
    const json record = json::parse(pending_, nullptr, false);
    if (record.is_discarded() || !keep(record)) return drop(line.number);
    forget();
  }

  void drop(std::uint64_t line) {
    if (broken_++ == 0) first_broken_ = line;
    forget();
  }
  void forget() {
    pending_.clear();
    braces_.reset();
  }

  bool keep(const json& object) {
    const json& header = member(object, "header");
    const json& collective = member(object, "coll_perf");
    const json& metadata = member(object, "metadata");
    if (!header.is_object()) return false;
    if (log_.host.empty()) log_.host = text(member(metadata, "hostname"));
    if (log_.process == 0)
      log_.process = static_cast<std::int64_t>(whole(member(metadata, "pid"), 1e12));
    if (!collective.is_object()) return true;  // point-to-point: nobody is last
    InspectorRecord record;
    record.communicator = text(member(header, "id"));
    record.name = text(member(header, "comm_name"));
    record.rank = static_cast<int>(whole(member(header, "rank"), 1e7));
    record.ranks = static_cast<int>(whole(member(header, "n_ranks"), 1e7));
    record.operation = text(member(collective, "coll"));
    record.kind = kind_of(record.operation);
    record.number = whole(member(collective, "coll_sn"), 1e15);
    record.bytes = whole(member(collective, "coll_msg_size_bytes"), 1e15);
    record.time = static_cast<std::int64_t>(
                      whole(member(collective, "coll_exec_time_us"), kMostMicroseconds)) *
                  1000;
    const std::string source = text(member(collective, "coll_timing_source"));
    record.by_gpu = source.empty() || source == "kernel_gpu";
    if (record.time > 0) log_.records.push_back(std::move(record));
    return true;
  }

  core::Caveat broken_caveat() const {
    return core::make_caveat(
        "trace.inspector-cut",
        fmt::format("{}:{}: {} record{} cut or damaged", log_.file, first_broken_, broken_,
                    broken_ == 1 ? " is" : "s are"),
        "the other records were used; a collective that one rank lost is compared between the rest",
        broken_ > 1);
  }

  core::LineReader lines_;
  InspectorLog log_ = {};
  std::string pending_ = {};
  Braces braces_ = {};
  std::size_t broken_ = 0;
  std::uint64_t first_broken_ = 0;
};

}  // namespace

bool looks_like_inspector(std::string_view head) {
  return head.find("\"coll_perf\"") != std::string_view::npos ||
         head.find("inspector_output_format_version") != std::string_view::npos;
}

core::Result<InspectorLog> read_inspector(core::Input& input) { return LogReader(input).read(); }

}  // namespace comm_probe::torch
