// -v shows the path to the verdict: who waits for whom, read from the recorded hangs.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

const std::string kHang = std::string(COMM_PROBE_SHARED) + "/data/hang/";

// Columns are one blank apart in `row`.
void expect_row(const std::string& text, const std::string& row) {
  std::string squeezed;
  for (const char c : text)
    if (c != ' ' || !squeezed.ends_with(' ')) squeezed += c;
  EXPECT_NE(squeezed.find("\n" + row + "\n"), std::string::npos) << row << "\n" << text;
}

TEST(WaitList, ACascade) {
  if (!std::filesystem::exists(kHang)) GTEST_SKIP() << "no ../shared/data beside the checkout";
  const BinaryRun run = run_binary({"hang", kHang + "08_rank_stuck_cascade", "-v"});
  EXPECT_EQ(run.status, 1);
  // INDEX.md: rank 5 is stuck; 4 waits for it in tp, 1, 3 and 7 in dp, 0, 2 and 6 for 4
  expect_row(run.out, "4 all_reduce 7 of group 3 5 (not issued)");
  expect_row(run.out, "1, 3, 7 _reduce_scatter_base 7 of group 6 5 (not issued)");
  expect_row(run.out, "0, 2, 6 _reduce_scatter_base 7 of group 5 4 (behind an older call)");
  const BinaryRun plain = run_binary({"hang", kHang + "08_rank_stuck_cascade"});
  EXPECT_EQ(plain.out.find("Who waits"), std::string::npos);
}

TEST(WaitList, AMissingMessage) {
  if (!std::filesystem::exists(kHang)) GTEST_SKIP() << "no ../shared/data beside the checkout";
  const BinaryRun run = run_binary({"hang", kHang + "09_p2p_missing_send", "-v"});
  expect_row(run.out, "2 receive 1 -> 2, message 6 of group 1 1 (not issued)");
}

TEST(WaitList, NothingToTell) {
  if (!std::filesystem::exists(kHang)) GTEST_SKIP() << "no ../shared/data beside the checkout";
  const BinaryRun logs = run_binary({"hang", kHang + "01_size_mismatch/log", "-v"});
  EXPECT_EQ(logs.out.find("Who waits"), std::string::npos) << logs;
}

}  // namespace
}  // namespace comm_probe::test
