// Dumps that were damaged or made to hurt: each ends in an error line or in what could be read, and
// none takes more than 100 MB.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "torch/torch.h"

namespace comm_probe::torch {
namespace {

std::string file_text(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// A sanitizer keeps freed memory and fences every block.
#if defined(__SANITIZE_ADDRESS__)
constexpr double kMostMb = 500;
#else
constexpr double kMostMb = 100;
#endif

// Peak of this process in MB; it never falls.
double peak_mb() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Reads it as hang does; the error's text or "".
std::string outcome(std::string_view bytes) {
  RankLists lists;
  auto dump = read_dump("rank_0", bytes, lists);
  if (!dump) return dump.error().one_line();
  const Job job = align({std::make_shared<const Digest>(digest(std::move(*dump)))});
  for (const Group& group : job.groups)
    for (const Lane& lane : group.lanes) lane.standing(group.watermark());
  return "";
}

void expect_small(const std::string& bytes, const char* expected) {
  const double before = peak_mb();
  EXPECT_NE(outcome(bytes).find(expected), std::string::npos) << outcome(bytes);
  EXPECT_LT(peak_mb() - before, kMostMb);
}

std::string repeated(const std::string& part, std::size_t count) {
  std::string text;
  text.reserve(part.size() * count);
  for (std::size_t i = 0; i < count; ++i) text += part;
  return text;
}

const std::string kHead("\x80\x02", 2);

TEST(HostileDump, NestedAMillionDeep) {
  expect_small(kHead + repeated("](", 1'000'000), "nested deeper than 100");
  expect_small(kHead + repeated("]", 1'000'000) + repeated("a", 999'999) + ".",
               "more values than a dump");
  expect_small(repeated("[", 1'000'000), "nested deeper than 100");
  expect_small(repeated("{\"entries\":", 1'000'000), "nested deeper than 100");
}

TEST(HostileDump, CountsThatAreNotThere) {
  expect_small(kHead + "X" + std::string("\xff\xff\xff\xff", 4) + "abc",
               "a string of 4294967295 bytes");
  expect_small(kHead + "\x8d" + std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8),
               "where 0 are left");
  expect_small(kHead + "]r" + std::string("\xf0\xff\xff\xff", 4), "memo number 4294967280");
  expect_small(kHead + "](" + repeated("N", 20'000'000), "more values than a dump");
  std::string distinct = kHead + "](";  // lists that differ, each known by its bytes
  for (std::uint32_t i = 0; i < 2'000'000; ++i)
    distinct += "](J" + std::string(reinterpret_cast<const char*>(&i), 4) + "e";
  expect_small(distinct, "more values than a dump");
  expect_small("{\"entries\": [" + repeated("1,", 8'000'000), "more values than a dump");
  expect_small(
      kHead + "]q" + std::string("\0", 1) + "(" + repeated(std::string("h\0", 2), 9'000'000),
      "more values than a dump");
}

// A list that holds itself, and lists of lists of lists: looked at a few levels deep only.
TEST(HostileDump, MemoLoops) {
  const std::string self = kHead + "}(\x8c\x07" + "entries]q" + std::string("\0", 1) + "(h" +
                           std::string("\0", 1) + "eu.";
  EXPECT_NE(outcome(self), "");
  std::string wide = kHead + "](" + repeated("K\x01", 1000) + "eq" + std::string("\0", 1);
  for (char level = 1; level < 20; ++level)
    wide += "](" + repeated(std::string("h") + static_cast<char>(level - 1), 1000) + "eq" + level;
  const std::string bomb = wide + "}(\x8c\x0eprofiling_name\x8c\x01x\x8c\x0binput_sizesh\x13u.";
  const double before = peak_mb();
  outcome(bomb);
  EXPECT_LT(peak_mb() - before, kMostMb);
}

TEST(HostileDump, RefusesEveryOpcodeThatIsNoData) {
  const std::string known = "}](uesat)NKMJGXhjqr.";
  for (int opcode = 0; opcode < 256; ++opcode) {
    const auto byte = static_cast<char>(opcode);
    const bool is_data = known.find(byte) != std::string::npos || opcode == 0x80 ||
                         (opcode >= 0x85 && opcode <= 0x8a) || opcode == 0x8c || opcode == 0x8d ||
                         opcode == 0x94 || opcode == 0x95;
    if (is_data) continue;
    const std::string message = outcome(kHead + byte);
    EXPECT_TRUE(message.find("refused") != std::string::npos ||
                message.find("is no pickle opcode") != std::string::npos)
        << opcode << message;
  }
}

TEST(HostileDump, TwoHundredMutations) {
  const std::filesystem::path folder = std::filesystem::path(COMM_PROBE_SHARED) / "data/hang";
  std::vector<std::string> bases;
  for (const char* name :
       {"01_size_mismatch/pickle/rank_0", "09_p2p_missing_send/pickle/rank_1",
        "15_gpu_error_only_active/pickle/rank_3", "16_ring_wrap_truncated_file/json/rank_0.json",
        "18_coalesced_inner_order/json/rank_1.json"})
    bases.push_back(file_text(folder / name));
  if (bases.front().empty()) GTEST_SKIP() << "no ../shared/data beside the checkout";
  std::mt19937_64 random(20261129);
  const double before = peak_mb();
  std::size_t readable = 0;
  for (int i = 0; i < 200; ++i) {
    std::string bytes = bases[static_cast<std::size_t>(i) % bases.size()];
    if (i % 4 == 3) bytes.resize(random() % bytes.size());
    const int flips = 1 + i % 8;
    for (int flip = 0; flip < flips && !bytes.empty(); ++flip)
      bytes[random() % bytes.size()] ^= static_cast<char>(1U << (random() % 8));
    readable += outcome(bytes).empty() ? 1 : 0;
  }
  EXPECT_GT(readable, 50U);  // most damage leaves entries before it
  EXPECT_LT(peak_mb() - before, kMostMb);
}

}  // namespace
}  // namespace comm_probe::torch
