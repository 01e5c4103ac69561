#include "cli/kv_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/model_shapes_view.h"
#include "core/units.h"
#include "model/rdma.h"

namespace comm_probe::cli {
namespace {

using core::Bytes;
using core::format_bandwidth;
using core::format_duration;
using core::format_percent;
using core::Json;
using core::json_bytes;
using core::json_number;

std::string basis_text(core::Basis basis, const std::string& source) {
  return fmt::format("({}: {})", basis_name(basis), source);
}

// A constant of the model: who says it.
std::string assumed(std::string_view constant) {
  return basis_text(core::Basis::kAssumed, std::string(model::kv_constant(constant).source));
}

std::string count_of(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// What a person would multiply: "2 (K, V) x 80 layers x 8 heads x 128 x 2 B".
std::string factors(const KvQuestion& question) {
  const catalog::ModelShape& shape = question.cache.shape;
  if (question.cache.type == model::KvType::kFp8DsMla)
    return fmt::format("{} layers x {} B (latent in fp8, its scales, rope part in bf16)",
                       shape.layers, question.cache.per_token_layer().whole());
  if (shape.is_mla())
    return fmt::format("{} layers x ({} + {}) x {} B: one latent vector for all heads",
                       shape.layers, shape.kv_lora_rank, shape.rope_dim,
                       question.cache.per_token_layer().whole() /
                           static_cast<std::uint64_t>(shape.kv_lora_rank + shape.rope_dim));
  const auto item =
      question.cache.per_token_layer().count() / (2.0 * shape.kv_heads * shape.head_dim);
  return fmt::format("2 (K, V) x {} layers x {} heads x {} x {:g} B", shape.layers, shape.kv_heads,
                     shape.head_dim, item);
}

Json move_json(const KvQuestion& question) {
  const model::KvMove& move = question.move;
  return {{"prefill_tp", move.prefill_tp},
          {"decode_tp", move.decode_tp},
          {"sources_per_decode_rank", move.sources},
          {"bytes_into_decode_rank", json_bytes(question.on_stage() * move.in_share)},
          {"bytes_out_of_prefill_rank", json_bytes(question.on_stage() * move.out_share)},
          {"copies", json_number(move.total)},
          {"descriptors", question.descriptors()},
          {"bytes_per_descriptor", json_number(question.on_stage().count() * move.in_share /
                                               static_cast<double>(question.descriptors()))}};
}

Json sourced_json(double value, core::Basis basis, const std::string& source) {
  return {{"value", json_number(value)}, {"basis", basis_name(basis)}, {"source", source}};
}

Json term_json(const char* name, core::Duration time, core::Basis basis,
               const std::string& source) {
  return {{"name", name},
          {"time_us", json_number(time.in_us())},
          {"basis", basis_name(basis)},
          {"source", source}};
}

Json time_json(const KvQuestion& question) {
  const model::KvTime time = question.time();
  Json json = {{"rate_GBps", json_number(question.rate.value.in_GBps())},
               {"path", question.path.empty() ? Json() : Json(question.path)},
               {"basis", basis_name(question.rate.basis)},
               {"source", question.rate.source},
               {"bandwidth_us", json_number(time.bandwidth.in_us())},
               {"posting_us", json_number(time.posting.in_us())},
               {"fixed_us", json_number(time.fixed.in_us())},
               {"time_us", json_number(time.total().in_us())},
               {"ledger", time.is_descriptor_bound() ? "latency" : "bandwidth"}};
  json["terms"] = {
      term_json("bytes over the NIC", time.bandwidth, question.rate.basis, question.rate.source),
      term_json("posting", time.posting, core::Basis::kAssumed,
                std::string(model::kv_constant("posting").source)),
      term_json("fixed", time.fixed, core::Basis::kAssumed,
                std::string(model::kv_constant("fixed").source))};
  return json;
}

const model::RdmaFigure& registration() {
  return *std::find_if(
      model::rdma_figures().begin(), model::rdma_figures().end(),
      [](const model::RdmaFigure& figure) { return figure.name.starts_with("registration"); });
}

// One rank's part, registered for this request alone.
std::pair<core::Duration, core::Duration> registration_of(const KvQuestion& question) {
  const double gigabytes = question.on_stage().count() * question.move.in_share / 1e9;
  return {core::Duration::from_ms(registration().low * gigabytes),
          core::Duration::from_ms(registration().high * gigabytes)};
}

// Of one token more: its bytes and its share of the descriptors.
core::Duration move_per_token(const KvQuestion& question) {
  const model::KvTime time = question.time();
  return (time.total() - time.fixed) / static_cast<double>(question.tokens);
}

// In the mean of this prompt: with attention a longer one has more.
core::Duration per_token(const model::PromptCompute& compute, const KvQuestion& question) {
  return compute.time(question.tokens) / static_cast<double>(question.tokens);
}

Json against_json(const KvQuestion& question) {
  const core::Duration move = move_per_token(question);
  Json json = {
      {"move_us_per_token", json_number(move.in_us())},
      {"decode_step_us",
       sourced_json(question.step.value.in_us(), question.step.basis, question.step.source)},
      {"transfer_over_decode_step", json_number(question.time().total() / question.step.value)},
      {"tokens_in_decode_step", model::tokens_in_step(question.prompt(), question.step.value)}};
  json["prefill_us_per_token"] = Json();
  json["break_even_tokens"] = Json();
  if (!question.prefill) return json;
  const auto& [compute, basis, source] = *question.prefill;
  const core::Duration prefill = compute.time(question.tokens);
  json["prefill_us_per_token"] = sourced_json(per_token(compute, question).in_us(), basis, source);
  json["prefill_us"] = json_number(prefill.in_us());
  json["prefill_attention_us"] = json_number(compute.attention(question.tokens).in_us());
  json["transfer_over_prefill"] = json_number(question.time().total() / prefill);
  const core::Sourced<model::PromptCompute>& again = *question.recompute;
  json["recompute_us_per_token"] =
      sourced_json(per_token(again.value, question).in_us(), again.basis, again.source);
  if (const auto tokens = model::break_even_tokens(question.prompt(), again.value))
    json["break_even_tokens"] = *tokens;
  return json;
}

Json paths_json(const KvQuestion& question) {
  Json json = Json::array();
  const Bytes bytes = question.on_stage() * question.move.busiest();
  for (const model::PathLedger& ledger : question.paths)
    json.push_back({{"path", data_path_name(ledger.counts.path)},
                    {"ceiling_GBps", json_number(ledger.effective().in_GBps())},
                    {"limited_by", ledger.limit().name},
                    {"bandwidth_us", json_number((bytes / ledger.effective()).in_us())},
                    {"basis", "computed"}});
  return json;
}

Json constants_json() {
  Json json = Json::array();
  for (const model::KvConstant& constant : model::kv_constants())
    json.push_back({{"name", constant.name},
                    {"value", json_number(constant.value)},
                    {"unit", constant.unit},
                    {"applies_when", constant.applies_when},
                    {"source", constant.source}});
  return json;
}

model::KvCache without_windows(model::KvCache cache) {
  cache.shape.window_layers = 0;
  return cache;
}

Json kv_json(const KvQuestion& question) {
  const model::KvCache& cache = question.cache;
  Json json = {{"model", shape_json(cache.shape, question.basis)},
               {"dtype", question.type_name},
               {"block_tokens", cache.block},
               {"tokens", question.tokens},
               {"bytes_per_token_and_layer", json_bytes(cache.per_token_layer())},
               {"bytes_per_token", json_bytes(cache.per_token())},
               {"bytes_per_request", json_bytes(question.bytes())},
               {"bytes_without_windows",
                json_bytes(model::kv_bytes(without_windows(cache), question.tokens))},
               {"tp", question.move.prefill_tp},
               {"pp", question.pp},
               {"layers_per_stage", model::kv_stage(cache, question.pp).shape.layers},
               {"bytes_per_rank",
                json_bytes(question.on_stage() * model::kv_share(cache, question.move.prefill_tp))},
               {"move", move_json(question)}};
  const auto [low, high] = registration_of(question);
  json["registration_us"] = {{"low", json_number(low.in_us())},
                             {"high", json_number(high.in_us())},
                             {"basis", "assumed"},
                             {"source", registration().source}};
  json["transfer"] = question.nic ? time_json(question) : Json();
  json["against"] = question.nic ? against_json(question) : Json();
  json["paths"] = paths_json(question);
  json["constants"] = constants_json();
  json["basis"] = "computed";
  return json;
}

std::string ranks_text(const KvQuestion& question, int tp) {
  const catalog::ModelShape& shape = question.cache.shape;
  const Bytes bytes = question.on_stage() * model::kv_share(question.cache, tp);
  std::string text = fmt::format("{} on each of {}", format_cache(bytes),
                                 count_of(static_cast<std::uint64_t>(tp), "rank"));
  if (tp == 1) return text;
  if (shape.is_mla()) return text + ": MLA is not split, every rank holds all of it";
  if (tp <= shape.kv_heads)
    return text + fmt::format(": {} of {} KV heads", shape.kv_heads / tp, shape.kv_heads);
  return text + fmt::format(": {} KV heads, so {} ranks hold the same one", shape.kv_heads,
                            tp / shape.kv_heads);
}

std::string stages_text(const KvQuestion& question) {
  const int layers = model::kv_stage(question.cache, question.pp).shape.layers;
  return fmt::format(
      "{} stages, at most {} of {} layers on each: {}; every stage moves its own, all "
      "at the same time",
      question.pp, layers, question.cache.shape.layers, format_cache(question.on_stage()));
}

// Layers that all have the window were never collapsed to full ones.
std::string windows_text(const KvQuestion& question) {
  const catalog::ModelShape& shape = question.cache.shape;
  const std::string text = fmt::format("; {} of {} layers keep the last {} tokens only",
                                       shape.window_layers, shape.layers, shape.window);
  if (shape.window_layers == shape.layers) return text;
  return text +
         fmt::format(
             "; {} where the engine keeps all of them, as vLLM did by default with a "
             "KV connector before #41847 of May 2026",
             format_cache(model::kv_bytes(without_windows(question.cache), question.tokens)));
}

std::string move_text(const KvQuestion& question) {
  const model::KvMove& move = question.move;
  std::string text = fmt::format("a decode rank reads {} from {}, a prefill rank sends {}",
                                 format_cache(question.on_stage() * move.in_share),
                                 count_of(static_cast<std::uint64_t>(move.sources), "prefill rank"),
                                 format_cache(question.on_stage() * move.out_share));
  if (move.total > 1)
    text += fmt::format("; every byte crosses the network {:g} times", move.total);
  return text;
}

core::KeyValues cache_rows(const KvQuestion& question) {
  const model::KvCache& cache = question.cache;
  const catalog::ModelShape& shape = cache.shape;
  core::KeyValues rows;
  rows.rows = {
      {"model",
       fmt::format("{}: {} layers, {}, {} {}", shape.name, shape.layers, attention_text(shape),
                   question.type_name, basis_text(question.basis, shape.source))},
      {"per token", fmt::format("{} = {}", format_cache(cache.per_token()), factors(question))},
      {"per request",
       fmt::format("{}: {} tokens in {} of {}", format_cache(question.bytes()), question.tokens,
                   count_of((question.tokens + static_cast<std::uint64_t>(cache.block) - 1) /
                                static_cast<std::uint64_t>(cache.block),
                            "block"),
                   cache.block)},
      {"per rank", ranks_text(question, question.move.prefill_tp)}};
  if (question.pp > 1) rows.rows.emplace_back("pipeline", stages_text(question));
  if (shape.window_layers > 0) rows.rows[2].second += windows_text(question);
  if (question.move.decode_tp != question.move.prefill_tp) {
    rows.rows.emplace_back("on decode", ranks_text(question, question.move.decode_tp));
    rows.rows.emplace_back("moved", move_text(question));
  } else if (question.move.total > 1) {
    rows.rows.emplace_back("moved", move_text(question));
  }
  return rows;
}

bool is_posting_known(const KvQuestion& question) {
  return question.path.empty() || question.path == "rdma-gdr";
}

// One descriptor per block: the layers of a stage, those with a window lie apart.
int merge_of_layers(const KvQuestion& question) {
  const catalog::ModelShape stage = model::kv_stage(question.cache, question.pp).shape;
  const int most = std::max(stage.layers - stage.window_layers, stage.window_layers);
  return most * (stage.is_mla() ? 1 : 2);
}

std::string posting_text(const KvQuestion& question) {
  const double each = question.on_stage().count() * question.move.in_share /
                      static_cast<double>(question.descriptors());
  std::string text =
      fmt::format("{} for {} of {} at {:g} us each {}", format_duration(question.time().posting),
                  count_of(question.descriptors(), "descriptor"), format_cache(Bytes::of(each)),
                  model::kv_constant("posting").value, assumed("posting"));
  if (!is_posting_known(question))
    text += fmt::format("; that is of RDMA from GPU memory, what it is over {} is not known",
                        question.path);
  if (each < model::kv_constant("small_descriptor").value)
    text += fmt::format(
        "; below {} each the CPU is the limit: larger blocks, or cross-layer "
        "blocks (--merge {})",
        format_cache(Bytes::of(model::kv_constant("small_descriptor").value)),
        merge_of_layers(question));
  return text;
}

std::string prefill_text(const KvQuestion& question) {
  if (!question.prefill && !question.no_prefill.empty()) return question.no_prefill;
  if (!question.prefill) return "give --prefill-rate TOKENS/S, or --gpu, to compare with it";
  const core::Duration all = question.prefill->value.time(question.tokens);
  const core::Duration attention = question.prefill->value.attention(question.tokens);
  const double share = question.time().total() / all;
  return fmt::format(
      "{} {}{}: the transfer is {} of it{}", format_duration(all),
      basis_text(question.prefill->basis, question.prefill->source),
      attention > core::Duration() ? ", " + format_duration(attention) + " of it attention" : "",
      format_percent(share),
      share > model::kv_constant("overlap_worth").value ? "; worth sending layer by layer behind it"
                                                        : "; no need to hide it");
}

std::string break_even_text(const KvQuestion& question) {
  const core::Duration move = move_per_token(question);
  const core::Duration compute = per_token(question.recompute->value, question);
  const auto tokens = model::break_even_tokens(question.prompt(), question.recompute->value);
  const std::string side =
      fmt::format("on the decode side ({})",
                  count_of(static_cast<std::uint64_t>(question.move.decode_tp), "rank"));
  const core::Duration pass = question.recompute->value.least;
  const std::uint64_t below = model::tokens_in_step(question.prompt(), pass);
  const std::string short_ones =
      pass > core::Duration() && below > 0 && tokens.value_or(2) > 1
          ? fmt::format(
                "; up to {} too: no pass is shorter than the {} that reading its weights "
                "takes",
                count_of(below, "token"), format_duration(pass))
          : "";
  if (!tokens)
    return fmt::format("never: a token moves in {}{} and is computed again {} in {}{}",
                       format_duration(move),
                       is_posting_known(question) ? "" : " (if posting is as over RDMA)", side,
                       format_duration(compute), short_ones);
  return fmt::format(
      "from {} on moving the cache beats computing it again {} (of {} tokens: {} against {} per "
      "token, {} once){}",
      count_of(*tokens, "token"), side, question.tokens, format_duration(move),
      format_duration(compute), format_duration(question.time().fixed), short_ones);
}

core::KeyValues time_rows(const KvQuestion& question) {
  const model::KvTime time = question.time();
  core::KeyValues rows;
  rows.rows = {
      {"bytes", fmt::format("{} for {} at {} {}", format_duration(time.bandwidth),
                            format_cache(question.on_stage() * question.move.busiest()),
                            format_bandwidth(question.rate.value),
                            basis_text(question.rate.basis, question.rate.source))},
      {"posting", posting_text(question)},
      {"fixed", fmt::format("{} {}", format_duration(time.fixed), assumed("fixed"))},
      {"decode step",
       fmt::format(
           "{} {}: the transfer is {} of it; {} fit into one", format_duration(question.step.value),
           basis_text(question.step.basis, question.step.source),
           format_percent(time.total() / question.step.value),
           count_of(model::tokens_in_step(question.prompt(), question.step.value), "token"))},
      {"prefill", prefill_text(question)}};
  if (question.prefill) rows.rows.emplace_back("break-even", break_even_text(question));
  const auto [low, high] = registration_of(question);
  rows.rows.emplace_back(
      "registration",
      fmt::format("{} to {} to register {} {}; so the whole pool is registered once, at start",
                  format_duration(low), format_duration(high),
                  format_cache(question.on_stage() * question.move.in_share),
                  basis_text(core::Basis::kAssumed, std::string(registration().source))));
  return rows;
}

core::Table paths_table(const KvQuestion& question) {
  using Align = core::Column::Align;
  core::Table table{
      {{"path", Align::kLeft}, {"at most"}, {"limited by", Align::kLeft}, {"bytes take"}}, {}};
  const Bytes bytes = question.on_stage() * question.move.busiest();
  for (const model::PathLedger& ledger : question.paths)
    table.rows.push_back({data_path_name(ledger.counts.path), format_bandwidth(ledger.effective()),
                          ledger.limit().name, format_duration(bytes / ledger.effective())});
  return table;
}

std::string sentence(const KvQuestion& question) {
  std::string text =
      fmt::format("KV cache of {}, {}: {}, {} per rank", question.cache.shape.name,
                  count_of(question.tokens, "token"), format_cache(question.bytes()),
                  format_cache(question.on_stage() *
                               model::kv_share(question.cache, question.move.prefill_tp)));
  if (!question.nic) return text;
  const model::KvTime time = question.time();
  return text + fmt::format("; moved in {}, of it {} bytes at {}{}", format_duration(time.total()),
                            format_duration(time.bandwidth), format_bandwidth(question.rate.value),
                            time.is_descriptor_bound() ? ": posting is the limit" : "");
}

}  // namespace

core::Document kv_document(const KvQuestion& question) {
  core::Document document{.command = "calc"};
  document.inputs = question.inputs;
  document.caveats = question.caveats;
  document.result = kv_json(question);
  document.verdict = sentence(question);
  document.body = {cache_rows(question)};
  if (!question.nic) {
    document.body.emplace_back(
        core::Paragraph{"--nic NDR (or a bandwidth) adds the time to move it."});
    return document;
  }
  document.body.emplace_back(core::Heading{"Moving it to the decode side"});
  document.body.emplace_back(time_rows(question));
  if (question.paths.empty()) return document;
  document.body.emplace_back(core::Heading{"The ways from GPU to NIC (computed, as `calc path`)"});
  document.body.emplace_back(paths_table(question));
  return document;
}

}  // namespace comm_probe::cli
