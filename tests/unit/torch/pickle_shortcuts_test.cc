// The reader takes what repeats in a dump by shortcuts (pickle_shortcuts.cc); they must not change
// what is read. FRAME opcodes, which mean nothing, keep them from being taken.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "torch/readers/flight_recorder.h"
#include "torch/torch.h"

namespace comm_probe::torch {
namespace {

namespace fs = std::filesystem;

std::string file_text(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

core::Result<Dump> read(std::string_view bytes) {
  RankLists rank_lists;
  return read_dump("rank_0", bytes, rank_lists);
}

std::size_t little(std::string_view bytes, std::size_t at, std::size_t size) {
  std::size_t number = 0;
  for (std::size_t i = size; i-- > 0;)
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

// How long the opcode at `at` is with its argument (pickletools).
std::size_t length_of(std::string_view bytes, std::size_t at) {
  switch (static_cast<unsigned char>(bytes[at])) {
    case 0x80:
    case 'K':
    case 'h':
    case 'q':
      return 2;
    case 'M':
      return 3;
    case 'J':
    case 'j':
    case 'r':
      return 5;
    case 'G':
    case 0x95:
      return 9;
    case 'X':
      return 5 + little(bytes, at + 1, 4);
    case 0x8c:
    case 0x8a:
      return 2 + little(bytes, at + 1, 1);
    default:
      return 1;
  }
}

// The same pickle with a FRAME before every MARK.
std::string without_shortcuts(std::string_view bytes) {
  std::string slow;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = std::min(length_of(bytes, at), bytes.size() - at);
    if (bytes[at] == '(') slow += std::string("\x95", 1) + std::string(8, '\0');
    slow += bytes.substr(at, length);
    at += length;
  }
  return slow;
}

std::string described(const Dump& dump) {
  std::ostringstream text;
  for (const DumpGroup& group : dump.groups)
    text << group.name << '|' << group.desc << '|' << group.local_id.value_or(-1) << '\n';
  for (const Call& call : dump.calls) {
    const Arguments& arguments = dump.arguments[call.arguments];
    text << call.record << ' ' << call.collective_seq << ' ' << call.p2p_seq << ' '
         << call.created_ns << ' ' << call.completed_ns << ' ' << static_cast<int>(call.state)
         << call.retired << call.is_p2p << call.has_sizes << ' ' << call.timeout_ms << ' '
         << call.group << ' ' << dump.operations[call.operation].name << ' ' << arguments.sizes
         << arguments.elements_in << ' ' << arguments.elements_out << ' ' << arguments.in_types;
    if (call.stack != kNoIndex)
      for (const std::uint32_t frame : dump.stacks[call.stack].frames)
        text << ' ' << dump.frames[frame].file << ':' << dump.frames[frame].line;
    text << '\n';
  }
  return text.str();
}

TEST(PickleShortcuts, ReadTheSameAsOpcodeByOpcode) {
  int compared = 0;
  std::error_code ignored;
  for (const char* folder : {"data/hang", "data/h200", "data/field/flight-recorder"})
    for (const auto& file :
         fs::recursive_directory_iterator(fs::path(COMM_PROBE_SHARED) / folder, ignored)) {
      const std::string bytes = file.is_regular_file() ? file_text(file.path()) : "";
      if (!bytes.starts_with(std::string_view("\x80\x02}", 3))) continue;
      const auto fast = read(bytes);
      const auto slow = read(without_shortcuts(bytes));
      ASSERT_EQ(fast.ok(), slow.ok()) << file.path();
      if (!fast.ok()) continue;
      EXPECT_EQ(described(*fast), described(*slow)) << file.path();
      ++compared;
    }
  if (compared == 0) GTEST_SKIP() << "no pickles in " << COMM_PROBE_SHARED;
  EXPECT_GT(compared, 100);
}

// A string and its place in the memo.
std::string put(std::string_view word, char index) {
  return std::string("\x8c", 1) + static_cast<char>(word.size()) + std::string(word) + 'q' + index;
}
std::string get(char index) { return std::string("h") + index; }

// {"profiling_name": "nccl:all_reduce", "collective_seq_id": seq, "input_sizes": sizes,
//  "input_dtypes": [memo 6]}, its words from the memo, where `kWords` put them.
const std::string kWords = put("profiling_name", 1) + put("collective_seq_id", 2) +
                           put("input_sizes", 3) + put("nccl:all_reduce", 4) +
                           put("input_dtypes", 5) + put("Float", 6);
std::string entry(char seq, const std::string& sizes) {
  return "}(" + get(1) + get(4) + get(2) + "K" + seq + get(3) + sizes + get(5) + "](" + get(6) +
         "eu";
}
std::string dump_of(const std::string& entries) {
  return std::string("\x80\x02}(", 4) + put("words", 7) + "](" + kWords + "e" + put("entries", 8) +
         "](" + entries + "eu." + std::string(16, '.');
}
std::string sizes_of(const Dump& dump, std::size_t call) {
  return dump.arguments[dump.calls.at(call).arguments].sizes;
}

TEST(PickleShortcuts, AWordOfTheMemoThatChangesIsSeen) {
  const std::string list = std::string("](](K\x04") + "ee";
  const auto dump = read(dump_of(entry(1, list) + entry(2, list) + put("BFloat16", 6) +
                                 entry(3, list) + entry(4, list)));
  ASSERT_TRUE(dump.ok()) << dump.error().one_line();
  ASSERT_EQ(dump->calls.size(), 4U);
  EXPECT_EQ(sizes_of(*dump, 1), "[[4]] Float -> []");
  EXPECT_EQ(sizes_of(*dump, 2), "[[4]] BFloat16 -> []");
  EXPECT_EQ(sizes_of(*dump, 3), "[[4]] BFloat16 -> []");
}

TEST(PickleShortcuts, AListThatGrowsDoesNotChangeOthers) {
  const std::string list = std::string("](](K\x04") + "ee";
  const std::string grown = list + std::string("(](K\x05") + "ee";
  for (const std::string& more : {grown, list + std::string("](K\x05") + "ea"}) {
    const auto dump =
        read(dump_of(entry(1, list) + entry(2, more) + entry(3, list) + entry(4, more)));
    ASSERT_TRUE(dump.ok()) << dump.error().one_line();
    ASSERT_EQ(dump->calls.size(), 4U);
    EXPECT_FALSE(dump->cut);
    for (const std::size_t call : {0, 2}) EXPECT_EQ(sizes_of(*dump, call), "[[4]] Float -> []");
    for (const std::size_t call : {1, 3})
      EXPECT_EQ(sizes_of(*dump, call), "[[4], [5]] Float -> []");
  }
}

// JSON has one of its own: the string that came next the last time. An escaped one must not be
// taken for another that looks alike.
TEST(JsonShortcuts, EscapedStringsAreNotTakenForOthers) {
  const auto entry = [](const char* seq, const char* name) {
    return std::string(R"({"profiling_name":")") + name + R"(","collective_seq_id":)" + seq + "}";
  };
  const auto dump =
      read(R"({"entries":[)" + entry("1", R"(nccl:a\\b)") + "," + entry("2", R"(nccl:a\b)") + "," +
           entry("3", "nccl:all_reduce") + "," + entry("4", "nccl:all_reduce") + "," +
           entry("5", "nccl:all") + "," + entry("6", "nccl:all_reduce2") + "]}");
  ASSERT_TRUE(dump.ok()) << dump.error().one_line();
  ASSERT_EQ(dump->calls.size(), 6U);
  const auto name = [&](std::size_t call) {
    return dump->operations[dump->calls[call].operation].name;
  };
  EXPECT_EQ(name(0), "a\\b");
  EXPECT_EQ(name(1), "a\b");
  EXPECT_EQ(name(2), "all_reduce");
  EXPECT_EQ(name(3), "all_reduce");
  EXPECT_EQ(name(4), "all");
  EXPECT_EQ(name(5), "all_reduce2");
}

}  // namespace
}  // namespace comm_probe::torch
