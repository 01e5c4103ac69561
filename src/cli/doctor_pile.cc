#include "cli/doctor_pile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "cli/doctor_kind.h"
#include "cli/doctor_marks.h"
#include "cli/hang_share.h"
#include "cli/net_source.h"
#include "cli/pile_settings.h"
#include "cli/quiet_log.h"
#include "cli/topo_source.h"
#include "core/finding_table.h"
#include "core/input.h"
#include "core/parallel.h"
#include "core/repeats.h"
#include "curve/node_matrix.h"
#include "diagnose/job_runs.h"
#include "nccl/readers/debug_log_reader.h"
#include "torch/rank_of_name.h"
#include "torch/readers/ras_json.h"
#include "torch/survived.h"

namespace comm_probe::cli {
namespace {

using core::Result;

// A program quotes the messages that it looks for: its text is no log of a job.
bool is_source_code(const std::string& path) {
  constexpr std::array<std::string_view, 14> kEndings = {".py",  ".cc", ".cpp",   ".c",    ".h",
                                                         ".hpp", ".cu", ".cuh",   ".js",   ".ts",
                                                         ".go",  ".rs", ".ipynb", ".cmake"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

// What one file gave, beside its lines.
struct Content {
  PileKind kind = PileKind::kOther;
  HangFile dump = {};
  TraceFile trace = {};
  std::optional<topology::Source> machine = {};
  std::optional<topology::HostState> host = {};
  std::optional<topology::NetReading> counters = {};
  std::optional<curve::Reading> reading = {};
  serving::DeepEpLines deepep = {};
  std::optional<core::Error> error = {};
  bool may_count = false;  // its beginning looks like counters of network ports
  bool has_nccl_lines = false;
  bool has_job_lines = false;
  std::vector<diagnose::StatedSetting> settings = {};
};

// It gave something, so that it need not be named as unrecognised.
bool is_used(const Content& content) {
  return content.dump.digest || content.dump.lines || !content.trace.traces.empty() ||
         content.trace.log || content.machine || content.reading || content.has_nccl_lines ||
         content.has_job_lines || content.counters || !content.deepep.empty() ||
         !content.settings.empty() || content.kind == PileKind::kGraphs;
}

bool has_result(const curve::Reading& reading) {
  return !reading.pairs.empty() || !reading.links.empty() ||
         std::any_of(reading.curves.begin(), reading.curves.end(), [](const curve::Curve& curve) {
           return !curve.rows.empty() || !curve.errors.empty() || !curve.misrun.empty();
         });
}

// A text of any length may hold a table; outputs of commands are short.
constexpr std::uint64_t kLargestListing = std::uint64_t{16} << 20;

bool is_short(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return error || size <= kLargestListing;
}

// A short text is simply tried.
constexpr std::uint64_t kTried = std::uint64_t{16} << 10;

bool may_hold(const std::string& path, const core::WordScan& words) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) <= kTried && !error) return true;
  auto input = core::Input::open(path);
  return input && words.finds(*input);
}

// Its names and figures are nobody's words.
bool is_matrix_of_nodes(const std::string& path) {
  auto input = core::Input::open(path);
  return input && curve::is_node_matrix(input->head());
}

// Nothing is wrong with a text that holds no table, or no output of a command.
void read_parts(const std::string& path, Content& content) {
  if (may_hold(path, words_of_benchmarks()) || is_matrix_of_nodes(path))
    if (auto input = core::Input::open(path); input)
      if (auto reading = curve::read(*input); reading && has_result(*reading))
        content.reading = std::move(*reading);
  if (may_hold(path, words_of_deepep()))
    if (auto input = core::Input::open(path); input)
      if (auto lines = serving::read_deepep(*input); lines) content.deepep = std::move(*lines);
  if (!is_short(path) || !may_hold(path, words_of_outputs())) return;
  if (auto input = core::Input::open(path); input)
    if (auto source = topology::read_source(*input); source) content.machine = std::move(*source);
}

void read_machine(const std::string& path, Content& content) {
  if (const auto host = recorded_host(path); host && !host->list("/sys").empty()) {
    content.host = topology::read_host_state(*host);
    content.settings = settings_of(*host, path);
    auto source = topology::read_source(*host);
    if (source) content.machine = std::move(*source);
    if (!source) content.error = source.error();
    return;
  }
  auto input = core::Input::open(path);
  if (!input) return;
  auto source = topology::read_source(*input);
  if (source) content.machine = std::move(*source);
  if (!source) content.error = source.error();
}

void read_benchmark(const std::string& path, Content& content) {
  auto input = core::Input::open(path);
  if (!input) return;
  auto reading = curve::read(*input);
  if (reading) content.reading = std::move(*reading);
  if (!reading) content.error = reading.error();
}

void read_counters(const std::string& path, Content& content) {
  auto input = core::Input::open(path);
  if (!input) return;
  if (auto reading = topology::read_net_counters(*input); reading)
    content.counters = std::move(*reading);
}

// JSON that names no kind of its own: a saved topology, or what a benchmark wrote.
void read_json(const std::string& path, Content& content) {
  Content as_benchmark;
  read_benchmark(path, as_benchmark);
  if (as_benchmark.reading) {
    content.reading = std::move(as_benchmark.reading);
    return;
  }
  if (is_short(path)) read_machine(path, content);
  content.error.reset();
}

// A dump is known by its beginning, which other JSON may share.
void read_other_json(const std::string& path, Content& content) {
  auto input = core::Input::open(path);
  if (!input || core::classify_content(input->head()) != core::ContentClass::kJson) return;
  read_json(path, content);
  if (content.reading || content.machine) content.dump = {};
}

class PileReading {
 public:
  PileReading(std::vector<std::string> files, core::Progress& progress)
      : files_(std::move(files)), progress_(progress), contents_(files_.size()) {}

  void read() {
    progress_.begin("doctor: reading", files_.size(), "files");
    core::for_each_index(
        files_.size(), [&](std::size_t i) { recognise(i); }, 8);
    // Lines are put together in the order of the files, by one thread; the others read the rest.
    core::for_each_index(
        files_.size() + 1, [&](std::size_t i) { i == 0 ? read_lines() : read_file(i - 1); }, 1);
    progress_.begin("doctor: judging");
  }
  Pile finish();

 private:
  void recognise(std::size_t i) {
    Content& content = contents_[i];
    if (is_recording(files_[i])) {
      content.kind = PileKind::kMachine;
      return;
    }
    auto input = core::Input::open(files_[i]);
    if (!input) {
      content.error = input.error();
      return;
    }
    if (auto error = input->unreadable()) {
      content.error = *error;
      return;
    }
    if (core::classify_content(input->head()) == core::ContentClass::kUtf16) {
      content.error = core::input_error(
          fmt::format("is {}, expected UTF-8", core::describe_content(input->head())));
      content.error->where.file = files_[i];
      return;
    }
    content.kind = is_source_code(files_[i]) ? PileKind::kOther : kind_of(*input);
    content.may_count = looks_like_counters(input->head());
  }
  void read_file(std::size_t i);
  void read_content(std::size_t i);
  void read_lines();
  void read_lines_of(std::size_t i, torch::JobLineReader& job_reader);
  void take_dumps(Pile& pile);
  void take_traces(Pile& pile);
  void drop_tables();
  void take(std::size_t i, Pile& pile);
  void name_quiet_logs(Pile& pile);
  core::Caveat unreadable(const core::Error& error) const {
    return core::make_caveat("input.unreadable", error.one_line(),
                             files_.size() > 1 ? "the other inputs were used"
                                               : "what stands before the damage was used");
  }

  std::vector<std::string> files_;
  core::Progress& progress_;
  std::vector<Content> contents_;
  torch::RankLists rank_lists_ = {};
  nccl::DebugLogReader log_reader_ = {};
  torch::JobLines lines_ = {};
  torch::NumberLineReader number_reader_ = {};
  serving::EngineReader engine_reader_ = {};
  std::set<std::string> taken_ = {};  // dumps, and what stands for one
};

// The lines of texts take longest, and are read in order by one thread: they count there.
void PileReading::read_file(std::size_t i) {
  read_content(i);
  if (contents_[i].kind != PileKind::kText) progress_.advance();
}

void PileReading::read_content(std::size_t i) {
  Content& content = contents_[i];
  const std::string& path = files_[i];
  if (content.may_count) read_counters(path, content);
  switch (content.kind) {
    case PileKind::kDump:
      content.dump = read_hang_file(path, rank_lists_);
      if (!content.dump.digest) read_other_json(path, content);
      return;
    case PileKind::kTrace:
      content.trace = read_trace_file(path, TraceLoadRequest{});
      return;
    case PileKind::kMachine:
      read_machine(path, content);
      return;
    case PileKind::kJson:
      read_json(path, content);
      return;
    case PileKind::kText:
      read_parts(path, content);
      return;
    case PileKind::kPacked:
      content.error = packed_error(path);
      return;
    case PileKind::kReport:
    case PileKind::kGraphs:
    case PileKind::kOther:
      return;
  }
}

void PileReading::read_lines() {
  torch::JobLineReader job_reader;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    Content& content = contents_[i];
    if (content.kind == PileKind::kReport) {
      auto input = core::Input::open(files_[i]);
      torch::JobLines report;
      content.has_job_lines = input && torch::read_ras(*input, report);
      for (torch::JobLine& line : report.lines) lines_.lines.push_back(std::move(line));
    }
    if (content.kind != PileKind::kText) continue;
    read_lines_of(i, job_reader);
    progress_.advance();
  }
  torch::JobLines of_texts = job_reader.finish();
  for (torch::JobLine& line : lines_.lines) of_texts.lines.push_back(std::move(line));
  lines_ = std::move(of_texts);
}

void PileReading::read_lines_of(std::size_t i, torch::JobLineReader& job_reader) {
  Content& content = contents_[i];
  auto input = core::Input::open(files_[i]);
  if (!input) return;
  log_reader_.begin_file(input->name());
  job_reader.begin_file(input->name());
  number_reader_.begin_file(input->name());
  engine_reader_.begin_file(input->name());
  const auto found = [&] {
    return job_reader.found() + number_reader_.found() + engine_reader_.found();
  };
  const std::size_t before = found();
  core::LineReader lines(*input);
  core::Repeats repeats;
  for (core::Line line; lines.next(line);) {
    if (repeats.is_enough(line.text)) continue;
    const bool is_nccl = log_reader_.add(line);
    content.has_nccl_lines = content.has_nccl_lines || is_nccl;
    // of NCCL's own lines only those of trouble tell something of the job
    if (!is_nccl || line.text.find("WARN") != line.text.npos) job_reader.add(line);
    if (is_nccl) continue;
    number_reader_.add(line);
    engine_reader_.add(line);
    if (auto setting = setting_of_line(line, files_[i]))
      content.settings.push_back(std::move(*setting));
  }
  content.has_job_lines = found() > before;
  if (lines.error()) content.error = *lines.error();
}

// Dumps, and the logs beside them.
void PileReading::take_dumps(Pile& pile) {
  std::vector<HangFiles::One> dumps;
  for (std::size_t i = 0; i < files_.size(); ++i)
    if (contents_[i].kind == PileKind::kDump)
      dumps.push_back({files_[i], std::move(contents_[i].dump)});
    else if (!is_used(contents_[i]))
      dumps.push_back({files_[i], {}});  // may stand for a dump that cannot be read
  const std::size_t others = dumps.size();
  add_stand_ins(dumps);
  COMM_PROBE_CHECK(dumps.size() == others, "files of dumps are neither added nor lost");
  for (HangFiles::One& file : dumps) {
    for (core::Caveat& caveat : file.content.caveats) pile.caveats.push_back(std::move(caveat));
    if (file.content.error) pile.caveats.push_back(unreadable(*file.content.error));
    if (!file.content.digest) continue;
    if (!file.content.error)
      pile.inputs.push_back({file.path, "flight-recorder", file.content.digest->dump.rank});
    taken_.insert(file.path);
    pile.digests.push_back(std::move(file.content.digest));
  }
}

// Of several profiles of one rank in one folder the last file counts.
void drop_older(std::vector<torch::Trace>& traces, std::vector<core::Caveat>& caveats) {
  std::map<int, std::size_t> last;
  for (std::size_t i = 0; i < traces.size(); ++i)
    if (traces[i].rank) last[*traces[i].rank] = i;
  std::vector<torch::Trace> kept;
  for (std::size_t i = 0; i < traces.size(); ++i)
    if (!traces[i].rank || last[*traces[i].rank] == i) kept.push_back(std::move(traces[i]));
  const std::size_t dropped = traces.size() - kept.size();
  traces = std::move(kept);
  if (dropped > 0)
    caveats.push_back(
        core::make_caveat("trace.several-profiles",
                          fmt::format("{} profiler trace{} of a rank that has a later one", dropped,
                                      dropped == 1 ? "" : "s"),
                          "they were passed over"));
}

std::string folder_of(const torch::Trace& trace) {
  const std::string folder = std::filesystem::path(trace.file).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Jobs of different sizes, and folders with the same ranks, are of different jobs. The one with the
// most traces first.
std::vector<std::vector<torch::Trace>> jobs_of(std::vector<torch::Trace> traces) {
  std::map<int, std::vector<torch::Trace>> sizes;  // by world size, 0: not said
  for (torch::Trace& trace : traces)
    sizes[trace.world_size.value_or(0)].push_back(std::move(trace));
  if (sizes.size() > 1 && sizes.contains(0)) {
    auto& into = sizes.rbegin()->second;
    std::move(sizes[0].begin(), sizes[0].end(), std::back_inserter(into));
    sizes.erase(0);
  }
  std::vector<std::vector<torch::Trace>> jobs;
  for (auto& [size, of_size] : sizes) {
    std::vector<diagnose::PlacedRank> places;
    for (const torch::Trace& trace : of_size)
      places.push_back({trace.file, trace.rank.value_or(-1)});
    for (const std::vector<std::size_t>& job : diagnose::jobs_by_folder(places)) {
      jobs.emplace_back();
      for (const std::size_t i : job) jobs.back().push_back(std::move(of_size[i]));
    }
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return jobs;
}

TraceInputs inputs_of(std::vector<torch::Trace> traces, Pile& pile) {
  TraceInputs inputs;
  inputs.traces = std::move(traces);
  drop_older(inputs.traces, pile.caveats);
  number_traces(inputs.traces, pile.caveats);
  std::sort(inputs.traces.begin(), inputs.traces.end(),
            [](const torch::Trace& a, const torch::Trace& b) { return *a.rank < *b.rank; });
  for (const torch::Trace& trace : inputs.traces) {
    pile.inputs.push_back({trace.file, trace.format, trace.rank});
    for (core::Caveat& caveat : caveats_of(trace)) pile.caveats.push_back(std::move(caveat));
  }
  drop_idle_traces(inputs);
  for (core::Caveat& caveat : inputs.caveats) pile.caveats.push_back(std::move(caveat));
  inputs.caveats.clear();
  return inputs;
}

void PileReading::take_traces(Pile& pile) {
  std::vector<torch::Trace> traces;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    TraceFile& file = contents_[i].trace;
    for (torch::Trace& trace : file.traces) traces.push_back(std::move(trace));
    if (file.log) pile.traces.logs.push_back(std::move(*file.log));
    if (file.error) contents_[i].error = std::move(file.error);
  }
  std::vector<std::vector<torch::Trace>> jobs = jobs_of(std::move(traces));
  std::vector<torch::InspectorLog> logs = std::move(pile.traces.logs);
  for (std::size_t i = 1; i < jobs.size(); ++i)
    pile.caveats.push_back(core::make_caveat(
        "trace.several-profiles",
        fmt::format("the {} profiler trace{} of {} are of another job than those of {}",
                    jobs[i].size(), jobs[i].size() == 1 ? "" : "s", folder_of(jobs[i].front()),
                    folder_of(jobs[0].front())),
        "each was judged by itself", false));
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (i == 0)
      pile.traces = inputs_of(std::move(jobs[i]), pile);
    else
      pile.other_traces.push_back(inputs_of(std::move(jobs[i]), pile));
  pile.traces.logs = std::move(logs);
}

// One text may be several things: a log with a table in it is named as both.
std::string kinds_of(const Content& content) {
  std::string kinds;
  const auto add = [&](const std::string& kind) { kinds += (kinds.empty() ? "" : ", ") + kind; };
  if (content.has_nccl_lines) add("nccl-log");
  if (!content.has_nccl_lines && content.has_job_lines) add("job-log");
  if (content.reading) add(content.reading->kind);
  if (!content.deepep.empty()) add("deepep");
  if (content.machine) add(content.machine->kind);
  if (content.counters) add("net-counters");
  if (kinds.empty() && !content.settings.empty()) add("settings");
  if (content.kind == PileKind::kGraphs) add("nccl-graphs");
  return kinds;
}

// The number in the name of a table is no rank's.
void PileReading::drop_tables() {
  std::set<std::string_view> tables;
  for (std::size_t i = 0; i < files_.size(); ++i)
    if (const Content& content = contents_[i];
        !content.has_nccl_lines && !content.has_job_lines && (content.reading || content.machine))
      tables.insert(files_[i]);
  std::erase_if(lines_.logs, [&](const auto& log) { return tables.contains(log.second); });
}

void PileReading::take(std::size_t i, Pile& pile) {
  Content& content = contents_[i];
  const bool is_known = is_used(content);
  const std::string kinds = kinds_of(content);
  if (!kinds.empty()) pile.inputs.push_back({files_[i], kinds, torch::rank_of_name(files_[i])});
  if (content.error && !taken_.contains(files_[i]))
    pile.caveats.push_back(unreadable(*content.error));
  // A caveat of the reading of curves stands with the reading.
  if (content.reading) pile.readings.push_back(std::move(*content.reading));
  pile.deepep.add(std::move(content.deepep));
  if (content.machine) pile.machines.push_back(std::move(*content.machine));
  if (content.host) pile.hosts.push_back({files_[i], std::move(*content.host)});
  for (diagnose::StatedSetting& setting : content.settings)
    pile.environment.push_back(std::move(setting));
  if (content.counters) {
    for (topology::NetSnapshot& snapshot : content.counters->snapshots)
      pile.counters.snapshots.push_back(std::move(snapshot));
    for (core::Caveat& caveat : content.counters->caveats)
      pile.counters.caveats.push_back(std::move(caveat));
  }
  if (!is_known && !content.error && !taken_.contains(files_[i]))
    pile.unrecognised.push_back(files_[i]);
}

// A rank that died early leaves a few lines behind that tell nothing; beside logs that do, that it
// is so quiet is worth a word.
void PileReading::name_quiet_logs(Pile& pile) {
  std::vector<QuietLog> quiet;
  std::erase_if(pile.unrecognised, [&](const std::string& file) {
    auto found = quiet_log(file);
    if (!found) return false;
    quiet.push_back(std::move(*found));
    return true;
  });
  // A file for warnings alone is empty where all is well.
  std::erase_if(pile.unrecognised, [](const std::string& file) {
    std::error_code error;
    return file.ends_with(".warnings.log") && std::filesystem::file_size(file, error) == 0;
  });
  for (const QuietLog& log : quiet)
    pile.inputs.push_back({log.file, "quiet-log", torch::rank_of_name(log.file)});
  if (const auto caveat = caveat_of(quiet)) pile.caveats.push_back(*caveat);
}

Pile PileReading::finish() {
  Pile pile;
  pile.files = files_.size();
  take_dumps(pile);
  take_traces(pile);
  drop_tables();
  for (std::size_t i = 0; i < files_.size(); ++i) take(i, pile);
  pile.log = log_reader_.finish();
  pile.lines = std::move(lines_);
  const bool has_logs = pile.log.nccl_lines > 0 || pile.lines.tell_of_trouble();
  if (has_logs || !pile.digests.empty()) name_quiet_logs(pile);
  pile.numbers = number_reader_.finish();
  if (torch::drop_survived(pile.lines, pile.numbers) > 0)
    pile.caveats.push_back(core::make_caveat(
        "job.exception-survived", "tracebacks after which steps go on in the same text",
        "they were caught and are not judged as the end of a rank", false));
  pile.engine = engine_reader_.finish();
  return pile;
}

core::Error nothing_read(const std::vector<std::string>& files) {
  core::Error error = core::input_error(
      files.size() == 1 ? "no artifact of a job is in it"
                        : fmt::format("no artifact of a job is in it, nor in the {} other files",
                                      files.size() - 1),
      "expected logs with NCCL_DEBUG=INFO, nvidia-smi topo -m, NCCL's topology XML, tables of "
      "nccl-tests, Flight Recorder dumps, profiler traces");
  error.where.file = files.front();
  return error;
}

}  // namespace

core::Result<Pile> load_pile(PileFiles given, core::Progress& progress) {
  COMM_PROBE_CHECK(!given.files.empty(), "a pile has files");
  PileReading reading(given.files, progress);
  reading.read();
  Pile pile = reading.finish();
  // A job script alone is no artifact of a job.
  if (std::all_of(pile.inputs.begin(), pile.inputs.end(),
                  [](const core::InputRecord& input) { return input.kind == "settings"; })) {
    for (const core::Caveat& caveat : pile.caveats)
      if (caveat.id == "input.unreadable" && pile.files == 1)
        return core::input_error(caveat.missing);
    return nothing_read(given.files);
  }
  pile.caveats.insert(pile.caveats.begin(), given.caveats.begin(), given.caveats.end());
  return pile;
}

}  // namespace comm_probe::cli
