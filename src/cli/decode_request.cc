#include "cli/decode_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "catalog/machine_figures.h"
#include "catalog/node_sizes.h"
#include "cli/nccl_job.h"
#include "core/finding_table.h"
#include "core/spelling.h"
#include "core/units.h"
#include "model/machine_fabric.h"
#include "nccl/catalog_job.h"
#include "nccl/price.h"

namespace comm_probe::cli {
namespace {

using core::Basis;
using core::input_error;
using model::SmallKernel;
using serving::Backend;
using serving::ElementType;

constexpr const char* kModelHint =
    "give --model llama-3-70b, --config FOLDER, or --layers L --hidden H";
constexpr int kMostBatch = 1 << 20;
constexpr int kMostRanks = 1024;

struct TypeName {
  std::string_view name;
  ElementType type;
  int bytes;
};
constexpr std::array kTypes = {
    TypeName{"bf16", ElementType::kBf16, 2},    TypeName{"fp16", ElementType::kFp16, 2},
    TypeName{"fp32", ElementType::kFp32, 4},    TypeName{"bfloat16", ElementType::kBf16, 2},
    TypeName{"float16", ElementType::kFp16, 2}, TypeName{"float32", ElementType::kFp32, 4},
    TypeName{"half", ElementType::kFp16, 2},
};

core::Result<TypeName> type_of(const std::string& name) {
  std::vector<std::string_view> known;
  for (const TypeName& type : kTypes) {
    if (type.name == name) return type;
    known.push_back(type.name);
  }
  return input_error(core::unknown_word("data type", name, known));
}

core::Result<bool> check(const char* option, int value, int most, const char* hint) {
  if (value >= 1 && value <= most) return true;
  return input_error(value == 0 ? fmt::format("{} is missing", option)
                                : fmt::format("{} {} is outside 1 to {}", option, value, most),
                     hint);
}

// Every pair of the first `ranks` GPUs has an NVLink.
bool fully_linked(const catalog::Machine& machine, int ranks) {
  if (machine.fabric == catalog::Fabric::kNvswitch) return true;
  const auto in_use = std::count_if(
      machine.gpu_pairs.begin(), machine.gpu_pairs.end(),
      [ranks](const catalog::GpuPair& pair) { return pair.first < ranks && pair.second < ranks; });
  return in_use == ranks * (ranks - 1) / 2;
}

Backend backend_of(SmallKernel kernel) {
  switch (kernel) {
    case SmallKernel::kOneShot:
    case SmallKernel::kTwoShot:
      return Backend::kCustom;
    case SmallKernel::kMultimem:
    case SmallKernel::kSymmTwoShot:
      return Backend::kSymmMem;
    case SmallKernel::kNcclSymm:
      return Backend::kNcclSymmMem;
  }
  return Backend::kPyNccl;
}

// Whether the hardware can run it, whatever the settings say.
bool can_run(SmallKernel kernel, const DecodeQuestion& question) {
  constexpr int kMostOfCustom = 8, kLeastOfNcclSymm = 4;
  const serving::ServingJob& job = question.job;
  if (job.ranks < 2 || job.is_amd) return false;
  if (job.nodes > 1 && (kernel != SmallKernel::kNcclSymm || !job.one_domain)) return false;
  const bool in_symm_table = serving::symm_mem_limit(job.sm, job.ranks).has_value();
  switch (kernel) {
    case SmallKernel::kOneShot:
    case SmallKernel::kTwoShot:
      return job.ranks % 2 == 0 && job.ranks <= kMostOfCustom &&
             (job.fully_linked || job.ranks == 2);
    case SmallKernel::kMultimem:
      return job.has_multicast && in_symm_table && job.ranks > 2;
    case SmallKernel::kSymmTwoShot:
      return job.has_multicast && in_symm_table;
    case SmallKernel::kNcclSymm:
      return job.fully_linked && job.ranks >= kLeastOfNcclSymm;
  }
  return false;
}

DecodeWay way_of(SmallKernel kernel, const DecodeQuestion& question) {
  const auto& job = question.job;
  const model::KernelModel& constants = model::small_kernel(kernel);
  const model::SmallTime time =
      model::small_time(kernel, {job.ranks, job.bytes, question.link, job.sm, question.in_graph});
  return {.name = small_kernel_name(kernel),
          .backend = backend_of(kernel),
          .steps = static_cast<double>(constants.barriers),
          .read = time.read,
          .start = time.start,
          .bandwidth = time.bandwidth,
          .source = std::string(constants.source),
          .error_share = constants.error_share,
          .is_clock = constants.error_share > 0 && job.fully_linked};
}

DecodeWay nccl_way_of(const model::Ledger& ledger, const DecodeQuestion& question) {
  const auto algorithm = nccl::algorithm_of(ledger.algorithm);
  return {.name = fmt::format("NCCL {} {}", algorithm ? table_name(*algorithm) : "",
                              table_name(nccl::protocol_of(ledger.protocol))),
          .backend = Backend::kPyNccl,
          .steps = ledger.steps,
          .read = ledger.bytes_per_rank,
          .start = ledger.latency() + model::nccl_launch(question.in_graph),
          .bandwidth = ledger.bandwidth(),
          .source = ledger.source,
          .error_share = model::nccl_error_share(question.job.sm)};
}

std::string machine_text(const catalog::Machine& machine, const serving::ServingJob& job) {
  std::string text =
      fmt::format("{} of {} {}", job.ranks, machine.gpus * job.nodes, machine.gpu.name);
  const catalog::NodeSizes sizes = catalog::node_sizes(machine);
  if (job.nodes > 1) text += fmt::format(" on {} hosts of {} GPUs", job.nodes, sizes.host);
  if (!sizes.are_one())
    text += fmt::format(" ({})", job.ranks <= sizes.domain
                                     ? fmt::format("one NVLink domain holds {}", sizes.domain)
                                     : domain_text(sizes));
  return text + fmt::format(", {}{}", fabric_name(machine.fabric),
                            job.has_multicast ? " with multicast" : "");
}

}  // namespace

const DecodeWay* DecodeQuestion::nccl_way() const {
  const auto found = std::find_if(ways.begin(), ways.end(),
                                  [](const DecodeWay& way) { return way.is_best_of_nccl; });
  return found == ways.end() ? nullptr : &*found;
}

const DecodeWay* DecodeQuestion::taken_way() const {
  const serving::BackendAnswer* answer = taken();
  if (answer == nullptr) return nullptr;
  if (answer->backend == Backend::kPyNccl) return nccl_way();
  for (const DecodeWay& way : ways) {
    if (way.backend != answer->backend) continue;
    if (way.basis == Basis::kMeasured) return &way;
    if (answer->kernel && way.name == small_kernel_name(*answer->kernel)) return &way;
  }
  const bool is_ordinary = answer->backend == Backend::kNcclSymmMem && !answer->kernel;
  return is_ordinary ? nccl_way() : nullptr;
}

// NCCL can always be had; another backend only where its own tests let this call pass, and with the
// kernel that they choose.
bool would_take(const DecodeQuestion& question, const DecodeWay& way) {
  if (way.backend == Backend::kPyNccl) return way.is_best_of_nccl;
  for (const serving::BackendAnswer& answer : question.switched_on)
    if (answer.backend == way.backend)
      return answer.takes && (!answer.kernel || way.name == small_kernel_name(*answer.kernel));
  return false;
}

const DecodeWay* DecodeQuestion::faster_way() const {
  const DecodeWay* taken = taken_way();
  if (taken == nullptr || !taken->is_clock) return nullptr;
  const DecodeWay* best = nullptr;
  for (const DecodeWay& way : ways) {
    if (&way == taken || way.backend == taken->backend || !way.is_clock) continue;
    const core::Duration error = way.time() * way.error_share + taken->time() * taken->error_share;
    if (way.time() + error >= taken->time() || !would_take(*this, way)) continue;
    if (best == nullptr || way.time() < best->time()) best = &way;
  }
  return best;
}

void DecodeRequest::add_to(CLI::App& app) {
  model_.add_to(app);
  app.add_option("--layers", layers_, "instead of a model: its layers")->type_name("L");
  app.add_option("--hidden", hidden_, "its hidden size")->type_name("H");
  app.add_option("--batch", batch_, "tokens of one decode step")->type_name("B");
  app.add_option("--dtype", type_, "bf16, fp16, fp32")->capture_default_str()->type_name("D");
  app.add_option("--tp", tp_, "tensor parallelism")->type_name("N");
  app.add_option("--pp", pp_, "pipeline stages, each of --tp ranks")
      ->capture_default_str()
      ->type_name("N");
  calls_option_ =
      app.add_option("--calls-per-layer", calls_per_layer_, "all_reduce calls of one layer")
          ->capture_default_str();
  machine_option_ = app.add_option("--machine", machine_, "a machine of the catalog")
                        ->capture_default_str()
                        ->type_name("NAME");
  app.add_option("--vllm", vllm_, "release whose order of backends holds, or latest")
      ->capture_default_str()
      ->type_name("VERSION");
  app.add_option("--env", env_,
                 "a variable of the engine: VLLM_USE_NCCL_SYMM_MEM=1, NCCL_ALGO=Tree")
      ->type_name("K=V");
  app.add_flag("--disable-custom-all-reduce", no_custom_, "as that flag of vLLM");
  app.add_flag("--eager", eager_, "outside a CUDA graph (enforce_eager)");
  app.add_option("--measured", measured_, "a time of your own: CUSTOM=9.8us, PYNCCL=30us")
      ->type_name("BACKEND=T");
  decode_step_option_ = add_duration(app, "--decode-step", decode_step_,
                                     "one whole decode step, to say what share is saved");
  app.add_flag("--must-survive", must_survive_, "a lost rank must not end the whole job");
  catalog_.add_to(app);
}

core::Result<bool> DecodeRequest::take_model(DecodeQuestion& question) {
  const bool is_typed = layers_ != 0 || hidden_ != 0;
  if (is_typed && model_.is_given()) return input_error("the model is described twice", kModelHint);
  if (!model_.is_given()) {
    if (!is_typed) return input_error("calc decode needs a model", kModelHint);
    if (auto fits = check("--layers", layers_, catalog::kMostLayers, kModelHint); !fits)
      return fits.error();
    if (auto fits = check("--hidden", hidden_, catalog::kMostWidth, kModelHint); !fits)
      return fits.error();
    question.shape.name = "the model";
    question.shape.layers = layers_;
    question.shape.hidden = hidden_;
    question.shape.source = kTypedSource;
    question.shape_basis = Basis::kAssumed;
    return true;
  }
  auto choice = model_.choose(catalog_);
  if (!choice) return choice.error();
  question.shape = choice->shape;
  // every layer ends in an all_reduce, whatever it caches
  question.shape.layers += choice->other_layers;
  question.shape_basis = choice->basis;
  if (calls_option_->count() == 0) calls_per_layer_ = choice->calls_per_layer;
  if (calls_per_layer_ == 0 && calls_option_->count() == 0)
    return input_error(
        fmt::format("layers of {} have unlike numbers of all_reduce calls", choice->shape.name),
        "give --calls-per-layer, or --layers and --hidden instead of the file");
  if (choice->input) question.inputs.push_back(*choice->input);
  return true;
}

core::Result<bool> DecodeRequest::take_message(DecodeQuestion& question) {
  if (auto fits =
          check("--batch", batch_, kMostBatch, "give the tokens of one step, like --batch 8");
      !fits)
    return fits.error();
  if (auto fits = check("--tp", tp_, kMostRanks, "give the tensor parallelism, like --tp 8"); !fits)
    return fits.error();
  if (tp_ == 1) return input_error("--tp 1 has no all_reduce", "expected 2 or more");
  constexpr int kMostCalls = 100;
  if (calls_per_layer_ < 1 || calls_per_layer_ > kMostCalls)
    return input_error(
        fmt::format("--calls-per-layer {} is outside 1 to {}", calls_per_layer_, kMostCalls));
  const auto type = type_of(type_);
  if (!type) return type.error();
  if (question.shape.heads > 0 && question.shape.heads % tp_ != 0)
    return input_error(fmt::format("the {} heads of {} do not spread evenly over --tp {}",
                                   question.shape.heads, question.shape.name, tp_),
                       "engines refuse it: expected a divisor");
  question.batch = batch_;
  if (pp_ < 1 || pp_ > question.shape.layers)
    return input_error(fmt::format("--pp {} is outside 1 to the {} layers of {}", pp_,
                                   question.shape.layers, question.shape.name));
  question.pp = pp_;
  question.type_name = type_;
  question.step = {question.shape.layers, calls_per_layer_};
  question.job.type = type->type;
  question.job.ranks = tp_;
  question.job.bytes = model::all_reduce_bytes(batch_, question.shape.hidden, type->bytes);
  question.in_graph = !eager_;
  question.must_survive = must_survive_;
  if (decode_step_option_->count() > 0) question.decode_step = decode_step_;
  return true;
}

core::Result<bool> DecodeRequest::take_settings(DecodeQuestion& question) {
  auto order = serving::vllm_order(vllm_);
  if (!order) return order.error();
  question.order = *std::move(order);
  question.vllm = vllm_;
  const auto environment = parse_environment(env_);
  if (!environment) return environment.error();
  for (const auto& [name, value] : *environment) {
    const auto applied = serving::apply(question.job.settings, name, value);
    if (!applied) return applied.error();
    if (*applied) continue;
    if (!name.starts_with("NCCL_"))
      return input_error(fmt::format("--env: {} decides nothing here", name),
                         "known: VLLM_ALLREDUCE_USE_SYMM_MEM, VLLM_USE_NCCL_SYMM_MEM, "
                         "VLLM_ALLREDUCE_USE_FLASHINFER, "
                         "VLLM_ALLREDUCE_USE_FLASHINFER_PCIE_IPC, VLLM_BATCH_INVARIANT, "
                         "VLLM_ROCM_QUICK_REDUCE_QUANTIZATION, NCCL_*");
    nccl_settings_[name] = value;
  }
  if (question.job.settings.batch_invariant)
    for (const auto& [name, value] : serving::batch_invariant_nccl()) nccl_settings_[name] = value;
  question.job.settings.custom = !no_custom_;
  return true;
}

core::Result<bool> DecodeRequest::take_nccl(const catalog::Machine& machine,
                                            DecodeQuestion& question) {
  const auto tuning =
      nccl::tune_catalog_job(machine, {question.job.ranks, question.job.nodes, nccl_settings_});
  if (!tuning) {
    question.nccl_refusal = tuning.error().message;
    question.caveats.push_back(core::make_caveat("calc.nccl-not-priced", question.nccl_refusal,
                                                 "NCCL's own time is not known", true));
    return true;
  }
  if (nccl_settings_.contains("NCCL_MAX_NCHANNELS"))
    question.caveats.push_back(core::make_caveat(
        "calc.nccl-channels-limited",
        fmt::format(
            "NCCL_MAX_NCHANNELS={}{}", nccl_settings_.at("NCCL_MAX_NCHANNELS"),
            question.job.settings.batch_invariant ? ", which VLLM_BATCH_INVARIANT sets" : ""),
        "the bytes take longer than NCCL's model counts", false));
  const model::Collective call = {model::Op::kAllReduce, question.job.ranks, question.job.bytes};
  const auto best = nccl::price(call, *tuning);
  if (!best) return best.error();
  question.ways.push_back(nccl_way_of(*best, question));
  question.ways.back().is_best_of_nccl = true;
  for (const nccl::Algorithm algorithm : nccl::kAllAlgorithms)
    for (const nccl::Protocol protocol : nccl::kAllProtocols) {
      const auto other = nccl::price(call, *tuning, {algorithm, protocol});
      if (!other) continue;
      if (other->algorithm == best->algorithm && other->protocol == best->protocol) continue;
      question.ways.push_back(nccl_way_of(*other, question));
    }
  return true;
}

core::Result<bool> DecodeRequest::take_machine(DecodeQuestion& question) {
  const auto catalog = catalog_.load();
  if (!catalog) return catalog.error();
  const auto found = (*catalog)->machine(machine_);
  if (!found) return found.error();
  const catalog::Machine& machine = **found;
  serving::ServingJob& job = question.job;
  job.sm = machine.gpu.sm;
  job.is_amd = machine.gpu.pci_vendor != "0x10de";
  const catalog::NodeSizes sizes = catalog::node_sizes(machine);
  job.nodes = sizes.hosts_for(job.ranks);
  job.fully_linked = fully_linked(machine, std::min(job.ranks, machine.gpus));
  job.has_multicast = model::can_reduce_in_switch(machine);
  job.one_domain = job.nodes <= sizes.hosts();
  const auto fabric = model::fabric_of(machine, {job.ranks, job.nodes}, model::Protocol::kSimple);
  if (!fabric) return fabric.error();
  question.link = fabric->all_peers.value_or(fabric->link.beta);
  question.machine = machine.name;
  question.machine_text = machine_text(machine, job);
  for (const model::KernelModel& kernel : model::small_kernels())
    if (can_run(kernel.kernel, question)) question.ways.push_back(way_of(kernel.kernel, question));
  if (job.ranks == 2 && !job.fully_linked && !job.is_amd)
    question.caveats.push_back(core::make_caveat(
        "calc.pcie-kernel", "the custom kernel over PCIe: its constants are those of NVLink",
        "its time and what it saves are not known; users found NCCL faster above 64 KiB, and with "
        "an IOMMU or ACS its writes hang or are lost (comm-probe topo check)",
        true));
  if (machine_option_->count() == 0)
    question.caveats.push_back(core::make_caveat("calc.machine-assumed", "no --machine was given",
                                                 "this is " + machine.name, false));
  return take_nccl(machine, question);
}

// A measured time stands in the place of what its backend would take.
core::Result<bool> DecodeRequest::take_measured(DecodeQuestion& question) const {
  for (const std::string& word : measured_) {
    const std::size_t equals = word.find('=');
    const auto backend = serving::backend_from_name(core::upper(word.substr(0, equals)));
    if (equals == std::string::npos || !backend)
      return input_error(fmt::format("--measured: '{}' is not BACKEND=TIME", word),
                         "expected one like CUSTOM=9.8us or PYNCCL=30us");
    const auto time = core::parse_duration(word.substr(equals + 1));
    if (!time) return time.error();
    if (*time <= core::Duration())
      return input_error(fmt::format("--measured: {} is no time", word), "expected more than 0");
    for (DecodeWay& way : question.ways) {
      if (way.backend != backend) continue;
      if (way.basis == Basis::kMeasured)
        return input_error(
            fmt::format("--measured: {} is given twice", serving::backend_name(*backend)));
      way.is_best_of_nccl = false;
    }
    DecodeWay way{.name = "measured", .backend = backend, .start = *time};
    way.basis = Basis::kMeasured;
    way.source = "--measured";
    way.is_best_of_nccl = *backend == Backend::kPyNccl;
    question.ways.insert(question.ways.begin(), way);
  }
  return true;
}

namespace {

// What the bytes alone take: as the kernel that the backend would run reads them, at least once.
core::Duration floor_of(const DecodeQuestion& question, Backend backend) {
  const serving::ServingJob& job = question.job;
  for (const serving::BackendAnswer& answer : question.answers)
    if (answer.backend == backend && answer.kernel && answer.kernel != SmallKernel::kNcclSymm)
      return model::small_time(*answer.kernel,
                               {job.ranks, job.bytes, question.link, job.sm, question.in_graph})
                 .read /
             question.link;
  return job.bytes / question.link;
}

// Calls of a CUDA graph that were divided by too many (NCCL issue 1984) look faster than light.
core::Result<bool> check_measured(const DecodeQuestion& question) {
  for (const DecodeWay& way : question.ways) {
    if (way.basis != Basis::kMeasured) continue;
    const core::Duration floor = floor_of(question, *way.backend);
    if (way.time() < floor)
      return input_error(
          fmt::format("--measured: {}={} is less than the {} that its bytes take at the {} of one "
                      "GPU of {}",
                      backend_name(*way.backend), core::format_duration(way.time()),
                      core::format_duration(floor), core::format_bandwidth(question.link),
                      question.machine),
          "was the time of a CUDA graph divided by too many calls? --machine names another GPU");
  }
  return true;
}

}  // namespace

core::Result<DecodeQuestion> DecodeRequest::question() {
  DecodeQuestion question;
  if (const auto taken = take_model(question); !taken) return taken.error();
  if (const auto taken = take_message(question); !taken) return taken.error();
  if (const auto taken = take_settings(question); !taken) return taken.error();
  if (const auto taken = take_machine(question); !taken) return taken.error();
  if (const auto taken = take_measured(question); !taken) return taken.error();
  question.answers = serving::backends_of(question.job, question.order);
  if (const auto possible = check_measured(question); !possible) return possible.error();
  serving::ServingJob all_on = question.job;
  all_on.settings.custom = all_on.settings.symm_mem = true;
  question.switched_on = serving::backends_of(all_on, question.order);
  question.sglang = serving::sglang_v2(question.job, question.in_graph);
  question.sglang_legacy = serving::sglang_legacy(question.job);
  question.flashinfer = serving::flashinfer_choice(question.job, question.batch);
  if (const auto file = catalog_.input()) question.inputs.push_back(*file);
  if (question.order.is_older)
    question.caveats.push_back(core::make_caveat(
        "calc.vllm-order-assumed",
        fmt::format("backends, limits and order of vLLM {}, which is older than what was read",
                    question.vllm),
        "those of 0.23 stand in their place; an older release has fewer backends and tables",
        true));
  else if (!question.order.is_exact)
    question.caveats.push_back(core::make_caveat(
        "calc.vllm-order-assumed",
        fmt::format("the order of backends of vLLM {} ({})", question.vllm, question.order.name),
        "the start-up line of the engine is the truth: give it to `comm-probe log`", false));
  return question;
}

}  // namespace comm_probe::cli
