#include "diagnose/hang_waits.h"

#include <algorithm>
#include <map>

namespace comm_probe::diagnose {

using torch::Work;

std::vector<int> holders_of(const HangState& state, const CallView& call, bool follow_missing) {
  std::vector<int> holders = call.not_issued;
  for (const int rank : call.pending) {
    const Head* head = state.head(rank);
    const bool is_at_it = head != nullptr && !head->work->is_p2p && head->group == call.group &&
                          head->work->seq == call.seq;
    if (head != nullptr && !is_at_it) holders.push_back(rank);
  }
  if (follow_missing) holders.insert(holders.end(), call.no_dump.begin(), call.no_dump.end());
  std::sort(holders.begin(), holders.end());
  return holders;
}

namespace {

// Nodes: the ranks of the job, then the collectives in which somebody waits.
class Graph {
 public:
  Graph(const HangState& state, const std::vector<OpenMessage>& messages,
        const WaitOptions& options)
      : state_(state), options_(options), ranks_(state.job().ranks), next_(ranks_.size()) {
    for (const OpenMessage& message : messages) {
      if (message.send.work != nullptr) of_work_[message.send.work].push_back(&message);
      if (message.receive.work != nullptr) of_work_[message.receive.work].push_back(&message);
    }
    for (std::size_t i = 0; i < ranks_.size(); ++i) add_rank(i);
  }
  std::vector<WaitRoot> roots();

 private:
  std::size_t number_of(int rank) const {
    return static_cast<std::size_t>(std::lower_bound(ranks_.begin(), ranks_.end(), rank) -
                                    ranks_.begin());
  }
  void add_rank(std::size_t number);
  void add_messages(std::size_t number, const Work& work);
  std::size_t call_node(const CallKey& key);
  void find_parts();
  void finish_part(std::size_t node);
  std::size_t count_waiting_for(const std::vector<std::size_t>& part) const;
  WaitRoot root_of(const std::vector<std::size_t>& part) const;

  const HangState& state_;
  const WaitOptions& options_;
  const std::vector<int>& ranks_;
  std::map<const Work*, std::vector<const OpenMessage*>> of_work_ = {};
  std::map<CallKey, std::size_t> node_of_call_ = {};
  std::vector<CallKey> calls_ = {};
  std::vector<std::vector<std::size_t>> next_;
  std::vector<std::vector<std::size_t>> before_ = {};
  std::vector<MessageWait> message_waits_ = {};

  // Tarjan's algorithm, without recursion
  static constexpr std::size_t kUnseen = static_cast<std::size_t>(-1);
  std::vector<std::size_t> order_ = {};
  std::vector<std::size_t> low_ = {};
  std::vector<std::size_t> part_of_ = {};
  std::vector<std::size_t> open_ = {};
  std::vector<std::vector<std::size_t>> parts_ = {};
};

std::size_t Graph::call_node(const CallKey& key) {
  const auto [place, is_new] = node_of_call_.try_emplace(key, next_.size());
  if (!is_new) return place->second;
  calls_.push_back(key);
  next_.emplace_back();
  const std::size_t node = place->second;
  for (const int rank :
       holders_of(state_, state_.call(key.first, key.second), options_.follow_missing))
    next_[node].push_back(number_of(rank));
  return node;
}

void Graph::add_messages(std::size_t number, const Work& work) {
  const int rank = ranks_[number];
  for (const OpenMessage* message : of_work_[&work]) {
    const bool is_sender = message->from == rank;
    const int partner = is_sender ? message->to : message->from;
    const MessageEnd& other = is_sender ? message->receive : message->send;
    if (partner == rank) continue;
    const bool is_known = other.work != nullptr || !state_.is_blank(partner);
    if (!is_known && !options_.follow_missing) continue;
    if (other.work != nullptr) {
      const Head* head = state_.head(partner);
      if (head == nullptr || head->work == other.work) continue;
    }
    next_[number].push_back(number_of(partner));
    message_waits_.push_back({rank, partner, other.work != nullptr, message});
  }
}

void Graph::add_rank(std::size_t number) {
  const int rank = ranks_[number];
  const Head* head = state_.head(rank);
  const auto& stuck = options_.no_way_out;
  if (head == nullptr || std::find(stuck.begin(), stuck.end(), rank) != stuck.end()) return;
  if (head->work->is_p2p) return add_messages(number, *head->work);
  const std::size_t node = call_node({head->group, head->work->seq});
  next_[number].push_back(node);
}

void Graph::finish_part(std::size_t node) {
  std::vector<std::size_t> part;
  std::size_t member = 0;
  do {
    member = open_.back();
    open_.pop_back();
    part_of_[member] = parts_.size();
    part.push_back(member);
  } while (member != node);
  parts_.push_back(std::move(part));
}

void Graph::find_parts() {
  order_.assign(next_.size(), kUnseen);
  low_.assign(next_.size(), 0);
  part_of_.assign(next_.size(), kUnseen);
  struct Step {
    std::size_t node;
    std::size_t edge;
  };
  std::size_t count = 0;
  for (std::size_t start = 0; start < next_.size(); ++start) {
    if (order_[start] != kUnseen) continue;
    std::vector<Step> path = {{start, 0}};
    while (!path.empty()) {
      auto& [node, edge] = path.back();
      if (edge == 0) {
        order_[node] = low_[node] = count++;
        open_.push_back(node);
      }
      if (edge < next_[node].size()) {
        const std::size_t to = next_[node][edge++];
        if (order_[to] == kUnseen)
          path.push_back({to, 0});
        else if (part_of_[to] == kUnseen)
          low_[node] = std::min(low_[node], order_[to]);
        continue;
      }
      const std::size_t done = node;
      if (low_[done] == order_[done]) finish_part(done);
      path.pop_back();
      if (!path.empty()) low_[path.back().node] = std::min(low_[path.back().node], low_[done]);
    }
  }
}

std::size_t Graph::count_waiting_for(const std::vector<std::size_t>& part) const {
  std::vector<bool> seen(next_.size());
  std::vector<std::size_t> todo = part;
  for (const std::size_t node : part) seen[node] = true;
  std::size_t waiting = 0;
  while (!todo.empty()) {
    const std::size_t node = todo.back();
    todo.pop_back();
    for (const std::size_t from : before_[node]) {
      if (seen[from]) continue;
      seen[from] = true;
      todo.push_back(from);
      if (from < ranks_.size()) ++waiting;
    }
  }
  return waiting;
}

WaitRoot Graph::root_of(const std::vector<std::size_t>& part) const {
  WaitRoot root;
  for (const std::size_t node : part) {
    if (node < ranks_.size())
      root.ranks.push_back(ranks_[node]);
    else
      root.calls.push_back(calls_[node - ranks_.size()]);
  }
  std::sort(root.ranks.begin(), root.ranks.end());
  std::sort(root.calls.begin(), root.calls.end());
  const auto is_inside = [&](int rank) {
    return std::binary_search(root.ranks.begin(), root.ranks.end(), rank);
  };
  for (const MessageWait& wait : message_waits_)
    if (is_inside(wait.to)) (is_inside(wait.from) ? root.messages : root.owed).push_back(wait);
  root.waiting = count_waiting_for(part);
  return root;
}

std::vector<WaitRoot> Graph::roots() {
  find_parts();
  before_.resize(next_.size());
  for (std::size_t node = 0; node < next_.size(); ++node)
    for (const std::size_t to : next_[node]) before_[to].push_back(node);
  std::vector<bool> has_exit(parts_.size());
  for (std::size_t node = 0; node < next_.size(); ++node)
    for (const std::size_t to : next_[node])
      if (part_of_[to] != part_of_[node]) has_exit[part_of_[node]] = true;
  std::vector<WaitRoot> roots;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (has_exit[part]) continue;
    const bool is_lone_rank = parts_[part].size() == 1 && parts_[part].front() < ranks_.size();
    WaitRoot root = root_of(parts_[part]);
    const bool waits_itself = is_lone_rank && state_.head(root.ranks.front()) != nullptr;
    if (!is_lone_rank || waits_itself || root.waiting > 0) roots.push_back(std::move(root));
  }
  std::sort(roots.begin(), roots.end(), [](const WaitRoot& a, const WaitRoot& b) {
    if (a.waiting != b.waiting) return a.waiting > b.waiting;
    return std::pair(a.ranks, a.calls) < std::pair(b.ranks, b.calls);
  });
  return roots;
}

}  // namespace

std::vector<WaitRoot> find_roots(const HangState& state, const std::vector<OpenMessage>& messages,
                                 const WaitOptions& options) {
  return Graph(state, messages, options).roots();
}

}  // namespace comm_probe::diagnose
