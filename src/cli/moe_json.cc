#include "cli/moe_view.h"
#include "core/json.h"
#include "model/moe/deepep.h"
#include "model/moe/stacks.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using core::json_number;
using model::MoeTransfer;

Json to_json(const MoeTransfer& transfer) {
  return {{"copy_bytes", core::json_bytes(transfer.copy)},
          {"nic_bytes", core::json_bytes(transfer.nic)},
          {"nvlink_bytes", core::json_bytes(transfer.nvlink)},
          {"alpha_us", json_number(transfer.alpha.in_us())},
          {"nic_us", json_number(transfer.nic_time.in_us())},
          {"nvlink_us", json_number(transfer.nvlink_time.in_us())},
          {"time_us", json_number(transfer.time().in_us())},
          {"limited_by", transfer.is_nic_bound() ? "nic" : "nvlink"}};
}

Json to_json(const model::MoePrice& price) {
  return {{"copies_nic", json_number(price.copies.nic)},
          {"copies_nvlink", json_number(price.copies.nvlink)},
          {"nodes_per_token", json_number(price.copies.nodes)},
          {"ranks_per_token", json_number(price.copies.ranks)},
          {"dispatch", to_json(price.dispatch)},
          {"combine", to_json(price.combine)},
          {"time_us", json_number(price.time().in_us())}};
}

Json schemes_json(const MoeLedger& ledger) {
  Json schemes = Json::array();
  for (const MoeLedger::Scheme& scheme : ledger.schemes) {
    Json json = {{"name", scheme_name(scheme.independent.scheme)}};
    json.update(to_json(scheme.independent));
    json["distinct_draw"] = to_json(scheme.distinct);
    schemes.push_back(std::move(json));
  }
  return schemes;
}

Json poster_json(const model::MoePoster& poster, double remote) {
  return {{"name", poster.name},
          {"per_us", {json_number(poster.low), json_number(poster.high)}},
          {"time_us", {json_number(remote / poster.high), json_number(remote / poster.low)}},
          {"basis", basis_name(poster.basis)},
          {"source", poster.source}};
}

Json messages_json(const MoeLedger& ledger) {
  const model::LowLatencyPrice& price = ledger.low_latency;
  Json json = {{"per_rank", json_number(price.messages.all)},
               {"remote", json_number(price.messages.remote)},
               {"dispatch_bytes", core::json_bytes(price.dispatch.copy)},
               {"combine_bytes", core::json_bytes(price.combine.copy)},
               {"dispatch", to_json(price.dispatch)},
               {"combine", to_json(price.combine)},
               {"time_us", json_number(price.time().in_us())},
               {"needed_per_us", json_number(needed_rate(ledger))},
               {"posters", Json::array()}};
  for (const model::MoePoster& poster : model::moe_posters())
    json["posters"].push_back(poster_json(poster, price.messages.remote));
  return json;
}

Json stacks_json(const MoeLedger& ledger, const model::MoeLayer& layer,
                 std::span<const model::MoeStack> stacks) {
  Json all = Json::array();
  for (const model::MoeStack& stack : stacks) {
    Json json = {{"name", stack.name}, {"note", stack.note}};
    if (stack.is_priced(layer) && presence_of(stack, ledger.question) == Presence::kHere) {
      const auto price = model::price_pattern(layer, ledger.question.links, *stack.pattern);
      json.update({{"pattern", pattern_name(*stack.pattern)},
                   {"bytes_per_rank", core::json_bytes(price.dispatch_bytes())},
                   {"dispatch", to_json(price.dispatch)},
                   {"combine", to_json(price.combine)},
                   {"time_us", json_number(price.time().in_us())}});
    }
    all.push_back(std::move(json));
  }
  return all;
}

Json chunks_json(const model::DeepEpChunks& chunks) {
  return {{"nvlink_send", chunks.nvlink_send},
          {"nvlink_receive", chunks.nvlink_receive},
          {"rdma_send", chunks.rdma_send},
          {"rdma_receive", chunks.rdma_receive}};
}

Json deepep_json(const MoeQuestion& question) {
  if (!question.no_deepep.empty()) return {{"not_here", question.no_deepep}};
  const model::MoeLayer& layer = question.layer;
  Json normal = {{"sms", model::kDeepEpSms},
                 {"channels", model::deepep_channels(model::kDeepEpSms)}};
  if (const auto config = model::deepep_config(layer.ranks())) {
    const auto buffers = model::deepep_buffers(*config, layer.hidden, model::kDeepEpSms);
    normal.update({{"dispatch_chunks", chunks_json(config->dispatch)},
                   {"combine_chunks", chunks_json(config->combine)},
                   {"nvlink_buffer_bytes", core::json_bytes(buffers.nvlink)},
                   {"rdma_buffer_bytes", core::json_bytes(buffers.rdma)}});
  }
  Json settings = Json::object();
  for (const model::DeepEpSetting& setting : model::deepep_settings())
    settings[std::string(setting.name)] = setting.value;
  return {{"normal", normal},
          {"low_latency",
           {{"most_tokens_per_rank", model::kLowLatencyTokens},
            {"fits", layer.tokens <= model::kLowLatencyTokens},
            {"buffer_bytes", core::json_bytes(model::low_latency_buffer(layer))},
            {"queue_pairs_per_peer", layer.experts / layer.ranks()},
            {"fits_queue_depth", model::fits_queue(layer.tokens)}}},
          {"settings", settings},
          {"basis", basis_name(core::Basis::kRead)},
          {"source", "DeepEP docs/legacy.md, csrc/legacy/config.hpp"}};
}

Json layer_json(const MoeQuestion& question) {
  const model::MoeLayer& layer = question.layer;
  return {{"hidden", layer.hidden},
          {"topk", layer.topk},
          {"experts", layer.experts},
          {"nodes", layer.nodes},
          {"gpus_per_node", layer.ranks_per_node},
          {"node", !question.sizes                ? Json()
                   : question.nodes_are_domains() ? "nvlink-domain"
                                                  : "host"},
          {"gpus_per_host", question.sizes ? Json(question.sizes->host) : Json()},
          {"ranks", layer.ranks()},
          {"tokens", layer.tokens},
          {"group_limit", layer.group_limit > 0 ? Json(layer.group_limit) : Json()},
          {"dispatch", format_name(layer.dispatch)},
          {"combine", format_name(layer.combine)}};
}

Json links_json(const MoeQuestion& question) {
  return {{"nic_GBps", json_number(question.links.nic.in_GBps())},
          {"nvlink_GBps", json_number(question.links.nvlink.in_GBps())},
          {"alpha_us", json_number(question.links.alpha.in_us())},
          {"nic_basis", basis_name(question.nic.basis)},
          {"nic_source", question.nic.text},
          {"peer_link", question.peer_link},
          {"nvlink_basis", basis_name(question.nvlink.basis)},
          {"nvlink_source", question.nvlink.text},
          {"alpha_source", question.has_alpha ? "given on the command line" : "none given: 0"}};
}

}  // namespace

Json moe_json(const MoeLedger& ledger) {
  const model::MoeLayer& layer = ledger.question.layer;
  const core::Bytes dispatch = model::copy_bytes(layer.hidden, layer.dispatch);
  const core::Bytes combine = model::copy_bytes(layer.hidden, layer.combine);
  const double share = layer.share_off_node();
  return {{"layer", layer_json(ledger.question)},
          {"links", links_json(ledger.question)},
          {"bytes_per_copy",
           {{"dispatch", core::json_bytes(dispatch)}, {"combine", core::json_bytes(combine)}}},
          {"bytes_per_token",
           {{"dispatch", core::json_bytes(dispatch * layer.topk)},
            {"combine", core::json_bytes(combine * layer.topk)}}},
          {"share_off_node", json_number(share)},
          {"flows", {{"per_rank", layer.ranks() - 1}, {"all", layer.flows()}}},
          {"schemes", schemes_json(ledger)},
          {"messages", messages_json(ledger)},
          {"megatron",
           stacks_json(ledger, model::megatron_layer(layer), model::megatron_dispatchers())},
          {"vllm", stacks_json(ledger, layer, model::vllm_backends())},
          {"deepep", deepep_json(ledger.question)},
          {"basis", basis_name(core::Basis::kComputed)}};
}

}  // namespace comm_probe::cli
