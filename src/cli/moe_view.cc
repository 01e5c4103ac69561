#include "cli/moe_view.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/decimal_bytes.h"
#include "core/finding_table.h"
#include "core/units.h"
#include "model/moe/deepep.h"
#include "model/moe/stacks.h"

namespace comm_probe::cli {
namespace {

using core::format_bandwidth;
using core::format_duration;
using core::format_number;
using core::format_percent;
using model::MoeLayer;
using model::MoeScheme;
using model::MoeTransfer;
using Align = core::Column::Align;

std::string copy_text(int hidden, model::MoeFormat format) {
  const core::Bytes bytes = model::copy_bytes(hidden, format);
  if (format == model::MoeFormat::kBf16) return fmt::format("{} B (bf16)", bytes.whole());
  return fmt::format("{} B (fp8: {} + {} of scales)", bytes.whole(), hidden,
                     bytes.whole() - static_cast<std::uint64_t>(hidden));
}

std::string links_text(const MoeQuestion& question) {
  std::string text;
  if (question.layer.nodes > 1)
    text = fmt::format("NIC {} ({}: {})", format_bandwidth(question.links.nic),
                       basis_name(question.nic.basis), question.nic.text);
  if (question.layer.ranks_per_node > 1)
    text += fmt::format("{}{} {} ({}: {})", text.empty() ? "" : ", ", question.peer_link,
                        format_bandwidth(question.links.nvlink), basis_name(question.nvlink.basis),
                        question.nvlink.text);
  text += "; ";
  return text + (question.has_alpha ? fmt::format("alpha {} (assumed: given on the command line)",
                                                  format_duration(question.links.alpha))
                                    : "alpha 0: bytes alone, --alpha adds a fixed cost");
}

// Where a machine has two sizes of a node, which one was taken.
std::string node_text(const MoeQuestion& question) {
  const int ranks = question.layer.ranks_per_node;
  if (question.nodes_are_domains())
    return fmt::format(
        "{} ranks of an NVLink domain, over {} hosts of {} GPUs: their bytes stay off the NIC "
        "(kernels that map one host's memory only: --gpus-per-node {})",
        ranks, question.sizes->hosts_for(ranks), question.sizes->host, question.sizes->host);
  return fmt::format("{} ranks of one host; {}: up to {} ranks per node stay off the NIC", ranks,
                     catalog::domain_text(*question.sizes), question.sizes->domain);
}

core::KeyValues inputs(const MoeQuestion& question) {
  const MoeLayer& layer = question.layer;
  const core::Bytes dispatch = model::copy_bytes(layer.hidden, layer.dispatch);
  const core::Bytes combine = model::copy_bytes(layer.hidden, layer.combine);
  core::KeyValues pairs{
      {{"one copy", fmt::format("dispatch {}, combine {}", copy_text(layer.hidden, layer.dispatch),
                                copy_text(layer.hidden, layer.combine))},
       {"one token",
        fmt::format("{} out, {} back; {} of it leaves the node",
                    decimal_bytes(dispatch * layer.topk), decimal_bytes(combine * layer.topk),
                    format_percent(layer.share_off_node()))},
       {"experts", fmt::format("{}, {} per rank{}", layer.experts, layer.experts / layer.ranks(),
                               question.has_experts ? "" : " (assumed)")},
       {"links", links_text(question)}}};
  if (question.sizes && !question.sizes->are_one())
    pairs.rows.emplace_back("a node", node_text(question));
  return pairs;
}

core::Table schemes_table(const MoeLedger& ledger) {
  core::Table table{{{"scheme", Align::kLeft},
                     {"copies"},
                     {"dispatch"},
                     {"time"},
                     {"combine"},
                     {"time"},
                     {"layer"},
                     {"distinct: copies"},
                     {"layer"}},
                    {}};
  for (const MoeLedger::Scheme& scheme : ledger.schemes) {
    const model::MoePrice& price = scheme.independent;
    table.rows.push_back(
        {scheme_text(ledger.question.layer, price.scheme), fmt::format("{:.3f}", price.copies.nic),
         decimal_bytes(price.dispatch.nic), format_duration(price.dispatch.time()),
         decimal_bytes(price.combine.nic), format_duration(price.combine.time()),
         format_duration(price.time()), fmt::format("{:.3f}", scheme.distinct.copies.nic),
         format_duration(scheme.distinct.time())});
  }
  return table;
}

std::string limit_text(const MoeTransfer& transfer, const MoeQuestion& question) {
  return transfer.is_nic_bound() ? "NIC" : question.peer_link;
}

core::Table nvlink_table(const MoeLedger& ledger) {
  core::Table table{{{"scheme", Align::kLeft},
                     {"copies"},
                     {"dispatch"},
                     {"time"},
                     {"combine"},
                     {"time"},
                     {"slower is", Align::kLeft}},
                    {}};
  for (const MoeLedger::Scheme& scheme : ledger.schemes) {
    const model::MoePrice& price = scheme.independent;
    table.rows.push_back(
        {scheme_text(ledger.question.layer, price.scheme),
         fmt::format("{:.3f}", price.copies.nvlink), decimal_bytes(price.dispatch.nvlink),
         format_duration(price.dispatch.nvlink_time), decimal_bytes(price.combine.nvlink),
         format_duration(price.combine.nvlink_time),
         fmt::format("{}, {}", limit_text(price.dispatch, ledger.question),
                     limit_text(price.combine, ledger.question))});
  }
  return table;
}

std::string poster_text(const model::MoePoster& poster, const model::LowLatencyPrice& price) {
  const auto time = [&price](double rate) {
    return core::Duration::from_us(price.messages.remote / rate);
  };
  const core::Duration bytes = price.dispatch.nic_time;
  if (poster.low == poster.high)
    return fmt::format("{} remote per us and more ({}: {}): {}", format_number(poster.low, 3),
                       basis_name(poster.basis), poster.source,
                       bytes >= time(poster.low)
                           ? fmt::format("the {} of the bytes set the pace", format_duration(bytes))
                           : fmt::format("at most {}", format_duration(time(poster.low))));
  const char* verdict = time(poster.high) > bytes
                            ? "more than the bytes take: it would set the pace"
                        : time(poster.low) > bytes ? "the bytes lie between: it may set the pace"
                                                   : "less than the bytes take";
  return fmt::format("posts {} to {} per us ({}): {} to {}, {}", format_number(poster.low),
                     format_number(poster.high), basis_name(poster.basis),
                     format_duration(time(poster.high)), format_duration(time(poster.low)),
                     verdict);
}

// What its kernels take beside their bytes, where no alpha was given.
std::string with_deepep_alpha(const model::LowLatencyPrice& price, int nodes) {
  constexpr int kSeenNodes = 8;
  const auto alpha = [](std::string_view name) {
    return core::Duration::from_us(model::moe_constant(name).value);
  };
  const core::Duration dispatch = alpha("dispatch alpha"), combine = alpha("combine alpha");
  return fmt::format("with its fixed cost of {} and {} (read: README of pplx-garden{}): {} and {}",
                     format_duration(dispatch), format_duration(combine),
                     nodes == 1 ? "; seen on 2 to 8 nodes"
                     : nodes <= kSeenNodes
                         ? ""
                         : "; seen on 2 to 8 nodes, DeepEP's own table leaves 47 to "
                           "94 us on 16 and 32",
                     format_duration(price.dispatch.time() + dispatch),
                     format_duration(price.combine.time() + combine));
}

core::KeyValues messages(const MoeLedger& ledger) {
  const model::LowLatencyPrice& price = ledger.low_latency;
  core::KeyValues pairs;
  pairs.rows = {
      {"messages",
       fmt::format("{} per rank and direction, {} to other nodes; dispatch {} B with header, "
                   "combine {} B",
                   format_number(price.messages.all, 9),
                   format_number(std::round(price.messages.remote), 9), price.dispatch.copy.whole(),
                   price.combine.copy.whole())},
      {"time",
       fmt::format("dispatch {}, combine {}, layer {}", format_duration(price.dispatch.time()),
                   format_duration(price.combine.time()), format_duration(price.time()))}};
  const std::string& no_deepep = ledger.question.no_deepep;
  if (!no_deepep.empty()) pairs.rows.emplace_back("DeepEP", "not here: " + no_deepep);
  if (!ledger.question.has_alpha && no_deepep.empty())
    pairs.rows.emplace_back("as DeepEP", with_deepep_alpha(price, ledger.question.layer.nodes));
  if (price.messages.remote <= 0) return pairs;
  pairs.rows.emplace_back(
      "needed",
      fmt::format(
          "{} messages per us (remote: {}) to be posted in the time of dispatch",
          format_number(needed_rate(ledger), 3),
          format_number(model::issue_rate(price.messages.remote, price.dispatch.time()), 3)));
  for (const model::MoePoster& poster : model::moe_posters())
    if (no_deepep.empty() || poster.name != model::ibgda().name)
      pairs.rows.emplace_back(poster.name, poster_text(poster, price));
  return pairs;
}

void add_stacks(const MoeLedger& ledger, const char* framework, const MoeLayer& layer,
                std::span<const model::MoeStack> stacks, core::Table& table) {
  const model::MoeLinks& links = ledger.question.links;
  for (const model::MoeStack& stack : stacks) {
    const Presence presence = presence_of(stack, ledger.question);
    if (presence != Presence::kHere)
      table.rows.push_back({framework, std::string(stack.name),
                            presence == Presence::kNotHere ? "not here" : "not known", "-", "-",
                            "-"});
    if (presence != Presence::kHere || !stack.is_priced(layer)) continue;
    const auto price = model::price_pattern(layer, links, *stack.pattern);
    table.rows.push_back({framework, std::string(stack.name), pattern_name(*stack.pattern),
                          decimal_bytes(price.dispatch.nic), decimal_bytes(price.dispatch.nvlink),
                          format_duration(price.time())});
  }
}

core::Table stacks_table(const MoeLedger& ledger) {
  core::Table table{{{"framework", Align::kLeft},
                     {"setting", Align::kLeft},
                     {"is", Align::kLeft},
                     {"dispatch: NIC"},
                     {ledger.question.peer_link},
                     {"layer"}},
                    {}};
  add_stacks(ledger, "Megatron", model::megatron_layer(ledger.question.layer),
             model::megatron_dispatchers(), table);
  add_stacks(ledger, "vLLM", ledger.question.layer, model::vllm_backends(), table);
  return table;
}

core::KeyValues stack_notes() {
  core::KeyValues pairs;
  for (const auto stacks : {model::megatron_dispatchers(), model::vllm_backends()})
    for (const model::MoeStack& stack : stacks) pairs.rows.emplace_back(stack.name, stack.note);
  return pairs;
}

std::string normal_text(const MoeLayer& layer) {
  const std::string sms = fmt::format("{} SMs by default, {} channels", model::kDeepEpSms,
                                      model::deepep_channels(model::kDeepEpSms));
  if (layer.ranks_per_node > model::kDeepEpPeers)
    return fmt::format("not here: its NVLink groups hold {} ranks, a node has {}",
                       model::kDeepEpPeers, layer.ranks_per_node);
  const auto config = model::deepep_config(layer.ranks());
  if (!config) return sms + fmt::format("; no configuration for {} ranks", layer.ranks());
  const auto buffers = model::deepep_buffers(*config, layer.hidden, model::kDeepEpSms);
  return sms + fmt::format("; buffers {} for NVLink, {} for RDMA", decimal_bytes(buffers.nvlink),
                           decimal_bytes(buffers.rdma));
}

std::string low_latency_text(const MoeLayer& layer) {
  if (layer.tokens > model::kLowLatencyTokens)
    return fmt::format("not for {} tokens per rank, it takes about {}", layer.tokens,
                       model::kLowLatencyTokens);
  return fmt::format(
      "no SM between its two halves, {} of buffers per rank, {} queue pair{} to "
      "each peer",
      decimal_bytes(model::low_latency_buffer(layer)), layer.experts / layer.ranks(),
      layer.experts == layer.ranks() ? "" : "s");
}

core::KeyValues deepep(const MoeQuestion& question) {
  if (!question.no_deepep.empty()) return {{{"not here", question.no_deepep}}};
  const MoeLayer& layer = question.layer;
  core::KeyValues pairs;
  pairs.rows = {{"normal", normal_text(layer)}, {"low latency", low_latency_text(layer)}};
  for (const model::DeepEpSetting& setting : model::deepep_settings())
    if (setting.name == "NVSHMEM_IB_ENABLE_IBGDA")
      pairs.rows.emplace_back("sets",
                              fmt::format("{}={}: {}", setting.name, setting.value, setting.why));
  return pairs;
}

}  // namespace

std::string scheme_text(const MoeLayer& layer, MoeScheme scheme) {
  return scheme == MoeScheme::kGroup ? fmt::format("group of {}", layer.group_limit)
                                     : scheme_name(scheme);
}

Presence presence_of(const model::MoeStack& stack, const MoeQuestion& question) {
  const bool is_amd = question.peer_link == kXgmi;
  const bool has_nvlink = question.peer_link.find("NVLink") != std::string::npos;
  if (!stack.fits(question.layer)) return Presence::kNotHere;
  if (stack.name == "mori") return is_amd ? Presence::kNotKnown : Presence::kNotHere;
  if (stack.name == "deepep_v2" || stack.name == "flex")
    return has_nvlink ? Presence::kHere : Presence::kNotKnown;
  if (stack.name.starts_with("deepep"))
    return question.no_deepep.empty() ? Presence::kHere : Presence::kNotHere;
  if (stack.name.starts_with("flashinfer_nvlink") && !has_nvlink) return Presence::kNotHere;
  if (stack.name == "nixl_ep" && !question.no_deepep.empty()) return Presence::kNotKnown;
  return stack.pattern ? Presence::kHere : Presence::kNotKnown;
}

std::vector<core::Caveat> moe_caveats(const MoeQuestion& question) {
  if (!question.shares_pcie) return {};
  return {core::make_caveat(
      "calc.moe-shared-pcie", "the GPUs have no NVLink: their copies share PCIe with the NIC",
      "a time can be as long as that of the NIC and that of PCIe together", false)};
}

double needed_rate(const MoeLedger& ledger) {
  return model::issue_rate(ledger.low_latency.messages.all, ledger.low_latency.dispatch.time());
}

MoeLedger price_ledger(const MoeQuestion& question) {
  MoeLedger ledger{.question = question};
  for (const MoeScheme scheme : model::kAllMoeSchemes) {
    if (scheme == MoeScheme::kGroup && question.layer.group_limit == 0) continue;
    const auto priced = [&](model::MoeDraw draw) {
      return model::price_moe(question.layer, question.links, scheme, draw);
    };
    ledger.schemes.push_back(
        {priced(model::MoeDraw::kIndependent), priced(model::MoeDraw::kDistinct)});
  }
  ledger.low_latency = model::price_low_latency(question.layer, question.links);
  return ledger;
}

std::string moe_sentence(const MoeLedger& ledger) {
  const MoeLayer& layer = ledger.question.layer;
  std::string text = fmt::format(
      "EP{} on {} node{}, {} tokens per rank, top-{} of {}:", layer.ranks(), layer.nodes,
      layer.nodes == 1 ? "" : "s", layer.tokens, layer.topk, layer.experts);
  const char* comma = " ";
  for (const MoeLedger::Scheme& scheme : ledger.schemes) {
    text += fmt::format("{}{} {}", comma, scheme_text(layer, scheme.independent.scheme),
                        format_duration(scheme.independent.time()));
    comma = ", ";
  }
  return text + " per layer";
}

std::vector<core::Block> moe_blocks(const MoeLedger& ledger) {
  std::vector<core::Block> blocks = {inputs(ledger.question)};
  if (ledger.question.layer.nodes > 1) {
    blocks.emplace_back(core::Heading{"On the NIC of a rank"});
    blocks.emplace_back(schemes_table(ledger));
  }
  blocks.emplace_back(core::Heading{fmt::format("On its {} meanwhile", ledger.question.peer_link)});
  blocks.emplace_back(nvlink_table(ledger));
  blocks.emplace_back(core::Heading{"As messages: one per token and expert (low latency)"});
  blocks.emplace_back(messages(ledger));
  blocks.emplace_back(core::Heading{"What frameworks send"});
  blocks.emplace_back(stacks_table(ledger));
  blocks.emplace_back(core::Heading{"DeepEP V1 (read: its docs/legacy.md and config.hpp)"});
  blocks.emplace_back(deepep(ledger.question));
  return blocks;
}

std::vector<core::Block> moe_details() {
  std::vector<core::Block> blocks = {core::Heading{"Settings of the frameworks"}, stack_notes()};
  core::KeyValues settings, constants;
  for (const model::DeepEpSetting& setting : model::deepep_settings())
    settings.rows.emplace_back(fmt::format("{}={}", setting.name, setting.value), setting.why);
  for (const model::MoePoster& poster : model::moe_posters())
    constants.rows.emplace_back(poster.name, fmt::format("{} ({}: {})", poster.what,
                                                         basis_name(poster.basis), poster.source));
  for (const model::DeviceInitiated& one : model::device_initiated())
    constants.rows.emplace_back(
        fmt::format("{} {}", one.library, one.name),
        fmt::format("kernels post by themselves, since {} {}", one.library, one.since));
  blocks.emplace_back(core::Heading{"What DeepEP sets"});
  blocks.emplace_back(settings);
  blocks.emplace_back(core::Heading{"Who posts messages"});
  blocks.emplace_back(constants);
  return blocks;
}

}  // namespace comm_probe::cli
