// The reader of profiler traces on texts that are small enough to see: every dialect (spec traces
// 1.2 to 1.4) and every fault of the field (1.8, a test each).
#include "torch/readers/kineto.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "torch/breakdown.h"
#include "torch/steps.h"

namespace comm_probe::torch {
namespace {

Trace read(std::string text, const TraceOptions& options = {}) {
  auto input = core::Input::from_memory("trace.json", std::move(text));
  auto trace = read_trace(input, options);
  EXPECT_TRUE(trace.ok());
  return trace.ok() ? std::move(*trace) : Trace{};
}

// {"ph": "X", "cat": CAT, "name": NAME, ...} with a start and a length in us.
std::string event(const std::string& category, const std::string& name, const std::string& ts,
                  const std::string& duration, const std::string& args = "") {
  return R"(  {
    "ph": "X", "cat": ")" +
         category + R"(", "name": ")" + name + R"(", "pid": 0, "tid": 7,
    "ts": )" +
         ts + R"(, "dur": )" + duration + R"(,
    "args": {
      )" +
         args +
         R"(
    }
  })";
}
std::string kernel(const std::string& name, const std::string& ts, const std::string& duration,
                   const std::string& args = R"("stream": 7, "correlation": 1)") {
  return event("kernel", name, ts, duration, args);
}
std::string file_of(const std::vector<std::string>& events, const std::string& head = "",
                    const std::string& tail = R"(, "traceName": "a.json")") {
  std::string text = "{\n" + head + "\"traceEvents\": [\n";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i == 0 ? "" : ",\n") + events[i];
  return text + "\n]" + tail + "\n}";
}

std::vector<std::string> names_of(const Trace& trace) {
  std::vector<std::string> names;
  for (const GpuOp& op : trace.gpu_ops) names.emplace_back(trace.name_of(op));
  return names;
}
using Names = std::vector<std::string>;

TEST(Kineto, TimesAreExactInEveryDialect) {
  const Trace relative = read(file_of({kernel("a", "4458677009853.422", "1.007")},
                                      "\"baseTimeNanoseconds\": 1712080000000000000,\n"));
  ASSERT_EQ(relative.gpu_ops.size(), 1U);
  EXPECT_EQ(relative.gpu_ops[0].start, 1712080000000000000 + 4458677009853422);
  EXPECT_EQ(relative.gpu_ops[0].duration(), 1007);
  EXPECT_EQ(relative.resolution, 1);
  const Trace epoch = read(file_of({kernel("a", "1694128201436304", "3")}));
  EXPECT_EQ(epoch.gpu_ops[0].start, 1694128201436304000);
  EXPECT_EQ(epoch.resolution, 1000);
  // a double holds 1712195495520882.922 only to a quarter of a microsecond
  const Trace fraction = read(file_of({kernel("a", "1712195495520882.922", "0.25")}));
  EXPECT_EQ(fraction.gpu_ops[0].start, 1712195495520882922);
  EXPECT_EQ(fraction.gpu_ops[0].duration(), 250);
}

TEST(Kineto, TheBaseTimeMayComeLast) {
  const Trace trace = read(
      file_of({kernel("a", "5", "1")}, "", R"(, "distributedInfo": {"rank": 3, "world_size": 8},
 "baseTimeNanoseconds": 7000)"));
  EXPECT_EQ(trace.gpu_ops[0].start, 12000);
  EXPECT_EQ(trace.rank, 3);
  EXPECT_EQ(trace.world_size, 8);
}

TEST(Kineto, ParsesNumbersAsWritersPrintThem) {
  EXPECT_EQ(parse_microseconds("0.6"), 600);
  EXPECT_EQ(parse_microseconds("-0.25"), -250);
  EXPECT_EQ(parse_microseconds("1.5e3"), 1500000);
  EXPECT_EQ(parse_microseconds("-1e1"), -10000);
  EXPECT_EQ(parse_microseconds("189.62599999"), 189626);
  EXPECT_EQ(parse_microseconds("NaN"), std::nullopt);
  EXPECT_EQ(parse_microseconds("1e400"), std::nullopt);
  EXPECT_EQ(parse_microseconds("99999999999999999999"), std::nullopt);
  EXPECT_EQ(parse_microseconds(""), std::nullopt);
  EXPECT_EQ(parse_integer("0x1f"), 31);
  EXPECT_EQ(parse_integer("12.0"), 12);
  EXPECT_EQ(parse_integer("12.5"), std::nullopt);
}

TEST(Kineto, KnowsOldCategoriesAndStringStreams) {
  const Trace trace = read(file_of({event("Kernel", "k", "10", "2", R"("stream": "0x0")"),
                                    event("Memcpy", "Memcpy DtoH (Device -> Pageable)", "13", "1"),
                                    event("Runtime", "cudaLaunchKernel", "8", "1"),
                                    event("gpu_user_annotation", "ProfilerStep#1", "9", "9"),
                                    event("cuda_sync", "Stream Sync", "9", "9")}));
  ASSERT_EQ(trace.gpu_ops.size(), 2U);
  EXPECT_EQ(trace.streams[trace.gpu_ops[0].stream].id, 0);
  EXPECT_EQ(trace.streams[trace.gpu_ops[1].stream].id, 7);  // from tid
  EXPECT_EQ(trace.gpu_ops[1].kind, GpuKind::kCopy);
  EXPECT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.syncs.size(), 1U);
}

TEST(Kineto, LinksLaunchesAndGraphs) {
  const Trace trace =
      read(file_of({kernel("a", "20", "5", R"("stream": 7, "correlation": 9)"),
                    kernel("b", "26", "5", R"("stream": 7, "correlation": 9)"),
                    event("cuda_runtime", "cudaGraphLaunch", "10", "3", R"("correlation": 9)"),
                    event("cuda_runtime", "cudaLaunchKernel", "14", "1", R"("correlation": 10)")}));
  EXPECT_EQ(trace.gpu_ops[0].launch, 0U);
  EXPECT_EQ(trace.gpu_ops[1].launch, 0U);
  EXPECT_TRUE(trace.gpu_ops[1].in_graph);
  EXPECT_EQ(trace.calls[0].first_op, 0U);
  EXPECT_EQ(trace.losses.launches, 2U);
  EXPECT_EQ(trace.losses.launches_without_op, 1U);
}

constexpr const char* kMeta =
    R"("External id": 12, "Collective name": "_allgather_base", "In msg nelems": 25136,
 "Out msg nelems": 201088, "Group size": 8, "dtype": "BFloat16", "In split size": "[]",
 "Process Group Name": "3", "Process Group Description": "undefined",
 "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]", "Rank": 5, "Comms Id": 18446744073709551615)";

TEST(Kineto, CollectivesTakeTheMetadataOfTheirHostOp) {
  const Trace trace = read(file_of(
      {kernel("ncclDevKernel_AllGather_RING_LL(...)", "30", "22",
              R"("External id": 12, "stream": 7, "Collective name": "_allgather_base", "Seq": 77)"),
       event("cpu_op", "record_param_comms", "10", "9", kMeta)}));
  ASSERT_NE(trace.gpu_ops[0].collective, kNone);
  const CollectiveCall& call = *trace.collective_of(trace.gpu_ops[0]);
  EXPECT_EQ(call.kind, CollectiveClass::kAllGather);
  EXPECT_EQ(collective_bytes(trace, call), 402176U);  // Out counts: 201,088 x 2 B (spec 1.4)
  EXPECT_EQ(call.comms_id, 18446744073709551615ULL);
  EXPECT_EQ(trace.group_of(call)->ranks, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(trace.rank, 5);
  EXPECT_EQ(trace.rank_source, RankSource::kCollective);
  EXPECT_EQ(call.seq, 77);  // of the kernel: the host op has none
  EXPECT_EQ(call.host_op, 0U);
}

TEST(Kineto, RebuildsShortenedRankLists) {
  const auto ranks_of = [](const std::string& more, const std::string& head) {
    const Trace trace = read(
        file_of({kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "30", "22",
                        R"("Collective name": "allreduce", "Process Group Name": "3", )" + more)},
                head));
    const CollectiveCall* call = trace.collective_of(trace.gpu_ops[0]);
    return call == nullptr || call->group == kNone ? std::vector<int>{}
                                                   : trace.groups[call->group].ranks;
  };
  const std::vector<int> wanted = {1, 9, 17, 25};
  EXPECT_EQ(ranks_of(R"("Process Group Ranks": "[1, 9, ..., 25]", "Group size": 4,
                        "Global rank start": 1, "Global rank stride": 8)",
                     ""),
            wanted);
  EXPECT_EQ(ranks_of(R"("Process Group Ranks": "[1, 9, ...", "Group size": 4)", ""), wanted);
  EXPECT_EQ(ranks_of(R"("Process Group Ranks": "[1, 2, ...", "Group size": 4)",
                     R"("distributedInfo": {"rank": 1, "pg_config": [{"pg_name": "3", "pg_desc":
 "mesh_dp", "pg_size": 4, "ranks": [1, 9, 17, 25]}]},)"),
            wanted);
}

TEST(Kineto, StepsTakeWorkByTheStartOfItsLaunch) {
  Trace trace =
      read(file_of({event("user_annotation", "ProfilerStep#10", "1", "99"),
                    event("user_annotation", "ProfilerStep#11", "100", "100"),
                    event("cuda_runtime", "cudaLaunchKernel", "95", "2", R"("correlation": 1)"),
                    event("cuda_runtime", "cudaLaunchKernel", "105", "2", R"("correlation": 2)"),
                    kernel("late", "120", "20", R"("stream": 7, "correlation": 1)"),
                    kernel("next", "141", "9", R"("stream": 7, "correlation": 2)"),
                    kernel("without launch", "146", "1", R"("stream": 8, "correlation": 3)")}));
  find_steps(trace);
  ASSERT_EQ(trace.steps.size(), 2U);
  EXPECT_EQ(trace.steps[0].number, 10);
  EXPECT_EQ(trace.gpu_ops[0].step, 0U);
  EXPECT_EQ(trace.gpu_ops[1].step, 1U);
  EXPECT_EQ(trace.gpu_ops[2].step, 1U);  // its middle lies in the window of step 11
  find_steps(trace, {[](std::string_view name) { return name == "ProfilerStep#11"; }});
  EXPECT_EQ(trace.steps.size(), 1U);
}

// Spec 1.8, one row after the other.

TEST(KinetoFaults, CutInsideAnEvent) {
  const std::string whole = file_of({kernel("a", "10", "2"), kernel("b", "20", "2")});
  for (std::size_t size = whole.find("\"b\"") - 40; size < whole.size() - 1; ++size) {
    const Trace trace = read(whole.substr(0, size));
    EXPECT_TRUE(trace.losses.cut.has_value()) << size;
    EXPECT_EQ(trace.losses.cut, size);
    EXPECT_GE(trace.gpu_ops.size(), 1U);
    EXPECT_EQ(trace.losses.broken_events, 0U) << size;
  }
  EXPECT_FALSE(read(whole).losses.cut);
}

std::string packed(const std::string& text) {
  std::string out(compressBound(static_cast<uLong>(text.size())) + 64, '\0');
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(KinetoFaults, PackedWithoutEndAndInSeveralMembers) {
  std::vector<std::string> events;
  for (int i = 0; i < 20000; ++i)
    events.push_back(
        kernel("k" + std::to_string(i * 7919 % 10007), std::to_string(10 + 3 * i), "2"));
  const std::string text = file_of(events);
  const std::string once = packed(text);
  const Trace cut = read(once.substr(0, once.size() / 2));
  EXPECT_GT(cut.gpu_ops.size(), 1000U);
  EXPECT_LT(cut.gpu_ops.size(), 20000U);
  ASSERT_TRUE(cut.losses.cut);
  EXPECT_NE(cut.losses.cut_reason, "");
  const std::string twice =
      packed(text.substr(0, text.size() / 3)) + packed(text.substr(text.size() / 3));
  EXPECT_EQ(read(twice).gpu_ops.size(), 20000U);
}

TEST(KinetoFaults, ControlCharactersAndInvalidUtf8InNames) {
  const Trace trace = read(
      file_of({kernel("line\nbreak\x01 tab\t", "10", "2"), kernel("bytes \xff\xfe", "20", "2")}));
  EXPECT_EQ(names_of(trace), (Names{"line\nbreak\x01 tab\t", "bytes \xff\xfe"}));
  EXPECT_EQ(trace.losses.broken_events, 0U);
}

TEST(KinetoFaults, LoneBackslashesKeepTheirCharacter) {
  const Trace trace = read(file_of({kernel(R"(C:\path\quote\"d)", "10", "2")}));
  EXPECT_EQ(names_of(trace), (Names{"C:pathquote\"d"}));
  EXPECT_EQ(unescaped(R"(caf\u00e9 \ud83d\ude00 \ud83d \u12 \n)"), "café 😀 \xef\xbf\xbd u12 \n");
}

TEST(KinetoFaults, AStrayQuoteCostsOneEvent) {
  const Trace trace = read(file_of({kernel("a", "10", "2"), kernel("op \"quoted\" x", "20", "2"),
                                    kernel("operator\"\" _x", "30", "2"), kernel("d", "40", "2")}));
  EXPECT_EQ(names_of(trace), (Names{"a", "d"}));
  EXPECT_EQ(trace.losses.broken_events, 2U);
  EXPECT_GT(trace.losses.first_broken.value_or(0), 100U);
}

TEST(KinetoFaults, AStringWithoutEnd) {
  std::string broken = kernel("lost", "20", "2");
  broken.erase(broken.find("lost\"") + 4, 1);
  const Trace trace = read(file_of({kernel("a", "10", "2"), broken, kernel("c", "30", "2")}));
  EXPECT_EQ(names_of(trace), (Names{"a", "c"}));
  EXPECT_EQ(trace.losses.broken_events, 1U);
}

TEST(KinetoFaults, AnEventWithoutEnd) {
  std::string broken = kernel("open", "20", "2");
  broken.resize(broken.rfind('}'));
  const Trace trace = read(file_of({kernel("a", "10", "2"), broken, kernel("c", "30", "2")}));
  EXPECT_EQ(names_of(trace), (Names{"a", "c"}));
  EXPECT_EQ(trace.losses.broken_events, 1U);
}

TEST(KinetoFaults, TwoWritersInOneFile) {
  const std::string one = kernel("one", "10", "2");
  const std::string two = kernel("two", "20", "2");
  const Trace trace = read(file_of({kernel("a", "5", "2"), one.substr(0, 60) + two + one.substr(60),
                                    kernel("d", "40", "2"), kernel("e", "50", "2")}));
  const Names names = names_of(trace);
  EXPECT_EQ(std::count(names.begin(), names.end(), "a"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "e"), 1);
  EXPECT_GT(trace.losses.broken_events, 0U);
}

TEST(KinetoFaults, TrailingCommasAndEmptyEvents) {
  const Trace trace = read("{\"traceEvents\": [" + kernel("a", "10", "2", R"("stream": 7,)") +
                           ",{},], \"traceName\": \"x\",}");
  EXPECT_EQ(names_of(trace), (Names{"a"}));
  EXPECT_EQ(trace.losses.broken_events, 0U);
  EXPECT_FALSE(trace.losses.cut);
}

TEST(KinetoFaults, WordsAndHexNumbersAsValues) {
  const Trace trace = read(file_of(
      {kernel("a", "10", "2", R"("Stream": 0x50ab, "datatype": ncclFloat32, "correlation": 5)")}));
  EXPECT_EQ(names_of(trace), (Names{"a"}));
  EXPECT_EQ(trace.gpu_ops[0].correlation, 5U);
}

TEST(KinetoFaults, NotANumberIsMissing) {
  const Trace trace = read(file_of({kernel("a", "NaN", "2"), kernel("b", "10", "Infinity"),
                                    kernel("c", "1e400", "1"), kernel("d", "20", "2")}));
  EXPECT_EQ(names_of(trace), (Names{"d"}));
  EXPECT_EQ(trace.losses.without_time, 3U);
}

TEST(KinetoFaults, TimesAsTextAndArgsThatAreNone) {
  const Trace trace = read(file_of({kernel("a", "\"10.5\"", "\"2\""),
                                    R"({"ph": "X", "cat": "kernel", "name": "b", "pid": 0,
 "tid": 3, "ts": 20, "dur": 1, "args": "none"})",
                                    R"({"ph": "X", "cat": "kernel", "name": "c", "ts": 30})"}));
  EXPECT_EQ(names_of(trace), (Names{"a", "b"}));
  EXPECT_EQ(trace.gpu_ops[0].start, 10500);
  EXPECT_EQ(trace.losses.strange_args, 1U);
  EXPECT_EQ(trace.losses.without_time, 1U);
}

TEST(KinetoFaults, BracketsInTheNameOfTheTrace) {
  const Trace trace =
      read(file_of({kernel("a", "10", "2")}, "", R"(, "traceName": "x]}.json", "more": [1, {"a":
 "]"}], "distributedInfo": {"rank": 2})"));
  EXPECT_EQ(trace.rank, 2);
  EXPECT_FALSE(trace.losses.cut);
}

TEST(KinetoFaults, BrokenTimesAreDroppedAndCounted) {
  const Trace trace = read(file_of({kernel("zero", "0", "0"), kernel("long", "10", "700000000000"),
                                    kernel("negative", "20", "-5"), kernel("d", "30", "2")}));
  EXPECT_EQ(names_of(trace), (Names{"negative", "d"}));
  EXPECT_EQ(trace.gpu_ops[0].duration(), 0);
  EXPECT_EQ(trace.losses.at_time_zero, 1U);
  EXPECT_EQ(trace.losses.too_long, 1U);
  EXPECT_EQ(trace.losses.negative, 1U);
}

TEST(KinetoFaults, DurationsThatRunOverTheNextKernel) {
  const Trace trace = read(file_of({kernel("overrun", "10", "5000000", R"("stream": 7)"),
                                    kernel("pdl", "100", "10", R"("stream": 7)"),
                                    kernel("next", "107", "10", R"("stream": 7)")}));
  EXPECT_EQ(trace.gpu_ops[0].end, 100000);
  EXPECT_EQ(trace.gpu_ops[1].end, 110000);  // 3 us of overlap: programmatic dependent launch
  EXPECT_EQ(trace.losses.clipped, 1U);
}

TEST(KinetoFaults, BareListsMayStayOpen) {
  const Trace trace = read("[" + kernel("a", "10", "2") + ",\n" + kernel("b", "20", "2"));
  EXPECT_EQ(trace.gpu_ops.size(), 2U);
  EXPECT_FALSE(trace.losses.cut);
  EXPECT_TRUE(looks_like_trace("[\n" + kernel("a", "10", "2")));
}

TEST(KinetoFaults, NothingThatCanBeRead) {
  auto input = core::Input::from_memory("x.json", "{\"traceEvents\": [ \"a\", 12, ]}");
  const auto trace = read_trace(input);
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().where.file, "x.json");
  EXPECT_FALSE(looks_like_trace("{\"entries\": []}"));
  EXPECT_FALSE(looks_like_trace("NCCL INFO"));
}

// Blocks of a file end anywhere: inside of a number, an escape, a key.
TEST(KinetoFaults, WhereABlockEndsChangesNothing) {
  const std::string text =
      file_of({kernel("a", "10.125", "2"), kernel("op \"quoted\" x", "20", "2"),
               event("cpu_op", "record_param_comms", "10", "9", kMeta),
               kernel("ncclDevKernel_AllGather_RING_LL", "30", "22", R"("External id": 12)"),
               kernel(R"(esc\"aped)", "60", "2"), event("python_function", "t.py(3): f", "1", "2")},
              R"("distributedInfo": {"rank": 5, "world_size": 8}, "other": ["x", {"y": "]"}],)");
  const Trace whole = read(text);
  for (std::size_t piece = 1; piece < 150; ++piece) {
    const Trace parts = read(text, {.piece = piece});
    EXPECT_EQ(names_of(parts), names_of(whole)) << piece;
    EXPECT_EQ(parts.events, whole.events) << piece;
    EXPECT_EQ(parts.losses.broken_events, whole.losses.broken_events) << piece;
    EXPECT_EQ(parts.losses.first_broken, whole.losses.first_broken) << piece;
    EXPECT_EQ(parts.losses.cut, whole.losses.cut) << piece;
    EXPECT_EQ(parts.rank, 5) << piece;
  }
}

// A file of nothing but beginnings must not be read a million times.
TEST(KinetoFaults, BeginningsWithoutEndTakeLinearTime) {
  std::string text = "{\"traceEvents\": [";
  while (text.size() < (6U << 20)) text += "{\"ph\":";
  const Trace trace = read(text + kernel("a", "10", "2") + "]}");
  EXPECT_GT(trace.losses.broken_events, 0U);
}

}  // namespace
}  // namespace comm_probe::torch
