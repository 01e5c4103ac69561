#include "model/moe/layer.h"

#include <fmt/format.h>

#include <cmath>

namespace comm_probe::model {
namespace {

using core::input_error;

constexpr int kValuesPerScale = 128;
constexpr int kScaleBytes = 4;
constexpr int kUsualExperts = 256;

// What a command line may ask for; every count stays an int and every sum of bytes below 2^63.
constexpr int kMostHidden = 1 << 17;
constexpr int kMostExperts = (1 << 16) - 1;
constexpr int kMostNodes = 1 << 16;
constexpr int kMostRanksPerNode = 1 << 10;
constexpr std::int64_t kMostTokens = 10'000'000;

core::Result<bool> in_range(const char* what, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return true;
  return input_error(fmt::format("{} {} is outside 1 to {}", what, value, most));
}

core::Result<bool> check_experts(const MoeLayer& layer) {
  if (layer.experts % layer.ranks() != 0)
    return input_error(fmt::format("{} experts do not divide over {} ranks ({} nodes of {})",
                                   layer.experts, layer.ranks(), layer.nodes, layer.ranks_per_node),
                       fmt::format("with redundant ones it is a multiple: --experts {}",
                                   (layer.experts / layer.ranks() + 1) * layer.ranks()));
  const int groups = layer.group_limit > 0 ? layer.group_limit : layer.nodes;
  const std::int64_t reachable = std::int64_t{layer.experts} / layer.nodes * groups;
  if (layer.topk > reachable)
    return input_error(fmt::format("a token wants {} different experts, but {} nodes have {}",
                                   layer.topk, groups, reachable));
  return true;
}

// The share of tokens that miss one of `places`.
double miss_share(int places, int topk, int experts, MoeDraw draw) {
  if (draw == MoeDraw::kIndependent) return std::pow(1 - 1.0 / places, topk);
  const double here = static_cast<double>(experts) / places;
  double miss = 1;
  for (int i = 0; i < topk; ++i) miss *= std::max(0.0, (experts - here - i) / (experts - i));
  return miss;
}

MoeCopies flat_copies(const MoeLayer& layer) {
  const double here = static_cast<double>(layer.topk) / layer.nodes;
  return {.nodes = static_cast<double>(layer.topk),
          .ranks = static_cast<double>(layer.topk),
          .nic = layer.topk * layer.share_off_node(),
          .nvlink = here * (1 - 1.0 / layer.ranks_per_node)};
}

}  // namespace

const char* format_name(MoeFormat format) { return format == MoeFormat::kBf16 ? "bf16" : "fp8"; }

const char* scheme_name(MoeScheme scheme) {
  switch (scheme) {
    case MoeScheme::kFlat:
      return "flat";
    case MoeScheme::kDedup:
      return "dedup";
    case MoeScheme::kGroup:
      return "group";
  }
  return "";
}

core::Result<bool> check_moe(const MoeLayer& layer) {
  const std::tuple<const char*, std::int64_t, std::int64_t> numbers[] = {
      {"hidden size", layer.hidden, kMostHidden},
      {"top-k", layer.topk, kMostExperts},
      {"number of experts", layer.experts, kMostExperts},
      {"number of nodes", layer.nodes, kMostNodes},
      {"number of GPUs per node", layer.ranks_per_node, kMostRanksPerNode},
      {"number of tokens", layer.tokens, kMostTokens}};
  for (const auto& [what, value, most] : numbers)
    if (auto checked = in_range(what, value, most); !checked) return checked;
  if (layer.group_limit < 0 || layer.group_limit > layer.nodes)
    return input_error(
        fmt::format("group limit {} is outside 1 to {} nodes", layer.group_limit, layer.nodes));
  return check_experts(layer);
}

int usual_experts(std::int64_t ranks) {
  if (ranks < 1 || ranks > kMostExperts) return kUsualExperts;
  return static_cast<int>((kUsualExperts + ranks - 1) / ranks * ranks);
}

core::Bytes copy_bytes(int hidden, MoeFormat format) {
  if (format == MoeFormat::kBf16) return core::Bytes::of(2.0 * hidden);
  const int scales = (hidden + kValuesPerScale - 1) / kValuesPerScale;
  return core::Bytes::of(1.0 * hidden + kScaleBytes * scales);
}

double distinct_places(int places, int topk, int experts, MoeDraw draw) {
  return places * (1 - miss_share(places, topk, experts, draw));
}

MoeCopies moe_copies(const MoeLayer& layer, MoeScheme scheme, MoeDraw draw) {
  if (scheme == MoeScheme::kFlat) return flat_copies(layer);
  const bool limited = scheme == MoeScheme::kGroup && layer.group_limit > 0;
  const int nodes = limited ? layer.group_limit : layer.nodes;
  const int experts = layer.experts / layer.nodes * nodes;  // among which a token draws
  MoeCopies copies;
  copies.nodes = distinct_places(nodes, layer.topk, experts, draw);
  copies.ranks = distinct_places(nodes * layer.ranks_per_node, layer.topk, experts, draw);
  copies.nic = copies.nodes * layer.share_off_node();
  copies.nvlink = copies.ranks * (1 - 1.0 / layer.ranks_per_node);
  return copies;
}

MoeTransfer moe_transfer(core::Bytes copy, core::Bytes nic, core::Bytes nvlink,
                         const MoeLinks& links) {
  MoeTransfer transfer{.copy = copy, .nic = nic, .nvlink = nvlink, .alpha = links.alpha};
  if (nic.count() > 0) transfer.nic_time = nic / links.nic;
  if (nvlink.count() > 0) transfer.nvlink_time = nvlink / links.nvlink;
  return transfer;
}

MoePrice price_moe(const MoeLayer& layer, const MoeLinks& links, MoeScheme scheme, MoeDraw draw) {
  MoePrice price{.scheme = scheme, .draw = draw, .copies = moe_copies(layer, scheme, draw)};
  const auto priced = [&](MoeFormat format) {
    const core::Bytes copy = copy_bytes(layer.hidden, format);
    const core::Bytes sent = copy * static_cast<double>(layer.tokens);
    return moe_transfer(copy, sent * price.copies.nic, sent * price.copies.nvlink, links);
  };
  price.dispatch = priced(layer.dispatch);
  price.combine = priced(layer.combine);
  return price;
}

}  // namespace comm_probe::model
