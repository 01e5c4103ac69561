#include <gtest/gtest.h>

#include "curve/curve.h"

namespace comm_probe::curve {
namespace {

core::Result<Reading> read_text(const std::string& text, const std::string& name = "table.txt") {
  core::Input input = core::Input::from_memory(name, text);
  return read(input);
}

Reading reading_of(const std::string& text, const std::string& name = "table.txt") {
  auto reading = read_text(text, name);
  EXPECT_TRUE(reading.ok()) << (reading.ok() ? "" : reading.error().one_line());
  return reading.ok() ? *reading : Reading{};
}

TEST(Curve, ReadsTheWorkedExample) {
  const auto reading = reading_of(
      "   1048576  262144  float  sum  -1   119.1   8.81   16.51   0   121.5   8.63   16.18   0\n");
  ASSERT_EQ(reading.curves.size(), 1U);
  ASSERT_EQ(reading.curves[0].rows.size(), 1U);
  const Row& row = reading.curves[0].rows[0];
  EXPECT_EQ(row.bytes, core::Bytes::of(1048576));
  EXPECT_EQ(row.count, 262144U);
  EXPECT_EQ(row.type, "float");
  EXPECT_EQ(row.redop, "sum");
  EXPECT_EQ(row.root, -1);
  EXPECT_EQ(row.out_of_place->time, core::Duration::from_us(119.1));
  EXPECT_EQ(row.out_of_place->algbw, core::Bandwidth::from_GBps(8.81));
  EXPECT_EQ(row.out_of_place->busbw, core::Bandwidth::from_GBps(16.51));
  EXPECT_EQ(row.out_of_place->wrong, 0);
  EXPECT_EQ(row.in_place->time, core::Duration::from_us(121.5));
  EXPECT_EQ(row.in_place->algbw, core::Bandwidth::from_GBps(8.63));
  EXPECT_EQ(row.in_place->busbw, core::Bandwidth::from_GBps(16.18));
  EXPECT_EQ(row.line, 1U);
  EXPECT_TRUE(reading.caveats.empty());
}

const std::string kHeader =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    " "
    " algbw   busbw #wrong\n";
const std::string kOldHeader =
    "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   "
    "busbw  error\n";
const std::string kRow =
    "     1048576        262144     float     sum      -1    119.1    8.81   16.51      0    121.5 "
    "  "
    " 8.63   16.18      0";
const std::string kNextRow =
    "     2097152        524288     float     sum      -1    147.2   14.24   26.70      0    147.1 "
    "  "
    "14.25   26.72      0";

std::size_t rows_in(const Reading& reading) {
  std::size_t rows = 0;
  for (const Curve& curve : reading.curves) rows += curve.rows.size();
  return rows;
}

bool has_caveat(const Reading& reading, std::string_view id, bool limits) {
  for (const core::Caveat& caveat : reading.caveats)
    if (caveat.id == id && caveat.limits == limits) return true;
  return false;
}

// Both rows, both halves, whatever stands before, behind or between them.
void expect_both_rows(const std::string& text) {
  SCOPED_TRACE(text);
  const Reading reading = reading_of(text);
  ASSERT_EQ(rows_in(reading), 2U);
  ASSERT_EQ(reading.curves.size(), 1U);
  const auto& rows = reading.curves[0].rows;
  EXPECT_EQ(rows[0].bytes, core::Bytes::of(1048576));
  EXPECT_EQ(rows[0].out_of_place->busbw, core::Bandwidth::from_GBps(16.51));
  EXPECT_EQ(rows[1].bytes, core::Bytes::of(2097152));
  ASSERT_TRUE(rows[1].in_place.has_value());
  EXPECT_EQ(rows[1].in_place->time, core::Duration::from_us(147.1));
  EXPECT_EQ(rows[1].in_place->wrong, 0);
}

TEST(CurveRows, AnyPrefixMayStandBeforeThem) {
  for (const std::string prefix :
       {"", "0: ", "12:", "[1,0]<stdout>:", "[0]", "[STAT]:", "2024-05-01T10:00:00.123456Z ",
        "Jan  1 10:00:00 node01 ", "> ", "| ", "pod/nccl-test-abc-launcher ", "\t",
        "node01: ", "[2024-05-01 10:00:00] "})
    expect_both_rows(prefix + kHeader + prefix + kRow + "\n" + prefix + kNextRow + "\n");
}

TEST(CurveRows, HeadersAreNotNeeded) { expect_both_rows(kRow + "\n" + kNextRow + "\n"); }

TEST(CurveRows, WhatEditorsAndTerminalsPutInIsTakenOut) {
  expect_both_rows("\xef\xbb\xbf" + kHeader + kRow + "\n" + kNextRow);
  expect_both_rows(kHeader + "\x1b[32m" + kRow + "\x1b[0m\n\x1b[1;31m" + kNextRow + "\x1b[m\n");
  std::string nbsp = kRow;
  for (std::size_t at; (at = nbsp.find("    ")) != std::string::npos;)
    nbsp.replace(at, 4, "\xc2\xa0 ");
  expect_both_rows(kHeader + nbsp + "\n" + kNextRow + "\n");
  std::string tabs = kNextRow;
  for (char& c : tabs)
    if (c == ' ') c = '\t';
  expect_both_rows(kRow + "\n" + tabs + "\n");
}

TEST(CurveRows, NoiseMayStandBetweenAndInsideThem) {
  expect_both_rows(
      kHeader + kRow + "\nnode00:25:25 [0] NCCL INFO comm 0x7f rank 0 nranks 16\n" +
      "[node00:356633] PMIX ERROR: ERROR in file gds_ds12_lock_pthread.c at line 168\n" + kNextRow +
      "\n");
  // A line of another process in the middle of a row: the figures follow on the next line.
  expect_both_rows(kHeader + kRow.substr(0, 55) +
                   "node00:25:25 [0] NCCL INFO Launch mode Parallel\n" + kRow.substr(55) + "\n" +
                   kNextRow + "\n");
  std::string tagged = kRow;
  tagged.insert(54, "[0]");
  expect_both_rows("[0]" + tagged + "\n[0]" + kNextRow + "\n");
}

// Other tables stand beside a benchmark's; a line of theirs is no row that was cut.
TEST(CurveRows, LinesOfOtherTablesAreNoCutRows) {
  for (const char* other :
       {"trees                  4    8  channel 1                               no such channel",
        "rings                  2    2  the same                                 the same",
        "step 100 loss 2 seconds", "4 8 channel", "used 12 of 40 GB", "512 4096 float"}) {
    const Reading reading = reading_of(kHeader + kRow + "\n#\n" + other + "\n");
    EXPECT_EQ(rows_in(reading), 1U) << other;
    EXPECT_FALSE(has_caveat(reading, "input.truncated", true)) << other;
  }
  for (const char* cut : {"     1048576        262144     float     sum", "  1048576  262144  flo",
                          "     1048576        262144     float     sum      -1   119.1"})
    EXPECT_TRUE(has_caveat(reading_of(kHeader + kRow + "\n" + cut), "input.truncated", true))
        << cut;
}

TEST(CurveRows, CarriageReturnsLimitTheConclusion) {
  const Reading reading = reading_of(kHeader + kRow + "\r\n" + kNextRow + "\r\n");
  EXPECT_EQ(rows_in(reading), 2U);
  EXPECT_TRUE(has_caveat(reading, "input.line-endings", true));
}

// Wherever a table is cut, no row is invented: each is whole, or only its first half.
TEST(CurveRows, ATableCutAnywhereGivesTheRowsBeforeTheCut) {
  const std::string whole = kHeader + kRow + "\n" + kNextRow;
  const std::size_t second = kHeader.size() + kRow.size() + 1;
  for (std::size_t length = second; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    const Reading reading = reading_of(whole.substr(0, length));
    ASSERT_GE(rows_in(reading), 1U);
    const auto& rows = reading.curves[0].rows;
    EXPECT_EQ(rows[0].in_place->busbw, core::Bandwidth::from_GBps(16.18));
    const bool has_text = whole.find_first_not_of(' ', second) < length;
    EXPECT_EQ(has_caveat(reading, "input.truncated", true), has_text);
    if (rows.size() == 1) continue;
    EXPECT_EQ(rows[1].out_of_place->busbw, core::Bandwidth::from_GBps(26.70));
    EXPECT_FALSE(rows[1].in_place.has_value());
  }
}

TEST(CurveRows, OldTablesHaveNoRootColumn) {
  // A time of five digits is printed without a point and must not be taken for a root.
  const std::string old =
      "   134217728      33554432     float     sum    29770    4.51    4.51  5e-07    29873    "
      "4.49 "
      "   4.49    N/A\n";
  for (const std::string& text : {kOldHeader + old, old}) {
    const Reading reading = reading_of(text);
    ASSERT_EQ(rows_in(reading), 1U);
    const Row& row = reading.curves[0].rows[0];
    EXPECT_FALSE(row.root.has_value());
    EXPECT_EQ(row.out_of_place->time, core::Duration::from_us(29770));
    EXPECT_EQ(row.out_of_place->largest_error, 5e-07);
    EXPECT_FALSE(row.out_of_place->wrong.has_value());
    EXPECT_EQ(row.in_place->busbw, core::Bandwidth::from_GBps(4.49));
    EXPECT_FALSE(row.in_place->largest_error.has_value());
  }
}

TEST(CurveRows, ABroadcastHasOnlyARoot) {
  const Reading reading = reading_of(
      "#  size  count  type  root  time  algbw  busbw  error  time  algbw  busbw  error\n"
      "   8  2  float  3  45.82  0.00  0.00  N/A  38.17  0.00  0.00  N/A\n");
  ASSERT_EQ(rows_in(reading), 1U);
  EXPECT_EQ(reading.curves[0].rows[0].root, 3);
  EXPECT_EQ(reading.curves[0].rows[0].redop, "");
  EXPECT_EQ(reading.curves[0].rows[0].out_of_place->time, core::Duration::from_us(45.82));
}

TEST(CurveRows, PerIterationColumnsAndTimeStampsArePassedOver) {
  const Reading reading = reading_of(
      "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw "
      "busbw #wrong i_min i_max i_p99 i_cv% timestamp\n"
      "1048576 262144 float sum -1 119.1 8.81 16.51 0 100.1 130.2 129.9 1.50 121.5 8.63 16.18 0 "
      "101.1 131.2 130.9 1.60 2026-01-02 10:11:12\n");
  ASSERT_EQ(rows_in(reading), 1U);
  EXPECT_EQ(reading.curves[0].rows[0].in_place->time, core::Duration::from_us(121.5));
  EXPECT_EQ(reading.curves[0].rows[0].in_place->wrong, 0);
}

TEST(CurveRows, ARowMayBeMeasuredInPlaceOnly) {
  const Reading reading =
      reading_of(kHeader + "     1048576        262144     float     sum      -1" +
                 std::string(32, ' ') + "    121.5    8.63   16.18      0\n");
  ASSERT_EQ(rows_in(reading), 1U);
  EXPECT_FALSE(reading.curves[0].rows[0].out_of_place.has_value());
  EXPECT_EQ(reading.curves[0].rows[0].in_place->time, core::Duration::from_us(121.5));
}

TEST(CurveRows, WrongElementsAreKept) {
  const Reading reading =
      reading_of(kHeader +
                 "  8388608  2097152  float  sum  -1  1248.3  6.72  6.72  4.1943e+06  1189.1  7.05 "
                 " 7.05  N/A\n"
                 "# Out of bounds values : 108 FAILED\n# Avg bus bandwidth    : 3.02663 \n");
  ASSERT_EQ(rows_in(reading), 1U);
  const Curve& curve = reading.curves[0];
  EXPECT_EQ(curve.rows[0].out_of_place->wrong, 4.1943e+06);
  EXPECT_FALSE(curve.rows[0].in_place->wrong.has_value());
  EXPECT_EQ(curve.printed_out_of_bounds, 108U);
  EXPECT_TRUE(curve.printed_failed);
  EXPECT_EQ(curve.printed_avg_busbw_GBps, 3.02663);
}

TEST(CurveRows, AContradictionIsKeptAndSaid) {
  const Reading reading = reading_of(
      kHeader +
      "  1048576  262144  float  sum  -1  119.1  88.1  165.1  0  121.5  8.63  16.18  0\n");
  EXPECT_EQ(rows_in(reading), 1U);
  EXPECT_TRUE(has_caveat(reading, "input.row-contradiction", true));
}

// Whatever makes a row unusable is said: a row that goes without a word is a wrong verdict.
TEST(CurveRows, ARowThatIsLeftOutIsSaid) {
  const auto with = [](const std::string& figures) {
    return reading_of(kHeader + kRow + "\n  8388608  2097152  float  sum  -1  " + figures + "\n");
  };
  for (const char* refused :
       {"-953.1 8.81 16.51 0 953.1 8.81 16.51 0", "1e300 8.81 16.51 0 953.1 8.81 16.51 0",
        "953.1 8.81 16.51 0 953.1 -8.81 16.51 0", "953.1 8.81 16.51 -3 953.1 8.81 16.51 0",
        "8.81 16.51 0 106.73 8.81 16.51 0"}) {
    EXPECT_EQ(rows_in(with(refused)), 1U) << refused;
    EXPECT_TRUE(has_caveat(with(refused), "input.row-refused", true)) << refused;
  }
  for (const char* open :
       {"nan 8.81 16.51 0 953.1 8.81 16.51 0", "inf 0 0 0 953.1 8.81 16.51 0",
        "0.00 8.81 16.51 0 953.1 8.81 16.51 0", "1e-300 8.81 16.51 0 953.1 8.81 16.51 0",
        "- - - 0 953.1 8.81 16.51 0", "N/A N/A N/A 0 953.1 8.81 16.51 0",
        "953.1 8.81 16.51 nan 953.1 8.81 16.51 0"}) {
    EXPECT_EQ(rows_in(with(open)), 2U) << open;
    EXPECT_TRUE(has_caveat(with(open), "input.row-without-time", true)) << open;
  }
}

TEST(CurveRows, AColumnThatNobodyAskedForIsNoGap) {
  const Reading reading = reading_of(kHeader +
                                     "  1048576  262144  float  sum  -1  119.1  8.81  16.51  0  "
                                     "N/A  N/A  N/A  N/A\n");
  EXPECT_FALSE(has_caveat(reading, "input.row-without-time", true));
}

TEST(CurveRows, LeftOutLinesDoNotLimitTheRest) {
  const Reading reading = reading_of(kHeader + kRow + "\n   ...\n" + kNextRow + "\n");
  EXPECT_EQ(rows_in(reading), 2U);
  EXPECT_TRUE(has_caveat(reading, "input.lines-elided", false));
}

TEST(CurveRows, ImpossibleFiguresAreNoRows) {
  for (const std::string row :
       {"8 2 float sum -1 -5.0 1.0 1.0 0 5.0 1.0 1.0 0", "8 2 float sum -1 1e300 1 1 0 1 1 1 0",
        "99999999999999999999 2 float sum -1 1 1 1 0 1 1 1 0", "8 -2 float sum -1 1 1 1 0 1 1 1 0"})
    EXPECT_FALSE(read_text(kHeader + row + "\n").ok() && rows_in(reading_of(kHeader + row)) > 0)
        << row;
}

TEST(CurveRuns, EachTableOfAFileIsACurve) {
  const std::string run =
      "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807\n"
      "# Collective test starting: all_gather_perf\n"
      "# nThread 2 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 agg "
      "iters: 1 validation: 1 graph: 1\n#\n# Using devices\n"
      "#  Rank  0 Group  0 Pid 440010 on     node00 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n"
      "#  Rank  1 Group  0 Pid 381003 on     node01 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n"
      "NCCL version 2.28.7+cuda12.9\n" +
      kHeader + kRow + "\n" + kNextRow + "\n# Out of bounds values : 0 OK\n";
  const Reading reading = reading_of(run + run);
  ASSERT_EQ(reading.curves.size(), 2U);
  for (const Curve& curve : reading.curves) {
    EXPECT_EQ(curve.rows.size(), 2U);
    EXPECT_EQ(curve.op, model::Op::kAllGather);
    EXPECT_EQ(curve.op_from, KnownFrom::kStated);
    EXPECT_EQ(curve.tests_version, "2.17.6");
    EXPECT_EQ(curve.nccl_version, "2.28.7");
    ASSERT_EQ(curve.devices.size(), 2U);
    EXPECT_EQ(curve.devices[1].host, "node01");
    EXPECT_EQ(curve.devices[1].bus_id, "0000:1b:00");
    EXPECT_EQ(curve.devices[1].name, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(curve.settings.threads, 2);
    EXPECT_EQ(curve.settings.warmup, 5);
    EXPECT_EQ(curve.settings.iterations, 20);
    EXPECT_EQ(curve.settings.graph, 1);
    EXPECT_TRUE(curve.misrun.empty());
  }
}

TEST(CurveRuns, SizesThatFallBackBeginTheNextCycle) {
  const std::string cycle = kRow + "\n" + kNextRow + "\n";
  const Reading reading = reading_of(kHeader + cycle + cycle + cycle);
  ASSERT_EQ(reading.curves.size(), 3U);
  EXPECT_EQ(reading.curves[2].rows.size(), 2U);
}

// A few megabytes must neither fill the memory nor take minutes: lists of devices that every cycle
// would repeat, and figures that never complete a row.
TEST(CurveRuns, SmallTextsStaySmall) {
  std::string devices = "# Using devices\n", cycles, figures;
  for (int rank = 0; rank < 20000; ++rank)
    devices += "#  Rank " + std::to_string(rank) + " Group  0 Pid 1 on a device 0 [0x00] X\n";
  for (int cycle = 0; cycle < 2000; ++cycle) cycles += kRow + "\n" + kNextRow + "\n";
  const Reading reading = reading_of(devices + kHeader + cycles);
  EXPECT_EQ(reading.curves.size(), 2000U);
  std::size_t copies = 0;
  for (const Curve& curve : reading.curves) copies += curve.devices.size();
  EXPECT_LE(copies, 220'000U);
  for (int line = 0; line < 200000; ++line) figures += "1 2 3\n";
  std::string words;
  for (int word = 0; word < 43; ++word) words += "w ";
  EXPECT_FALSE(read_text(words + "8 2 float sum -1\n" + figures).ok());
}

// Runs on the same GPUs share one list of them, and a row needs little more than its line.
TEST(CurveRuns, ManyRunsNeedLittleMemory) {
  const std::string devices =
      "# Using devices\n#  Rank  0 Group  0 Pid 7 on a device 0 [0x00] X\n#  Rank  1 Group  0 Pid "
      "8 on a device 1 [0x01] X\n";
  const std::string others = "# Using devices\n#  Rank  0 Group  0 Pid 7 on b device 0 [0x00] X\n";
  const std::string table = kHeader + kRow + "\n";
  const Reading reading = reading_of(devices + table + devices + table + others + table);
  ASSERT_EQ(reading.curves.size(), 3U);
  EXPECT_EQ(reading.curves[1].devices.begin(), reading.curves[0].devices.begin());
  EXPECT_EQ(reading.curves[1].devices.size(), 2U);
  ASSERT_EQ(reading.curves[2].devices.size(), 1U);
  EXPECT_EQ(reading.curves[2].devices[0].host, "b");
  EXPECT_LE(sizeof(Row), 160U);
}

TEST(CurveRuns, ASharedListIsCopiedBeforeItGrows) {
  DeviceList first;
  first.push_back({.rank = 0, .host = "a"});
  DeviceList second = first;
  second.push_back({.rank = 1, .host = "b"});
  EXPECT_EQ(first.size(), 1U);
  ASSERT_EQ(second.size(), 2U);
  EXPECT_EQ(second[0].host, "a");
  EXPECT_EQ(DeviceList().begin(), DeviceList().end());
}

TEST(CurveFields, AWordIsAsLongAsTheReadersTakeIt) {
  EXPECT_EQ(Word(""), "");
  EXPECT_TRUE(Word().empty());
  EXPECT_EQ(Word("fp8_e4m3"), std::string("fp8_e4m3"));
  EXPECT_EQ(Word("123456789012345"), "123456789012345");
  EXPECT_EQ(Word("1234567890123456"), "123456789012345");
  EXPECT_NE(Word("half"), Word("hal"));
}

TEST(CurveFields, AnAbsentFigureIsNoNumber) {
  OptionalFigure figure;
  EXPECT_FALSE(figure.has_value());
  EXPECT_EQ(figure.value_or(3), 3);
  EXPECT_FALSE(figure.to_optional());
  figure = 0.0;
  EXPECT_EQ(figure, 0);
  EXPECT_EQ(figure.to_optional(), 0.0);
  figure.reset();
  EXPECT_FALSE(figure);
  EXPECT_FALSE(OptionalFigure(std::optional<double>()).has_value());
}

TEST(CurveRuns, AListThatBeginsAgainIsAMisrun) {
  const std::string device = "#  Rank  0 Group  0 Pid 7 on a device 0 [0x00] X\n";
  const Reading reading = reading_of("# Using devices\n" + device + device + kHeader + kRow + "\n" +
                                     kRow + "\n" + kNextRow + "\n" + kNextRow + "\n");
  ASSERT_EQ(reading.curves.size(), 2U);
  for (const Curve& curve : reading.curves) {
    EXPECT_EQ(curve.rows.size(), 2U);
    EXPECT_FALSE(curve.misrun.empty());
  }
}

TEST(CurveRuns, SeparatorsNameTheirRows) {
  const Reading reading =
      reading_of("### ALGO=Ring size=1048576\n" + kRow + "\n### ALGO=Ring size=2097152\n" +
                 kNextRow + "\n### ALGO=Tree size=1048576\n" + kRow + "\n### ALGO=NVLS\n");
  ASSERT_EQ(reading.curves.size(), 3U);
  EXPECT_EQ(reading.curves[0].label, "ALGO=Ring");
  EXPECT_EQ(reading.curves[0].rows.size(), 2U);
  EXPECT_EQ(reading.curves[1].label, "ALGO=Tree");
  EXPECT_EQ(reading.curves[2].label, "ALGO=NVLS");
  EXPECT_TRUE(reading.curves[2].rows.empty());
}

TEST(CurveRuns, TheCommandLineSaysOperationAndRanks) {
  const Reading reading =
      reading_of("+ srun --nodes=2 --ntasks=16 ./build/all_reduce_perf -b 1M -e 2M -g 1\n" +
                 kHeader + kRow + "\n");
  ASSERT_EQ(reading.curves.size(), 1U);
  EXPECT_EQ(reading.curves[0].program, "all_reduce_perf");
  EXPECT_EQ(reading.curves[0].ranks, 16);
  EXPECT_EQ(reading.curves[0].nodes, 2);
}

TEST(CurveRuns, FailuresWithoutATableAreARunThatFailed) {
  const Reading reading = reading_of(
      "$ mpirun -np 2 all_reduce_perf -g 1\n"
      "all_reduce_perf: error while loading shared libraries: libnccl.so.2: cannot open\n");
  ASSERT_EQ(reading.curves.size(), 1U);
  EXPECT_EQ(reading.curves[0].op, model::Op::kAllReduce);
  EXPECT_EQ(reading.curves[0].errors.size(), 1U);
}

TEST(CurveRead, RefusesWhatHoldsNoTable) {
  const std::string utf16 = [] {
    std::string text = "\xff\xfe";
    for (const char c : kRow) text += c, text += '\0';
    return text;
  }();
  for (const std::string& text :
       {std::string(), std::string(70000, '\0'), std::string("\x89PNG\r\n\x1a\n data"), utf16,
        std::string("the quick brown fox\njumps over 2 lazy dogs\n"), std::string(3 << 20, 'x'),
        std::string("{\"a\": 1}"), std::string("{\"results\": ["), std::string("[[[[[")}) {
    const auto reading = read_text(text, "input");
    ASSERT_FALSE(reading.ok());
    const std::string line = reading.error().one_line();
    EXPECT_EQ(line.find("input: "), 0U) << line;
    EXPECT_NE(line.find("expected"), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(CurveRead, ReadsNcclTestsJson) {
  const Reading reading = reading_of(R"({"version":2,"args":["./build/all_reduce_perf","-J","x"],
    "nccl_version":22803,"config":{"nthreads":1,"ngpus":1,"minimum_bytes":8,"maximum_bytes":8,
    "warmup_iters":5,"iterations":20,"validation":1,"graph":0,"devices":[
    {"rank":0,"group":0,"pid":1,"hostname":"a","device":0,"device_hex":"0x1b","device_info":"H100"},
    {"rank":1,"group":0,"pid":2,"hostname":"b","device":0,"device_hex":"0x1b","device_info":"H100"}]},
    "results":[{"size":1048576,"count":262144,"type":"float","redop":"sum","root":"    -1",
    "out_of_place":{"time":119.125,"alg_bw":8.802317,"bus_bw":8.802317,"nwrong":0.0},
    "in_place":{"time":121.5,"alg_bw":8.630255,"bus_bw":8.630255,"nwrong":null}},
    {"size":8,"count":2,"type":"float","redop":"sum","root":"-1","out_of_place":null}],
    "out_of_bounds":{"count":3,"okay":"false"},"average_bus_bandwidth":{"bandwidth":8.7},
    "errors":["unhandled system error"]})");
  EXPECT_EQ(reading.kind, "nccl-tests-json");
  ASSERT_EQ(reading.curves.size(), 1U);
  const Curve& curve = reading.curves[0];
  EXPECT_EQ(curve.op, model::Op::kAllReduce);
  EXPECT_EQ(curve.ranks, 2);
  EXPECT_EQ(curve.nodes, 2);
  EXPECT_EQ(curve.nccl_version, "2.28.3");
  ASSERT_EQ(curve.rows.size(), 1U);
  EXPECT_EQ(curve.rows[0].root, -1);
  EXPECT_EQ(curve.rows[0].out_of_place->time, core::Duration::from_us(119.125));
  EXPECT_FALSE(curve.rows[0].in_place->wrong.has_value());
  EXPECT_TRUE(curve.printed_failed);
  EXPECT_EQ(curve.errors.size(), 1U);
  EXPECT_TRUE(has_caveat(reading, "input.truncated", true));
}

TEST(CurveRead, ReadsOurOwnJson) {
  const Reading reading = reading_of(R"({"comm_probe":"0.1.0","command":"bench","result":{
    "op":"all_reduce","ranks":4,"rows":[
    {"bytes":8,"count":2,"type":"f32","redop":"sum","root":-1,"in_place":false,"time_us":2.5,
     "algbw_GBps":0.0032,"busbw_GBps":0.0048,"wrong":0},
    {"bytes":8,"count":2,"type":"f32","redop":"sum","root":-1,"in_place":true,"time_us":2.25,
     "algbw_GBps":0.0035,"busbw_GBps":0.00533,"wrong":null}]}})");
  EXPECT_EQ(reading.kind, "comm-probe-json");
  ASSERT_EQ(reading.curves.size(), 1U);
  EXPECT_EQ(reading.curves[0].op, model::Op::kAllReduce);
  EXPECT_EQ(reading.curves[0].ranks, 4);
  ASSERT_EQ(reading.curves[0].rows.size(), 1U);
  EXPECT_EQ(reading.curves[0].rows[0].in_place->time, core::Duration::from_us(2.25));
}

TEST(CurvePairs, CellsMayBeEmptyAndBadLinesAreSaid) {
  const std::string head =
      "test,nodes,gpus_per_node,node_a,node_b,min_bytes,max_bytes,avg_busbw_GBs,peak_busbw_GBs\n";
  const Reading reading = reading_of(head + "sendrecv_perf,2,1,a,b,8,64,13.5,13.6\n" +
                                     "sendrecv_perf,2,1,a,c,8,64,,\nsendrecv_perf,2,1,a\n");
  EXPECT_EQ(reading.kind, "pairwise-csv");
  ASSERT_EQ(reading.pairs.size(), 2U);
  EXPECT_EQ(reading.pairs[0].avg_busbw, core::Bandwidth::from_GBps(13.5));
  EXPECT_FALSE(reading.pairs[1].avg_busbw.has_value());
  EXPECT_TRUE(has_caveat(reading, "input.truncated", true));
  EXPECT_FALSE(read_text(head).ok());
}

}  // namespace
}  // namespace comm_probe::curve
