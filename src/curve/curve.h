// curve: what benchmarks leave behind. Which sizes were measured, how long did they take, on how
// many ranks of which GPUs, and did the results come out right? Readers fill these records and
// judge nothing; diagnose/ judges.
//
// A time is the time of one operation; algbw = bytes / time, busbw = algbw *
// model::busbw_factor(op, ranks). What the text prints is kept as printed (`algbw`, `busbw`), so
// that a contradiction in the text can be seen.
//
// Worked example (tests/unit/curve repeats it), one line of an nccl-tests table:
//   "   1048576  262144  float  sum  -1   119.1   8.81   16.51   0   121.5   8.63   16.18   0"
//   -> bytes 1048576, count 262144, type float, redop sum, root -1,
//      out of place {119.1 us, 8.81 GB/s, 16.51 GB/s, 0 wrong}, in place {121.5 us, 8.63, 16.18, 0}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/input.h"
#include "core/quantity.h"
#include "core/result.h"
#include "curve/compact_fields.h"
#include "curve/device_list.h"
#include "curve/link_test.h"
#include "model/collective.h"

namespace comm_probe::curve {

// One of the two column groups of a row.
struct Timing {
  core::Duration time = {};
  core::Bandwidth algbw = {};  // as printed
  core::Bandwidth busbw = {};  // as printed
  // "#wrong": wrong elements; absent for N/A or where there is no such column
  OptionalFigure wrong = {};
  OptionalFigure largest_error = {};  // old "error" column
};

struct Row {
  core::Bytes bytes = {};
  std::uint64_t count = 0;  // elements
  Word type = {};           // "float", "half", "uint32" ... as printed
  Word redop = {};          // "sum", "none"; empty where there is no such column
  std::optional<int> root = {};
  std::optional<Timing> out_of_place = {};
  std::optional<Timing> in_place = {};
  std::uint64_t line = 0;  // in the file, from 1
};

// The "# nThread 1 nGpus 1 minBytes ..." line; absent fields were not printed.
struct RunSettings {
  std::optional<int> threads = {};
  std::optional<int> gpus_per_thread = {};
  std::optional<core::Bytes> min_bytes = {};
  std::optional<core::Bytes> max_bytes = {};
  std::optional<int> warmup = {};
  std::optional<int> iterations = {};
  std::optional<bool> validation = {};
  std::optional<int> graph = {};
};

// Where a fact that the text does not state plainly comes from.
enum class KnownFrom { kUnknown, kStated, kFileName, kColumns, kBusbwFactor, kDevices };

struct Curve {
  std::string file = {};
  std::uint64_t first_line = 0;  // of its header, or of its first row
  std::uint64_t last_line = 0;
  std::string label =
      {};  // "ALGO=Ring" from a separator line before the rows, "nodes=2 ranks=16" ...
  std::optional<model::Op> op = {};
  KnownFrom op_from = KnownFrom::kUnknown;
  std::string program =
      {};  // "all_reduce_perf" where stated; also operations outside model::Op (gather, scatter)
  std::optional<int> ranks = {};
  KnownFrom ranks_from = KnownFrom::kUnknown;
  std::optional<int> nodes = {};  // of hosts in the list of devices; else stated, or the file name
  KnownFrom nodes_from = KnownFrom::kUnknown;
  DeviceList devices = {};         // may be fewer than ranks: elided by whoever pasted it
  std::string nccl_version = {};   // "2.28.9" as stated
  std::string tests_version = {};  // "2.17.6"
  RunSettings settings = {};
  bool has_header = false;
  bool is_rccl = false;
  std::vector<Row> rows = {};
  std::optional<double> printed_avg_busbw_GBps = {};
  std::optional<std::uint64_t> printed_out_of_bounds = {};  // "# Out of bounds values : 108 FAILED"
  bool printed_failed = false;
  std::vector<core::Evidence> errors = {};  // "Test NCCL failure ...", "unhandled cuda error", ...
  // Lines that show several independent runs where one was meant, as a binary built without MPI
  // prints under mpirun: every process says "Rank 0" and prints a table of its own.
  std::vector<core::Evidence> misrun = {};
};

// One line of a table of pairs of nodes (pairwise CSV), or one cell of a matrix of nodes.
struct Pair {
  std::string test = {};
  std::string node_a = {};
  std::string node_b = {};
  int gpus_per_node = 0;
  core::Bytes min_bytes = {};
  core::Bytes max_bytes = {};
  std::optional<core::Bandwidth> avg_busbw = {};  // absent: the run failed or the cell is empty
  std::optional<core::Bandwidth> peak_busbw = {};
  bool is_directed = false;  // from node_a to node_b only (a matrix has both ways)
  std::uint64_t line = 0;
};

struct Reading {
  std::string file = {};
  // "nccl-tests", "pairwise-csv", "node-matrix", a link_tool_name() ("perftest", ...), "link-tests"
  // for several
  std::string kind = {};
  std::vector<Curve> curves = {};
  std::vector<Pair> pairs = {};
  std::vector<LinkTest> links = {};
  std::vector<core::Caveat> caveats = {};
  std::uint64_t lines = 0;
  std::uint64_t skipped_lines = 0;  // neither table nor known noise
};

// Reads what is in the text, whatever surrounds it. Fails (one line: what, where, what was
// expected) where nothing of the input could be read as a benchmark result.
core::Result<Reading> read_nccl_tests(core::Input& input);  // and tests of links between them
core::Result<Reading> read_pairwise_csv(core::Input& input);
// Recognises the kind by content and calls the reader for it.
core::Result<Reading> read(core::Input& input);

}  // namespace comm_probe::curve
