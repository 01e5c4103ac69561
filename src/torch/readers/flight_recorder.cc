#include "torch/readers/flight_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/finding_table.h"
#include "torch/rank_of_name.h"
#include "torch/readers/dump_builder.h"
#include "torch/readers/json_machine.h"
#include "torch/readers/pickle_machine.h"

namespace comm_probe::torch {
namespace {

// The newest form that the reader was written for.
constexpr int kKnownMajor = 2;
constexpr int kKnownMinor = 10;

bool is_pickle(std::string_view head) {
  return head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

bool is_json(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (head[first] == '{' || head[first] == '[');
}

core::Caveat cut_caveat(const Dump& dump, const Stopped& stopped) {
  return core::make_caveat("hang.dump-cut",
                           fmt::format("{}: {} at byte {} of {}; {} entries were read", dump.file,
                                       stopped.why, stopped.offset, dump.bytes, dump.calls.size()),
                           "what this rank did after them is not known");
}

void check_version(Dump& dump) {
  if (dump.version.empty()) return;
  int major = 0, minor = 0;
  const char* end = dump.version.data() + dump.version.size();
  const auto [dot, error] = std::from_chars(dump.version.data(), end, major);
  if (error == std::errc() && dot != end && *dot == '.') std::from_chars(dot + 1, end, minor);
  if (major < kKnownMajor || (major == kKnownMajor && minor <= kKnownMinor)) return;
  dump.caveats.push_back(
      core::make_caveat("hang.dump-newer",
                        fmt::format("{}: Flight Recorder version {}, known up to {}.{}", dump.file,
                                    dump.version, kKnownMajor, kKnownMinor),
                        "fields of the newer version are not used", false));
}

core::Caveat skipped_caveat(const Dump& dump) {
  return core::make_caveat(
      "hang.entries-skipped",
      fmt::format("{}: {} entries without the name of an operation, or beyond {} groups or "
                  "operations, besides {} that were read",
                  dump.file, dump.skipped_entries, kMostNumbered, dump.calls.size()),
      "calls that lack here may have been made");
}

core::Error too_large(const std::string& file, std::uint64_t limit) {
  core::Error error = core::input_error(
      fmt::format("no Flight Recorder dump: more than {} MiB unpacked", limit >> 20),
      "expected a few MB for each rank");
  error.where.file = file;
  return error;
}

core::Error no_dump(const Dump& dump, const Stopped& stopped) {
  core::Error error = core::input_error(
      stopped.why.empty() ? "no Flight Recorder dump: neither entries nor groups in it"
                          : "no Flight Recorder dump: " + stopped.why,
      "expected what PyTorch writes to TORCH_FR_DUMP_TEMP_FILE, as pickle or JSON");
  error.where = {dump.file, std::nullopt, stopped.offset};
  return error;
}

Stopped run(bool as_pickle, std::string_view bytes, ValueStack& stack, DumpBuilder& builder) {
  builder.look_into(stack);
  if (as_pickle) return PickleMachine(stack, builder.strings(), builder).run(bytes);
  return JsonMachine(stack, builder.strings()).run(bytes);
}

}  // namespace

bool looks_like_dump(std::string_view head) {
  if (is_pickle(head)) return true;
  if (!is_json(head)) return false;
  constexpr std::array kWords = {std::string_view("\"entries\""), std::string_view("\"pg_config\""),
                                 std::string_view("\"pg_status\""),
                                 std::string_view("\"profiling_name\""),
                                 std::string_view("\"comm_lib_version\"")};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return head.find(word) != std::string_view::npos;
  });
}

core::Result<Dump> read_dump(std::string file, std::string_view bytes, RankLists& rank_lists) {
  const bool as_pickle = is_pickle(bytes);
  DumpBuilder builder(rank_lists);
  ValueStack stack(bytes.size(), builder);
  Stopped stopped = run(as_pickle, bytes, stack, builder);
  Dump dump = builder.finish(stack);
  dump.file = std::move(file);
  dump.rank = rank_of_name(dump.file);
  dump.format = as_pickle ? Dump::Format::kPickle : Dump::Format::kJson;
  dump.bytes = bytes.size();
  if (dump.calls.empty() && dump.groups.empty()) return no_dump(dump, stopped);
  if (!stopped.why.empty()) {
    dump.cut = true;
    dump.caveats.push_back(cut_caveat(dump, stopped));
  } else if (stopped.offset < bytes.size()) {
    dump.caveats.push_back(core::make_caveat("hang.dump-trailing",
                                             fmt::format("{}: {} bytes behind the end of the dump",
                                                         dump.file, bytes.size() - stopped.offset),
                                             "they were not read", false));
  }
  if (dump.skipped_entries > 0) dump.caveats.push_back(skipped_caveat(dump));
  check_version(dump);
  return dump;
}

core::Result<Dump> read_dump(core::Input& input, RankLists& rank_lists, std::uint64_t limit) {
  std::string bytes;
  std::optional<core::Error> broken;  // packed data that is cut: what came before it is used
  while (!broken) {
    const auto block = input.next();
    if (!block) broken = block.error();
    if (!block || block->empty()) break;
    if (bytes.size() + block->size() > limit) return too_large(input.name(), limit);
    bytes.append(*block);
  }
  auto dump = read_dump(input.name(), bytes, rank_lists);
  if (!broken) return dump;
  if (!dump) return *broken;
  if (!dump->cut)
    dump->caveats.push_back(core::make_caveat("hang.dump-cut", broken->one_line(),
                                              "what this rank did after it is not known"));
  dump->cut = true;
  return dump;
}

}  // namespace comm_probe::torch
