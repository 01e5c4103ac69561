#include "cli/bench_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/kv_layout.h"
#include "core/spelling.h"

namespace comm_probe::cli {
namespace {

using core::input_error;

constexpr int kMostIterations = 1000000;

template <class Values, class Name>
std::vector<std::string_view> names_of(const Values& values, Name name) {
  std::vector<std::string_view> names;
  for (const auto value : values) names.emplace_back(name(value));
  return names;
}

core::Result<model::Op> parse_op(const std::string& name) {
  if (name.empty())
    return input_error("bench needs an operation", "for instance: comm-probe bench all_reduce");
  if (const auto op = model::op_from_name(name)) return *op;
  return input_error(
      core::unknown_word("operation", name, names_of(model::kAllOps, model::op_name)));
}

core::Result<measure::Element> parse_element(const std::string& name) {
  if (const auto element = measure::element_from_name(name)) return *element;
  return input_error(core::unknown_word("data type", name,
                                        names_of(measure::kAllElements, measure::element_name)));
}

core::Result<measure::Reduction> parse_reduction(const std::string& name) {
  if (const auto reduction = measure::reduction_from_name(name)) return *reduction;
  return input_error(core::unknown_word(
      "reduction", name, names_of(measure::kAllReductions, measure::reduction_name)));
}

// What calc prices beyond it is no algorithm of the engine.
core::Result<model::Algorithm> parse_algorithm(const std::string& name, model::Op op,
                                               const measure::Engine& engine) {
  const std::vector<model::Algorithm> known = engine.algorithms(op);
  const auto algorithm = model::algorithm_from_name(name);
  if (known.empty() && algorithm)
    return input_error(fmt::format("--algo {}: the {} engine takes no algorithm for {}", name,
                                   engine.name, model::op_name(op)),
                       "leave --algo out");
  if (algorithm) return *algorithm;
  auto names = names_of(known, model::algorithm_name);
  names.emplace_back("auto");
  return core::input_error(core::unknown_word("algorithm", name, names));
}

// In the order of the help; those without an entry in measure::engines() come with later releases.
constexpr std::array<std::string_view, 5> kBackends = {"local", "mpi", "nccl", "cuda", "ucx"};

core::Result<bool> check_range(const char* flag, int value, int low, int high) {
  if (value >= low && value <= high) return true;
  return input_error(fmt::format("{} {} is outside {} to {}", flag, value, low, high));
}

// "cuda or nccl"
std::string engines_with(bool measure::Takes::*taken) {
  std::string names;
  for (const measure::Engine& engine : measure::engines())
    if (engine.takes.*taken) names += (names.empty() ? "" : " or ") + std::string(engine.name);
  return names;
}

std::string backends_help() {
  std::string text;
  for (const measure::Engine& engine : measure::engines())
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", engine.name, engine.what);
  return text;
}

}  // namespace

void BenchRequest::add_to(CLI::App& app) {
  app.add_option(
      "OP", op_,
      "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv");
  add_bytes(app, "-b,--minbytes", plan_.begin, "smallest size (default: 8)");
  add_bytes(app, "-e,--maxbytes", plan_.end, "largest size (default: 64M)");
  factor_option_ = app.add_option("-f,--stepfactor", plan_.factor, "next size = size x F")
                       ->capture_default_str()
                       ->type_name("F");
  add_bytes(app, "-i,--stepbytes", plan_.step, "next size = size + SIZE, instead of -f")
      ->excludes(factor_option_);
  iterations_option_ = app.add_option("-n,--iters", plan_.iterations,
                                      "calls per sample (default: 20, more for calls below 10 us)")
                           ->type_name("N");
  app.add_option("-w,--warmup_iters", plan_.warmup, "calls before the first sample")
      ->capture_default_str();
  app.add_option("-c,--check", check_,
                 "0: results are not checked; N: those of N calls are (cuda), each on other data")
      ->capture_default_str();
  gpus_option_ = app.add_option("-g,--ngpus", gpus_, "ranks per thread: ranks = -t x -g");
  threads_option_ = app.add_option("-t,--nthreads", threads_, "see -g");
  ranks_option_ = app.add_option("--ranks", ranks_, "ranks (default: one per core, 2 to 8)");
  app.add_option("-d,--datatype", element_, "float, double, bfloat16, half, int32, uint8")
      ->capture_default_str();
  app.add_option("-o,--op", reduction_, "sum, prod, min, max, avg")->capture_default_str();
  app.add_option("-r,--root", plan_.root, "root of broadcast and reduce")->capture_default_str();
  app.add_option("-z,--blocking", blocking_, "accepted; local calls always block")
      ->capture_default_str();
  app.add_option("-a,--average", average_, "over the ranks: 0 rank 0, 1 mean, 2 min, 3 max")
      ->capture_default_str();
  app.add_option("--backend", backend_, backends_help())->capture_default_str();
  app.add_option("-G,--cudagraph", plan_.graph_launches,
                 "N: launches of a captured graph instead of calls (engines on GPUs)")
      ->type_name("N");
  app.add_option("-R,--local_register", registers_,
                 "1: buffers are registered with the library, 2: symmetrically (nccl)")
      ->type_name("0|1|2");
  app.add_option("--one-gpu-ranks", one_gpu_ranks_,
                 "N ranks share one GPU (nccl): decisions and faults are real, times mean nothing")
      ->type_name("N");
  verb_option_ =
      add_choice(app, "--verb", verb_, "one-sided operation of send_recv (ucx)", {"put", "get"});
  app.add_option("--kv-layout", kv_layout_,
                 "send_recv of a request's KV blocks, scattered as an engine has them (ucx): "
                 "llama-3-70b:tokens=4096,tp=8,block=16,merge=1")
      ->type_name("MODEL:...");
  keep_option_ = app.add_option("--keep", plan_.keep,
                                "leave NCCL's logs, topology and graphs in this folder (nccl)")
                     ->type_name("DIR");
  timeout_option_ =
      add_duration(app, "--timeout", plan_.patience,
                   "end the run where nothing moves for so long (nccl, mpi; default: 60s)");
  app.add_option("--algo", algorithm_,
                 "ring, tree, double-tree, recursive-doubling, one-shot, two-shot, direct; auto = "
                 "by the ledger of this machine, or what the library does (mpi)")
      ->capture_default_str();
}

core::Result<const measure::Engine*> BenchRequest::engine() const {
  const measure::Engine* engine = measure::find_engine(backend_);
  if (engine == nullptr) {
    if (std::find(kBackends.begin(), kBackends.end(), backend_) == kBackends.end())
      return input_error(core::unknown_word("backend", backend_, kBackends));
    return core::missing_error(
        fmt::format("bench --backend {}: this release has no {} engine, a later one will", backend_,
                    backend_),
        "--backend local measures between processes of this machine");
  }
  return engine;
}

core::Result<bool> BenchRequest::only_its_flags(const measure::Engine& engine) const {
  struct Flag {
    const char* name;
    bool is_given;
    bool measure::Takes::*taken;
  };
  using measure::Takes;
  for (const Flag& flag : {Flag{"-G", plan_.graph_launches != 0, &Takes::graph},
                           Flag{"-R", registers_ != 0, &Takes::registration},
                           Flag{"--one-gpu-ranks", one_gpu_ranks_ != 0, &Takes::one_gpu_ranks},
                           Flag{"--keep", keep_option_->count() > 0, &Takes::keep},
                           Flag{"--timeout", timeout_option_->count() > 0, &Takes::timeout},
                           Flag{"--kv-layout", !kv_layout_.empty(), &Takes::scattered},
                           Flag{"--verb", verb_option_->count() > 0, &Takes::verb}})
    if (flag.is_given && !(engine.takes.*flag.taken))
      return input_error(fmt::format("bench --backend {}: {} needs --backend {}", engine.name,
                                     flag.name, engines_with(flag.taken)));
  return true;
}

core::Result<int> BenchRequest::ranks(const measure::Engine& engine) const {
  const bool by_threads = gpus_option_->count() > 0 || threads_option_->count() > 0;
  if (!by_threads) {
    if (one_gpu_ranks_ != 0) return one_gpu_ranks_;
    return ranks_option_->count() > 0 ? ranks_ : engine.usual_ranks();
  }
  for (const auto& [flag, value] : {std::pair{"-g", gpus_}, std::pair{"-t", threads_}})
    if (const auto fine = check_range(flag, value, 1, 10000); !fine) return fine.error();
  const int product = gpus_ * threads_;
  if (ranks_option_->count() > 0 && ranks_ != product)
    return input_error(fmt::format("--ranks {} against -t {} x -g {}", ranks_, threads_, gpus_),
                       "give one of them");
  return product;
}

// One size: all pieces together.
core::Result<bool> BenchRequest::take_layout(measure::Plan& plan) const {
  if (kv_layout_.empty()) return true;
  if (plan.op != model::Op::kSendRecv)
    return input_error(fmt::format("--kv-layout with {}, which moves no cache", op_name(plan.op)),
                       "comm-probe bench send_recv --backend ucx --kv-layout llama-3-70b");
  const auto scattered = parse_kv_layout(kv_layout_);
  if (!scattered) return scattered.error();
  plan.scattered = *scattered;
  plan.element = measure::Element::kU8;
  plan.begin = plan.end = scattered->total();
  return true;
}

core::Result<measure::Plan> BenchRequest::plan(const measure::Engine& engine) const {
  measure::Plan plan = plan_;
  const auto op = parse_op(op_);
  if (!op) return op.error();
  const auto element = parse_element(element_);
  if (!element) return element.error();
  const auto reduction = parse_reduction(reduction_);
  if (!reduction) return reduction.error();
  if (const auto fine = only_its_flags(engine); !fine) return fine.error();
  const auto ranks = this->ranks(engine);
  if (!ranks) return ranks.error();
  struct Range {
    const char* flag;
    int value, low, high;
  };
  const int least = iterations_option_->count() > 0 ? 1 : 0;
  for (const Range& range :
       {Range{"-n", plan.iterations, least, kMostIterations},
        Range{"-w", plan.warmup, 0, kMostIterations}, Range{"-c", check_, 0, kMostIterations},
        Range{"-a", average_, 0, 3}, Range{"-z", blocking_, 0, 1}, Range{"-R", registers_, 0, 2},
        Range{"-G", plan.graph_launches, 0, kMostIterations},
        Range{"--one-gpu-ranks", one_gpu_ranks_, 0, 64}})
    if (const auto fine = check_range(range.flag, range.value, range.low, range.high); !fine)
      return fine.error();
  if (algorithm_ != "auto") {
    const auto algorithm = parse_algorithm(algorithm_, *op, engine);
    if (!algorithm) return algorithm.error();
    plan.algorithm = *algorithm;
  }
  plan.op = *op;
  plan.element = *element;
  plan.reduction = *reduction;
  plan.verb = verb_ == "get" ? measure::Verb::kGet : measure::Verb::kPut;
  plan.ranks = *ranks;
  plan.threads = threads_;
  plan.gpus = gpus_option_->count() > 0 ? gpus_ : 0;
  plan.registration = registers_;
  plan.shares_one_gpu = one_gpu_ranks_ != 0;
  plan.check = check_ != 0;
  plan.checks = check_;
  plan.average = static_cast<measure::RankAverage>(average_);
  if (plan.step.count() > 0) plan.factor = 0;
  if (const auto taken = take_layout(plan); !taken) return taken.error();
  return plan;
}

core::Result<bool> check_usable(const measure::Engine& engine, const measure::Plan& plan) {
  auto missing = engine.missing();
  if (missing)
    missing->message = fmt::format("bench --backend {}: {}", engine.name, missing->message);
  // Without its launcher an engine does not know its ranks: that comes first.
  if (missing && missing->code == core::ErrorCode::kInput) return *missing;
  const auto possible = engine.check(plan);
  const bool is_bad_usage = !possible && possible.error().code == core::ErrorCode::kInput;
  if (missing && !is_bad_usage) return *missing;
  return possible;
}

}  // namespace comm_probe::cli
