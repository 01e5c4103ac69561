// `log FILE...`: what NCCL's debug output says happened, and what went wrong first.
#include "diagnose/log.h"

#include <fmt/format.h>

#include <memory>
#include <set>

#include "cli/curve_deepep.h"
#include "cli/engine_view.h"
#include "cli/log_plan_view.h"
#include "cli/log_view.h"
#include "cli/subcommands.h"
#include "cli/terminal_progress.h"
#include "core/finding_table.h"
#include "core/input.h"
#include "diagnose/deepep.h"
#include "diagnose/engine.h"
#include "diagnose/wrong_numbers.h"
#include "nccl/readers/debug_log_reader.h"
#include "serving/readers/line_words.h"

namespace comm_probe::cli {
namespace {

using core::Document;
using core::Result;

struct LogRequest {
  std::vector<std::string> paths = {};
  LogPlanRequest plan = {};
};

struct LogInputs {
  nccl::DebugLog log = {};
  torch::JobLines job = {};
  torch::NumberLines numbers = {};
  serving::EngineFacts engine = {};
  serving::DeepEpLines deepep = {};
  std::vector<core::InputRecord> records = {};
  std::vector<core::Caveat> caveats = {};
};

constexpr const char* kExpected =
    "expected the output of a job with NCCL_DEBUG=INFO (or WARN), or of vLLM or SGLang";

// Whether it can hold a log at all. Zeros (a hole, however long) or other bytes between the lines
// do not matter.
bool may_be_log(core::Input& input) {
  const core::ContentClass kind = core::classify_content(input.head());
  return kind != core::ContentClass::kEmpty && kind != core::ContentClass::kUtf16;
}

core::Error no_log(const std::string& name, core::Input& input) {
  return core::input_error(
      fmt::format("{}: {} holds no line of NCCL, of PyTorch or of an inference engine", name,
                  core::describe_content(input.head())),
      kExpected);
}

class LogReading {
 public:
  // Nothing where the file was read.
  std::optional<core::Error> read(const std::string& path) {
    auto input = core::Input::open(path);
    if (!input) return input.error();
    if (auto error = input->unreadable()) return error;
    if (!may_be_log(*input)) return no_log(input->name(), *input);
    reader_.begin_file(input->name());
    job_reader_.begin_file(input->name());
    number_reader_.begin_file(input->name());
    engine_reader_.begin_file(input->name());
    deepep_reader_.begin_file(input->name());
    const std::size_t before = found();
    zero_lines_.push_back(0);
    core::LineReader lines(*input);
    for (core::Line line; lines.next(line);) {
      if (line.text.find('\0') != std::string_view::npos) ++zero_lines_.back();
      if (serving::is_request_line(line.text) || reader_.add(line)) continue;
      job_reader_.add(line);
      number_reader_.add(line);
      engine_reader_.add(line);
      deepep_reader_.add(line);
    }
    tells_of_job_.push_back(found() > before);
    return lines.error();
  }
  std::size_t files() const { return tells_of_job_.size(); }
  // It has lines of PyTorch or the kernel that tell of a failure, a Python traceback, losses and
  // norms of a training, or what an inference engine or DeepEP says of its communication.
  bool tells_of_job(std::size_t file) const { return tells_of_job_[file]; }
  std::size_t zero_lines(std::size_t file) const { return zero_lines_[file]; }
  nccl::DebugLog finish() { return reader_.finish(); }
  torch::JobLines finish_job() { return job_reader_.finish(); }
  torch::NumberLines finish_numbers() { return number_reader_.finish(); }
  serving::EngineFacts finish_engine() { return engine_reader_.finish(); }
  serving::DeepEpLines finish_deepep() { return deepep_reader_.finish(); }

 private:
  std::size_t found() const {
    return job_reader_.found() + number_reader_.found() + engine_reader_.found() +
           deepep_reader_.found();
  }

  nccl::DebugLogReader reader_;
  torch::JobLineReader job_reader_;
  torch::NumberLineReader number_reader_;
  serving::EngineReader engine_reader_;
  serving::DeepEpLineReader deepep_reader_;
  std::vector<bool> tells_of_job_ = {};
  std::vector<std::size_t> zero_lines_ = {};
};

void add_caveat(LogInputs& inputs, const char* id, std::string missing, const char* effect,
                bool limits) {
  inputs.caveats.push_back(core::make_caveat(id, std::move(missing), effect, limits));
}

Result<LogInputs> read_logs(const std::vector<std::string>& paths) {
  LogInputs inputs;
  LogReading reading;
  std::vector<bool> named;
  std::size_t passed_over = 0;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    const auto files = core::expand_paths({path});
    if (!files) return files.error();
    const bool is_named = files->size() == 1 && files->front() == path;
    for (const std::string& file : *files) {
      if (file != "-" && !seen.insert(file).second) continue;  // given twice
      const std::size_t before = reading.files();
      const auto error = reading.read(file);
      if (error && is_named && paths.size() == 1 && reading.files() == before) return *error;
      if (error && (is_named || reading.files() > before))
        add_caveat(inputs, "input.unreadable", error->one_line(), "the rest was read", true);
      if (reading.files() > before)
        named.push_back(is_named);
      else if (!is_named)
        ++passed_over;
    }
  }
  inputs.log = reading.finish();
  inputs.job = reading.finish_job();
  inputs.numbers = reading.finish_numbers();
  inputs.engine = reading.finish_engine();
  inputs.deepep = reading.finish_deepep();
  std::size_t zero_lines = 0;  // of logs; a dump beside them is full of zeros
  for (std::size_t i = 0; i < inputs.log.files.size(); ++i) {
    const std::string& file = inputs.log.files[i];
    if (inputs.log.nccl_lines_of_file[i] > 0) zero_lines += reading.zero_lines(i);
    if (inputs.log.nccl_lines_of_file[i] > 0)
      inputs.records.push_back({file, "nccl-log"});
    else if (reading.tells_of_job(i))
      inputs.records.push_back({file, "job-log"});
    else if (named[i])
      add_caveat(inputs, "input.unreadable", file + ": holds no line of NCCL", "it says nothing",
                 true);
    else
      ++passed_over;
  }
  if (inputs.records.empty())
    return core::input_error(
        fmt::format("{}: holds no line of NCCL, of PyTorch or of an inference engine",
                    inputs.log.files.empty() ? paths.front() : inputs.log.files.front()),
        kExpected);
  if (zero_lines > 0)
    add_caveat(inputs, "log.zero-bytes",
               fmt::format("{} line{} with zero bytes", zero_lines, zero_lines == 1 ? "" : "s"),
               "what stood there is lost; the rest was read", true);
  if (passed_over > 0)
    add_caveat(
        inputs, "input.passed-over",
        fmt::format("{} file{} without a line of NCCL", passed_over, passed_over == 1 ? "" : "s"),
        "they were passed over", false);
  return inputs;
}

int show_log(const Shell& shell, const LogRequest& request) {
  terminal_progress().begin("log: reading and judging");
  const auto inputs = read_logs(request.paths);
  if (!inputs) return shell.fail(inputs.error());
  Document document{.command = "log"};
  document.inputs = inputs->records;
  document.caveats = inputs->caveats;
  diagnose::Judgement judgement = diagnose::judge_log(inputs->log, inputs->job);
  judgement.add(diagnose::judge_numbers(inputs->numbers));
  judgement.add(diagnose::judge_algorithms(inputs->log));
  judgement.add(diagnose::judge_engine(inputs->engine));
  const diagnose::DeepEpFacts deepep_facts;
  diagnose::DeepEpJudgement deepep = diagnose::judge_deepep(inputs->deepep, deepep_facts);
  judgement.add(std::move(deepep.judgement));
  document.verdict = diagnose::log_verdict(inputs->log, judgement);
  document.findings = std::move(judgement.findings);
  document.caveats.insert(document.caveats.end(), judgement.caveats.begin(),
                          judgement.caveats.end());
  if (shell.json() || shell.wants_page()) {
    document.result = log_json(inputs->log);
    if (!inputs->engine.empty()) document.result["engine"] = engine_json(inputs->engine);
    for (const diagnose::JudgedDeepEp& rate : deepep.rates)
      document.result["deepep"].push_back(deepep_json(rate));
  }
  if (!shell.json()) {
    document.body = log_blocks(inputs->log);
    for (core::Block& block : engine_blocks(inputs->engine))
      document.body.push_back(std::move(block));
    for (core::Block& block : deepep_blocks(deepep.rates, deepep_facts))
      document.body.push_back(std::move(block));
    if (shell.explain()) document.details = log_details(inputs->log);
  }
  if (request.plan.is_asked())
    if (const auto error = add_log_plan(document, inputs->log, request.plan))
      return shell.fail(*error);
  return shell.finish(document);
}

}  // namespace

void add_log(CLI::App& root, Shell& shell) {
  CLI::App* app = root.add_subcommand("log", "what NCCL's debug output says, and what failed first")
                      ->group("Look");
  auto request = std::make_shared<LogRequest>();
  app->add_option("FILE", request->paths,
                  "output of a job with NCCL_DEBUG=INFO or WARN, of any number of ranks; a "
                  "directory; - for standard input")
      ->required();
  add_log_plan_options(*app, request->plan);
  app->footer(
      "Example:\n  NCCL_DEBUG=INFO NCCL_DEBUG_FILE=/tmp/nccl.%h.%p.log torchrun ... train.py\n"
      "  comm-probe log /tmp/nccl.*.log\n"
      "  comm-probe log /tmp/nccl.*.log --topo topo.xml   (what the job decided, beside the plan)");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, request] { shell.run([&shell, request] { return show_log(shell, *request); }); });
}

}  // namespace comm_probe::cli
