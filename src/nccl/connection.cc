#include "nccl/connection.h"

#include <algorithm>
#include <bit>

namespace comm_probe::nccl {
namespace {

int ranks_of(const Graphs& graphs) {
  return static_cast<int>(graphs.ring.channels.front().ranks.size());
}

const std::vector<int>& ranks_of(const Graph& graph, int channel) {
  return graph.channels[static_cast<std::size_t>(channel)].ranks;
}

// In the first free place; a missing child takes none.
template <std::size_t kPlaces>
void append_to(std::array<int, kPlaces>& down, int child) {
  const auto open = std::find(down.begin(), down.end(), -1);
  if (child >= 0 && open != down.end()) *open = child;
}

}  // namespace

Connection::Connection(std::vector<Graphs> domains, int hosts)
    : domains_(std::move(domains)), hosts_(hosts) {
  search_channels_ = domains_.front().ring.traits.n_channels;
  for (const Graphs& graphs : domains_) {
    ranks_per_host_ += ranks_of(graphs);
    search_channels_ =
        std::min({search_channels_, graphs.ring.traits.n_channels, graphs.tree.traits.n_channels});
  }
}

int Connection::most_local_ranks() const {
  int most = 0;
  for (const Graphs& graphs : domains_) most = std::max(most, ranks_of(graphs));
  return most;
}

int Connection::least_local_ranks() const {
  int least = ranks_per_host_;
  for (const Graphs& graphs : domains_) least = std::min(least, ranks_of(graphs));
  return least;
}

std::vector<int> Connection::ring(int search_channel) const {
  std::vector<int> order;
  order.reserve(static_cast<std::size_t>(ranks()));
  for (int node = 0; node < nodes(); ++node) {
    const Graph& ring = graphs(node).ring;
    const bool is_swapped =
        ring.traits.cross_nic == 2 && search_channels_ % 2 == 0 && node % 2 == 1;
    const int first = first_rank_of_host(node);
    for (const int rank : ranks_of(ring, is_swapped ? search_channel ^ 1 : search_channel))
      order.push_back(first + rank);
  }
  std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
  return order;
}

Connection::TreeEnds Connection::tree_ends(int node, int search_channel) const {
  const Graph& tree = graphs(node).tree;
  const std::vector<int>& ranks = ranks_of(tree, search_channel);
  const int first = first_rank_of_host(node);
  const int one = first + ranks.front();
  const int other = ranks.size() > 1 ? first + ranks[1] : one;
  const Pattern pattern = tree.traits.pattern;
  return {.to_parent = one,
          .to_child = {pattern == Pattern::kTree ? one : other,
                       pattern == Pattern::kSplitTree ? other : one}};
}

void Connection::add_chain(int node, int search_channel, std::vector<TreeLinks>& links) const {
  const int first = first_rank_of_host(node);
  int above = -1;
  for (const int local : ranks_of(graphs(node).tree, search_channel)) {
    const int rank = first + local;
    links[static_cast<std::size_t>(rank)].up = above;
    if (above >= 0) links[static_cast<std::size_t>(above)].down[0] = rank;
    above = rank;
  }
}

void Connection::join_to_nodes(int node, ChannelSource source,
                               std::vector<TreeLinks>& links) const {
  const NodeTree tree = node_tree(nodes(), node, source.half);
  const TreeEnds own = tree_ends(node, source.search);
  if (tree.up >= 0) {
    const TreeEnds parent = tree_ends(tree.up, source.search);
    links[static_cast<std::size_t>(own.to_parent)].up =
        parent.to_child[static_cast<std::size_t>(tree.place_at_parent)];
  }
  for (const std::size_t place : {0, 1}) {
    if (tree.down[place] < 0) continue;
    append_to(links[static_cast<std::size_t>(own.to_child[place])].down,
              tree_ends(tree.down[place], source.search).to_parent);
  }
}

std::vector<TreeLinks> Connection::tree(ChannelSource source) const {
  std::vector<TreeLinks> links(static_cast<std::size_t>(ranks()));
  for (int node = 0; node < nodes(); ++node) add_chain(node, source.search, links);
  if (nodes() > 1)
    for (int node = 0; node < nodes(); ++node) join_to_nodes(node, source, links);
  return links;
}

int Connection::tree_depth() const {
  return ranks() / nodes() - 1 + std::bit_width(static_cast<unsigned>(nodes())) - 1;
}

std::vector<int> Connection::heads_of(std::size_t domain) const {
  std::vector<int> heads;
  if (!domains_[domain].nvls) return heads;
  for (const GraphChannel& channel : domains_[domain].nvls->channels)
    if (std::find(heads.begin(), heads.end(), channel.ranks.front()) == heads.end())
      heads.push_back(channel.ranks.front());
  return heads;
}

int Connection::nvls_head_count() const {
  std::size_t least = heads_of(0).size();
  for (std::size_t domain = 1; domain < domains_.size(); ++domain)
    least = std::min(least, heads_of(domain).size());
  return static_cast<int>(least);
}

std::vector<int> Connection::nvls_heads() const {
  std::vector<int> heads;
  for (int head = 0; head < nvls_head_count(); ++head)
    for (std::size_t domain = 0; domain < domains_.size(); ++domain)
      heads.push_back(heads_of(domain)[static_cast<std::size_t>(head)]);
  return heads;
}

std::vector<NvlsTreeLinks> Connection::nvls_tree(TreeHalf half) const {
  std::vector<NvlsTreeLinks> links;
  if (nvls_head_count() == 0) return links;
  const auto head = [&](int node) {
    return node < 0 ? -1 : first_rank_of_host(node) + heads_of(domain_of(node)).front();
  };
  for (int node = 0; node < nodes(); ++node) {
    const NodeTree tree = node_tree(nodes(), node, half);
    NvlsTreeLinks one{.rank = head(node), .up = head(tree.up)};
    append_to(one.down, head(tree.down[0]));
    append_to(one.down, head(tree.down[1]));
    links.push_back(one);
  }
  return links;
}

std::vector<ChannelSource> doubled(int search_channels) {
  std::vector<ChannelSource> channels;
  for (const TreeHalf half : {TreeHalf::kFirst, TreeHalf::kSecond})
    for (int channel = 0; channel < search_channels; ++channel)
      channels.push_back({.search = channel, .half = half});
  return channels;
}

void repeat_up_to(std::vector<ChannelSource>& channels, int count) {
  const std::size_t before = channels.size();
  while (static_cast<int>(channels.size()) < count)
    channels.push_back(channels[channels.size() - before]);
}

}  // namespace comm_probe::nccl
