// measure: what does a collective really take on this machine? A Plan says what to run, an engine
// runs it, a Run holds the samples with their spread and the circumstances they hold for. Measuring
// never interprets: whether a time is good is said in diagnose/.
//
// Timing is that of nccl-tests: barrier, `iterations` calls in a row, time divided by their number,
// averaged over the ranks. This makes one sample; `blocks` of them are taken and the median counts.
// algbw = bytes / time, busbw = algbw * model::busbw_factor(op, ranks). The ops' sizes mean what
// nccl-tests means (model/collective.h).
//
// Worked example (tests/unit/measure repeats it): -b 8 -e 32 -f 2 measures 8, 16 and 32 bytes;
// all_gather of 1000 bytes of float on 3 ranks has count 83 and moves 996.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/quantity.h"
#include "core/result.h"
#include "measure/element.h"
#include "model/collective.h"
#include "model/fit.h"
#include "model/ledger.h"

namespace comm_probe::measure {

// How the samples of the ranks become one number (nccl-tests -a).
enum class RankAverage { kRankZero, kMean, kMin, kMax };

// One-sided operations: into the other's memory, or out of it.
enum class Verb { kPut, kGet };
const char* verb_name(Verb verb);  // "put" | "get"

// A transfer in pieces, as blocks of a KV cache are moved: so many of `piece` bytes each, scattered
// over registered pools of twice the bytes on both sides.
struct Scattered {
  std::uint64_t pieces = 0;
  core::Bytes piece = {};
  core::Bytes total() const { return piece * static_cast<double>(pieces); }
};

struct Plan {
  model::Op op = model::Op::kAllReduce;
  std::optional<model::Algorithm> algorithm = {};  // absent: `choose`
  // By size, from a ledger of this machine; absent: the engine's usual one.
  std::function<model::Algorithm(core::Bytes)> choose = {};
  int ranks = 2;
  Element element = Element::kF32;
  Reduction reduction = Reduction::kSum;
  int root = 0;
  core::Bytes begin = core::Bytes::of(8);
  core::Bytes end = core::Bytes::of(std::uint64_t{64} << 20);
  double factor = 2;  // next size = size * factor; at most 1: size + step
  core::Bytes step = {};
  int iterations = 0;  // 0: 20, more for short calls (to fill 200 us), fewer for long ones
  int warmup = 5;
  int blocks = 9;
  bool check = true;
  int checks = 1;  // calls that are checked, each on other data (the cuda engine; nccl-tests -c)
  bool with_in_place = true;  // false: only out of place, `in_place` stays empty
  RankAverage average = RankAverage::kMean;
  // For engines on GPUs (nccl-tests -t, -g, -G, -R): ranks = threads * gpus where given; graph:
  // that many launches of a captured graph instead of calls; buffers registered with the library.
  int threads = 1;
  int gpus = 0;
  int graph_launches = 0;
  int registration = 0;                     // 1: with the library, 2: as a symmetric window
  Verb verb = Verb::kPut;                   // for engines whose operations are one-sided
  std::optional<Scattered> scattered = {};  // instead of the sizes
  // Every rank a process of its own on one GPU, told apart by NCCL_HOSTID: decisions and faults are
  // real, times mean nothing.
  bool shares_one_gpu = false;
  // An engine that waits for others ends the run where nothing moved for so long.
  core::Duration patience = core::Duration::from_seconds(60);
  // Engines on GPUs end all ranks (by SIGALRM) after it, whatever moved; zero: no limit.
  core::Duration limit = {};
  std::string keep = {};  // folder for what the library wrote; empty: a temporary one
};

// What a size becomes once it is cut into elements and ranks.
struct Amount {
  std::uint64_t count = 0;  // as nccl-tests prints it
  core::Bytes bytes = {};   // what is really moved
};
Amount amount_of(const Plan& plan, core::Bytes asked);
// The sizes of the plan in order. Fails (bad usage) where the plan makes no sense.
core::Result<std::vector<core::Bytes>> sizes_of(const Plan& plan);
core::Result<std::vector<Amount>> amounts_of(const Plan& plan);
// Where the plan's root is none of so many ranks.
std::optional<core::Error> refuse_root(const Plan& plan, int ranks);
// Where results are to be checked that known_data.h cannot know bit for bit on so many ranks.
std::optional<core::Error> refuse_check(const Plan& plan, int ranks);

struct Timing {
  core::Duration time = {};  // median of the blocks
  core::Duration fastest = {};
  core::Duration slowest = {};
  std::int64_t preemptions = 0;  // of all ranks, by other processes, while the blocks ran
  int iterations = 0;            // per block
  bool streaming = false;        // messages were written past the caches, which was faster
  std::optional<std::uint64_t> wrong = {};  // elements, of all ranks; absent: not checked
};

struct Row {
  core::Bytes bytes = {};
  std::uint64_t count = 0;
  model::Algorithm algorithm = model::Algorithm::kRing;
  // As the library names its own choice ("tree/ll, 2 channels"), where it chooses; then `algorithm`
  // means nothing.
  std::string method = {};
  Timing out_of_place = {};
  Timing in_place = {};
  std::optional<model::Ledger> predicted = {};  // out of place; absent: not priced
  // Of launches that wait for each other as often and move nothing, timed like the others. Where
  // the engine has measured it.
  std::optional<core::Duration> floor = {};
};

// What moved the bytes: the library's own word, else the name of the algorithm.
std::string method_of(const Row& row);

// What stands beside a row of one-sided transfers.
struct OneSided {
  core::Bytes bytes = {};
  core::Duration in_flight = {};  // per transfer where `window` of them are under way
  int window = 0;
  core::Duration registration = {};  // of memory of that size
  core::Duration withdrawal = {};
};

// What stands beside a scattered transfer: what its parts cost alone, before it was measured.
struct ScatteredParts {
  core::Duration piece = {};       // one of many small pieces under way: posting
  core::Duration contiguous = {};  // all bytes as one message
  core::Duration posting = {};  // of the scattered transfer: until its last piece was handed over
  core::Bytes pool = {};
  core::Duration registration = {};  // of the pool
};

// Where a rank runs, as nccl-tests' "Using devices" names it.
struct Device {
  int process = 0;
  std::string host = {};
  int number = 0;
  std::string bus = {};   // "0000:1b:00" of a GPU, "cpu" of a processor
  std::string name = {};  // "NVIDIA H200"
};

// What a message between two ranks costs on one kind of way, measured before the rows: from a rank
// to its partner, all pairs at the same time, so that a share of what they have in common counts.
struct Level {
  std::string name = {};  // "inside a host", "between hosts"
  int pairs = 0;
  struct Curves {
    std::vector<model::FitPoint> one_way = {};   // half a round trip
    std::vector<model::FitPoint> exchange = {};  // both ranks send and receive at the same time
  };
  Curves fresh = {};   // the sender has just written the message
  Curves resent = {};  // it has not touched it since it last sent it
};

// What a library wrote down while it was measured, as files; the folder lives as long as `owner`.
struct Capture {
  std::string folder = {};
  std::vector<std::string> logs = {};  // by rank
  std::string topology = {};           // NCCL's XML; may be absent
  std::string graphs = {};
  std::shared_ptr<const void> owner = {};
};

// The circumstances that the samples hold for.
struct Context {
  std::string engine = {};
  std::vector<Device> devices = {};        // by rank
  std::vector<core::Caveat> caveats = {};  // what limits the samples: said above the table
  std::vector<std::string> versions = {};  // "NCCL 2.28.9", "driver 580.159.04"
  std::vector<Level> levels = {};          // the ways between the ranks, where they were measured
  std::optional<Capture> capture = {};
  bool speaks = true;      // false: another rank of the same run prints for this one
  int cores = 0;           // that this process may use
  bool bound = false;      // each rank to a core of its own
  std::string loops = {};  // instruction set of the inner loops
  double drift = 1;        // of the flag latency between prediction and end of the run, at least 1
  std::int64_t link_preemptions = 0;  // by others, while the links of the prediction were measured
};

struct RankDeath {
  int rank = 0;  // -1: not known
  int signal = 0;
  std::string sentence = {};
  bool stood_still = false;  // it did not die: it did not run any more, and was ended
  int process = 0;           // 0: it was never started
  bool timed_out = false;    // nothing moved for the patience of the plan, and all were ended
  bool is_launched = false;  // by mpirun or the like, which knows how it ended
};

struct Run {
  Plan plan = {};
  Context context = {};
  std::vector<Row> rows = {};  // those that were finished
  // Of the algorithm, for the fit; absent: a ring's.
  std::optional<model::FitShape> shape = {};
  std::vector<OneSided> one_sided = {};          // by row; empty for other engines
  std::optional<ScatteredParts> scattered = {};  // of the one row of a scattered plan
  std::optional<RankDeath> died = {};
  int interrupted_by = 0;  // the signal; 0: ran to its end
  // Where ranks are left that wait for each other: ends them and this process with its status, to
  // be called when everything is printed.
  std::function<void(int status)> end_all = {};
};

// What run_local would refuse, found without running anything.
core::Result<bool> check_local(const Plan& plan);
// Algorithms of the local engine for an operation, the usual ones first.
std::vector<model::Algorithm> local_algorithms(model::Op op);
// Cores that local ranks may run on.
int local_cores();
// Ranks as processes of this machine over shared memory (engines/local). Fails where the plan makes
// no sense for it, or its buffers do not fit the memory that is free.
core::Result<Run> run_local(const Plan& plan);

}  // namespace comm_probe::measure
