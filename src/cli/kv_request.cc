#include "cli/kv_request.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/finding_table.h"
#include "core/spelling.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Basis;
using core::input_error;
using model::KvType;

constexpr const char* kModelHint =
    "give --model llama-3-70b, --config FOLDER, or --layers L --kv-heads H --head-dim D";
constexpr std::uint64_t kMostTokens = 1'000'000'000;
constexpr int kMostMerge = 1 << 20;

struct TypeName {
  std::string_view name;
  KvType type;
};
// As vLLM's --kv-cache-dtype, papers and PyTorch call them.
constexpr std::array kTypes = {
    TypeName{"bf16", KvType::kBf16},    TypeName{"fp16", KvType::kBf16},
    TypeName{"fp8", KvType::kFp8},      TypeName{"fp8_ds_mla", KvType::kFp8DsMla},
    TypeName{"fp32", KvType::kFp32},    TypeName{"bfloat16", KvType::kBf16},
    TypeName{"float16", KvType::kBf16}, TypeName{"float32", KvType::kFp32},
    TypeName{"half", KvType::kBf16},    TypeName{"fp8_e4m3", KvType::kFp8},
    TypeName{"fp8_e5m2", KvType::kFp8}, TypeName{"int8", KvType::kFp8},
};

core::Result<bool> check_size(const char* option, int value) {
  if (value >= 1 && value <= catalog::kMostWidth) return true;
  return input_error(fmt::format("{} {} is outside 1 to {}", option, value, catalog::kMostWidth),
                     kModelHint);
}

}  // namespace

core::Result<KvType> kv_type_from_name(const std::string& name) {
  std::vector<std::string_view> known;
  for (const TypeName& type : kTypes) {
    if (type.name == name) return type.type;
    known.push_back(type.name);
  }
  return input_error(core::unknown_word("data type", name, known));
}

std::string format_cache(core::Bytes bytes) {
  for (const auto& [unit, name] :
       {std::pair{core::Bytes::of(1073741824), "GiB"}, std::pair{core::Bytes::of(1048576), "MiB"},
        std::pair{core::Bytes::of(1024), "KiB"}})
    if (bytes >= unit) return fmt::format("{} {}", core::format_number(bytes / unit), name);
  return core::format_bytes(bytes);
}

std::uint64_t KvQuestion::descriptors() const {
  return model::kv_descriptors(model::kv_stage(cache, pp), tokens, move, merge);
}

model::KvTime KvQuestion::time() const {
  return model::kv_time({on_stage() * move.busiest(), descriptors(), rate.value});
}

model::KvPrompt KvQuestion::prompt() const {
  return {[stage = model::kv_stage(cache, pp), move = move, merge = merge,
           rate = rate.value](std::uint64_t length) {
            return model::kv_time({model::kv_bytes(stage, length) * move.busiest(),
                                   model::kv_descriptors(stage, length, move, merge), rate})
                .total();
          },
          cache.block};
}

void KvRequest::add_to(CLI::App& app) {
  model_.add_to(app);
  app.add_option("--layers", layers_, "instead of a model: its layers")->type_name("L");
  app.add_option("--kv-heads", kv_heads_, "its KV heads")->type_name("H");
  app.add_option("--head-dim", head_dim_, "dimension of one head")->type_name("D");
  app.add_option("--dtype", type_,
                 "of the cache: bf16, fp16, fp8, fp8_ds_mla (FlashMLA's), fp32 (default: bf16)")
      ->type_name("D");
  app.add_option("--tokens", tokens_, "length of the prompt")->capture_default_str();
  app.add_option("--tp", tp_, "tensor parallelism of the prefill side")->capture_default_str();
  app.add_option("--decode-tp", decode_tp_, "of the decode side (default: --tp)")->type_name("N");
  app.add_option("--pp", pp_,
                 "pipeline stages on both sides: a rank holds, and moves, the layers of its stage")
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--block", block_, "tokens of one cache block (vLLM: 16; FlashMLA: 64)")
      ->capture_default_str();
  app.add_option("--merge", merge_,
                 "neighbouring pieces that are sent as one; with cross-layer blocks the layers, "
                 "twice that where K and V are apart")
      ->capture_default_str();
  app.add_option("--nic", nic_, "of one rank: port rate (NDR, 400GbE), NIC, or bandwidth")
      ->type_name("NIC");
  app.add_option("--gpu", gpu_, "GPU of the catalog: adds its PCIe, the other paths, its prefill")
      ->type_name("GPU");
  add_choice(app, "--path", path_,
             "with --gpu: the way that is taken (default: rdma-gdr, rdma where the GPU cannot)",
             {"rdma-gdr", "rdma-gdr-cpu", "rdma", "tcp"});
  prefill_option_ = app.add_option("--prefill-rate", prefill_rate_,
                                   "tokens per second of the prefill (default: from --gpu)")
                        ->type_name("R");
  step_option_ = add_duration(app, "--decode-step", step_, "one decode step (default: 20ms)");
  catalog_.add_to(app);
}

core::Result<catalog::ModelShape> KvRequest::typed_shape() const {
  if (layers_ == 0 && kv_heads_ == 0 && head_dim_ == 0)
    return input_error("calc kv needs a model", kModelHint);
  if (layers_ < 1 || layers_ > catalog::kMostLayers)
    return input_error(fmt::format("--layers {} is outside 1 to {}", layers_, catalog::kMostLayers),
                       kModelHint);
  if (const auto fits = check_size("--kv-heads", kv_heads_); !fits) return fits.error();
  if (const auto fits = check_size("--head-dim", head_dim_); !fits) return fits.error();
  catalog::ModelShape shape;
  shape.name = "the model";
  shape.layers = layers_;
  shape.kv_heads = kv_heads_;
  shape.head_dim = head_dim_;
  shape.source = kTypedSource;
  return shape;
}

// A cache is usually kept in the type of the weights, in 16 bit where those are float32.
void KvRequest::take_type(const std::string& weights, KvQuestion& question) {
  const auto type = kv_type_from_name(weights);
  if (!type) return;
  type_ = *type == KvType::kFp32 ? "bf16" : weights;
  if (*type == KvType::kFp32)
    question.caveats.push_back(core::make_caveat(
        "calc.kv-config-assumed", fmt::format("the weights are {}", weights),
        "the cache is counted in 16 bit, as vLLM keeps it then; --dtype fp32 counts 4 B", false));
}

core::Result<bool> KvRequest::take_named(KvQuestion& question) {
  const auto choice = model_.choose(catalog_);
  if (!choice) return choice.error();
  question.basis = choice->basis;
  if (choice->input) question.inputs.push_back(*choice->input);
  if (choice->state_layers > 0)
    question.caveats.push_back(
        core::make_caveat("calc.kv-state-layers",
                          fmt::format("{} layers of {} keep a state instead of a cache",
                                      choice->state_layers, choice->shape.name),
                          "their constant bytes per request are not counted", false));
  question.notes = choice->notes;
  if (type_.empty()) take_type(choice->type, question);
  return take_cache(choice->shape, question);
}

core::Result<bool> KvRequest::take_model(KvQuestion& question) {
  const bool is_typed = layers_ != 0 || kv_heads_ != 0 || head_dim_ != 0;
  if (is_typed && model_.is_given()) return input_error("the model is described twice", kModelHint);
  if (model_.is_given()) return take_named(question);
  const auto shape = typed_shape();
  if (!shape) return shape.error();
  question.basis = Basis::kAssumed;
  return take_cache(*shape, question);
}

core::Result<bool> KvRequest::take_cache(catalog::ModelShape shape, KvQuestion& question) {
  question.type_name = type_.empty() ? "bf16" : type_;
  const auto type = kv_type_from_name(question.type_name);
  if (!type) return type.error();
  auto cache = model::kv_cache(shape, *type, block_);
  if (!cache) return cache.error();
  question.cache = *std::move(cache);
  return true;
}

core::Result<bool> KvRequest::take_gpu_path(KvQuestion& question) {
  const auto catalog = catalog_.load();
  if (!catalog) return catalog.error();
  const auto gpu = (*catalog)->gpu(gpu_);
  if (!gpu) return gpu.error();
  const auto machine = path_machine(**gpu, *question.nic, std::nullopt);
  if (!machine) return machine.error();
  if (path_.empty()) path_ = (*gpu)->can_gdr ? "rdma-gdr" : "rdma";
  for (const model::PathCounts& counts : model::path_counts()) {
    const bool is_direct = std::string_view(data_path_name(counts.path)).starts_with("rdma-gdr");
    if (is_direct && !(*gpu)->can_gdr) {
      if (data_path_name(counts.path) == path_)
        return input_error(fmt::format("{} has no GPUDirect RDMA", (*gpu)->name),
                           "--path rdma (through the host) or tcp");
      continue;
    }
    auto ledger = model::price_path(counts.path, *machine);
    if (!ledger) return ledger.error();
    if (data_path_name(counts.path) == path_)
      question.rate = {
          ledger->effective(), Basis::kComputed,
          fmt::format("{} of {}, limited by the {}", path_, (*gpu)->name, ledger->limit().name)};
    question.paths.push_back(*std::move(ledger));
  }
  question.path = path_;
  return true;
}

core::Result<bool> KvRequest::take_path(KvQuestion& question) {
  if (nic_.empty() && gpu_.empty()) return true;
  if (nic_.empty()) return input_error("--gpu needs a NIC", "give --nic NDR, or a bandwidth");
  const auto catalog = catalog_.load();
  if (!catalog) return catalog.error();
  auto nic = choose_nic(**catalog, nic_);
  if (!nic) return nic.error();
  question.nic = *std::move(nic);
  question.rate = {question.nic->rate, question.nic->basis, question.nic->source};
  if (gpu_.empty() && !path_.empty() && path_ != "rdma-gdr")
    return input_error(fmt::format("--path {} needs the PCIe of a GPU", path_), "give --gpu H100");
  return gpu_.empty() ? core::Result<bool>(true) : take_gpu_path(question);
}

namespace {

core::Sourced<model::PromptCompute> computed_prefill(const KvQuestion& question,
                                                     const catalog::Gpu& gpu, int ranks) {
  const catalog::ModelShape& shape = question.cache.shape;
  constexpr double kBytesPerParameter = 2;
  auto compute =
      model::prompt_compute(shape, shape.active_millions * 1e6, gpu.bf16_tflops * 1e12 * ranks);
  if (gpu.memory_bandwidth.value > core::Bandwidth())
    compute.least = core::Bytes::of(shape.active_millions * 1e6 * kBytesPerParameter) /
                    (gpu.memory_bandwidth.value * ranks);
  return {compute, Basis::kComputed,
          fmt::format("2 x {:.3g} G parameters a token{}{}, at half of {} x {} TFLOPS, as {} is "
                      "marketed",
                      shape.active_millions / 1e3,
                      shape.is_counted ? " (counted from its config.json)" : "",
                      compute.per_pair > core::Duration()
                          ? " and attention to all tokens before it"
                          : "; attention is not counted, its heads are not known",
                      ranks, gpu.bf16_tflops, gpu.name)};
}

}  // namespace

core::Result<bool> KvRequest::take_times(KvQuestion& question) {
  const model::KvConstant& usual = model::kv_constant("decode_step");
  question.step = {core::Duration::from_ms(usual.value), Basis::kAssumed,
                   std::string(usual.applies_when)};
  if (step_option_->count() > 0) question.step = {step_, Basis::kAssumed, kTypedSource};
  if (prefill_option_->count() > 0) {
    constexpr double kFastest = 1e9;
    if (!(prefill_rate_ > 1e-3 && prefill_rate_ < kFastest))
      return input_error(fmt::format("--prefill-rate {} is outside 0.001 to 1e9", prefill_rate_));
    question.prefill = {{.per_token = core::Duration::from_seconds(1 / prefill_rate_)},
                        Basis::kAssumed,
                        kTypedSource};
    question.recompute = question.prefill;
    return true;
  }
  if (gpu_.empty()) return true;
  if (question.cache.shape.active_millions == 0) {
    question.no_prefill = fmt::format(
        "the parameters of {} are not known, so {} cannot say; give --prefill-rate TOKENS/S",
        question.cache.shape.name, gpu_);
    return true;
  }
  const auto gpu = (*catalog_.load())->gpu(gpu_);
  if (!gpu || (*gpu)->bf16_tflops == 0) {
    question.no_prefill =
        fmt::format("the catalog has no TFLOPS of {}; give --prefill-rate TOKENS/S", gpu_);
    return true;
  }
  const auto on = [&](int ranks) { return computed_prefill(question, **gpu, ranks); };
  question.prefill = on(question.move.prefill_tp);
  question.recompute = on(question.move.decode_tp);
  return true;
}

namespace {

// The bytes at the other end of what a note leaves open.
std::optional<core::Bytes> bytes_otherwise(const serving::ConfigNote& note,
                                           const KvQuestion& question) {
  model::KvCache cache = question.cache;
  if (note.otherwise) cache.shape = *note.otherwise;
  if (note.more_bytes == 0 && !note.otherwise) return std::nullopt;
  const auto kept = static_cast<double>(model::kv_blocks(cache, question.tokens)) * cache.block;
  return model::kv_bytes(cache, question.tokens) + core::Bytes::of(kept * note.more_bytes);
}

void say_notes(KvQuestion& question) {
  for (const serving::ConfigNote& note : question.notes) {
    const auto other = bytes_otherwise(note, question);
    if (other && format_cache(*other) == format_cache(question.bytes())) continue;
    question.caveats.push_back(
        core::make_caveat("calc.kv-config-assumed", note.text,
                          other ? fmt::format("a request has {} here, {} if it is otherwise",
                                              format_cache(question.bytes()), format_cache(*other))
                                : "the bytes may be others",
                          note.is_limit));
  }
}

}  // namespace

core::Result<KvQuestion> KvRequest::question() {
  KvQuestion question;
  if (const auto taken = take_model(question); !taken) return taken.error();
  if (tokens_ < 1 || tokens_ > kMostTokens)
    return input_error(fmt::format("--tokens {} is outside 1 to {}", tokens_, kMostTokens));
  if (merge_ < 1 || merge_ > kMostMerge)
    return input_error(fmt::format("--merge {} is outside 1 to {}", merge_, kMostMerge));
  question.tokens = tokens_;
  constexpr double kMostBytes = 1e15;
  if (question.bytes().count() > kMostBytes)
    return input_error(fmt::format("{} tokens of {} are {}, expected less than 1 PB", tokens_,
                                   question.cache.shape.name,
                                   core::format_bytes(question.bytes())));
  say_notes(question);
  question.merge = merge_;
  if (pp_ < 1 || pp_ > question.cache.shape.layers)
    return input_error(fmt::format("--pp {} is outside 1 to the {} layers of {}", pp_,
                                   question.cache.shape.layers, question.cache.shape.name));
  question.pp = pp_;
  auto move = model::kv_move(question.cache, tp_, decode_tp_.value_or(tp_));
  if (!move) return move.error();
  question.move = *move;
  if (const auto taken = take_path(question); !taken) return taken.error();
  if (const auto taken = take_times(question); !taken) return taken.error();
  if (const auto file = catalog_.input()) question.inputs.push_back(*file);
  return question;
}

}  // namespace comm_probe::cli
