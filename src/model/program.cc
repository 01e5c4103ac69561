#include "model/program.h"

#include <algorithm>

namespace comm_probe::model {
namespace {

template <class AllWaiting>
std::vector<OpId> all_of(const AllWaiting& ranks) {
  std::vector<OpId> ops;
  for (const auto& rank : ranks) {
    for (const auto& [key, line] : rank.exact)
      for (const auto& [age, op] : line) ops.push_back(op);
    for (const auto& [age, op] : rank.any) ops.push_back(op);
  }
  std::sort(ops.begin(), ops.end());
  return ops;
}

}  // namespace

OpId Program::add(const ProgramOp& op) {
  COMM_PROBE_CHECK(op.rank >= 0 && op.rank < ranks_, "an op of a rank that does not exist");
  ops_.push_back(op);
  return static_cast<OpId>(ops_.size() - 1);
}

void Program::require(OpId op, OpId needs, bool begun) {
  COMM_PROBE_CHECK(op < ops_.size() && needs < ops_.size(), "an op that does not exist");
  edges_.push_back({needs, op, begun});
}

std::vector<OpId> Program::seal() {
  first_.assign(ops_.size() + 1, 0);
  needs_.assign(ops_.size(), 0);
  for (const Edge& edge : edges_) {
    ++first_[edge.from + 1];
    ++needs_[edge.to];
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  after_.resize(edges_.size());
  std::vector<std::size_t> at = first_;
  for (const Edge& edge : edges_) after_[at[edge.from]++] = {edge.to, edge.begun};
  edges_.clear();
  edges_.shrink_to_fit();
  std::vector<std::uint32_t> open = needs_;
  std::vector<OpId> free;
  for (OpId op = 0; op < ops_.size(); ++op)
    if (open[op] == 0) free.push_back(op);
  for (std::size_t i = 0; i < free.size(); ++i)
    for (const After& next : after(free[i]))
      if (--open[next.op] == 0) free.push_back(next.op);
  return free.size() == ops_.size() ? std::vector<OpId>() : circle_in(open);
}

// Every op that is still open waits for one that is open too: going back always ends in a circle.
std::vector<OpId> Program::circle_in(const std::vector<std::uint32_t>& open) const {
  constexpr OpId kNone = 0xffffffff;
  std::vector<OpId> before(ops_.size(), kNone);
  for (OpId op = 0; op < ops_.size(); ++op)
    if (open[op] > 0)
      for (const After& next : after(op)) before[next.op] = op;
  OpId op = 0;
  while (open[op] == 0) ++op;
  std::vector<bool> seen(ops_.size());
  for (; !seen[op]; op = before[op]) seen[op] = true;
  std::vector<OpId> circle = {op};
  for (OpId next = before[op]; next != op; next = before[next]) circle.push_back(next);
  return circle;
}

ProgramRun::ProgramRun(const Program& program)
    : program_(program),
      first_ops_(static_cast<std::size_t>(program.ranks())),
      posted_(first_ops_.size()),
      came_(first_ops_.size()) {
  COMM_PROBE_CHECK(program.is_sealed(), "a program that may still grow is played");
  open_.reserve(program.size());
  match_.resize(program.size());
  for (OpId op = 0; op < program.size(); ++op) {
    open_.push_back(program.needs(op));
    if (open_[op] == 0) first_ops_[static_cast<std::size_t>(program.at(op).rank)].push_back(op);
  }
}

void ProgramRun::begin(int rank, std::vector<OpId>& ready) {
  const std::vector<OpId>& first = first_ops_[static_cast<std::size_t>(rank)];
  ready.insert(ready.end(), first.begin(), first.end());
}

void ProgramRun::release(OpId op, bool begun, std::vector<OpId>& ready) {
  for (const Program::After& next : program_.after(op))
    if (next.begun == begun && --open_[next.op] == 0) ready.push_back(next.op);
}

void ProgramRun::begun(OpId op, std::vector<OpId>& ready) {
  log_.push_back(2 * op);
  release(op, true, ready);
}

void ProgramRun::over(OpId op, std::vector<OpId>& ready) {
  log_.push_back(2 * op + 1);
  release(op, false, ready);
}

bool ProgramRun::fits(OpId recv, OpId send) const {
  const ProgramOp &to = program_.at(recv), &from = program_.at(send);
  return (to.peer == ProgramOp::kAnyPeer || to.peer == from.rank) &&
         (to.tag == ProgramOp::kAnyTag || to.tag == from.tag);
}

std::optional<OpId> ProgramRun::post(OpId recv) {
  const ProgramOp& op = program_.at(recv);
  Waiting& came = came_[static_cast<std::size_t>(op.rank)];
  const bool is_any = op.peer == ProgramOp::kAnyPeer || op.tag == ProgramOp::kAnyTag;
  auto oldest = came.exact.end();
  if (!is_any) {
    oldest = came.exact.find({op.peer, op.tag});
  } else {
    for (auto line = came.exact.begin(); line != came.exact.end(); ++line)
      if (fits(recv, line->second.front().second) &&
          (oldest == came.exact.end() || line->second.front() < oldest->second.front()))
        oldest = line;
  }
  if (oldest != came.exact.end()) {
    match_[recv] = oldest->second.front().second;
    oldest->second.pop_front();
    if (oldest->second.empty()) came.exact.erase(oldest);
    return recv;
  }
  Waiting& posted = posted_[static_cast<std::size_t>(op.rank)];
  auto& line = is_any ? posted.any : posted.exact[{op.peer, op.tag}];
  line.emplace_back(age_++, recv);
  return std::nullopt;
}

std::optional<OpId> ProgramRun::arrived(OpId send) {
  const ProgramOp& op = program_.at(send);
  Waiting& posted = posted_[static_cast<std::size_t>(op.peer)];
  const auto exact = posted.exact.find({op.rank, op.tag});
  const auto any = std::find_if(posted.any.begin(), posted.any.end(),
                                [&](const auto& one) { return fits(one.second, send); });
  const bool has_exact = exact != posted.exact.end(), has_any = any != posted.any.end();
  if (has_any && (!has_exact || *any < exact->second.front())) {
    const OpId recv = any->second;
    match_[recv] = send;
    posted.any.erase(any);
    return recv;
  }
  if (has_exact) {
    const OpId recv = exact->second.front().second;
    match_[recv] = send;
    exact->second.pop_front();
    if (exact->second.empty()) posted.exact.erase(exact);
    return recv;
  }
  came_[static_cast<std::size_t>(op.peer)].exact[{op.rank, op.tag}].emplace_back(age_++, send);
  return std::nullopt;
}

core::Duration ProgramRun::dependency_floor(
    const std::function<core::Duration(int from, int to)>& alpha) const {
  std::vector<core::Duration> begin(program_.size());
  core::Duration last;
  for (const std::uint32_t entry : log_) {
    const OpId id = entry / 2;
    const bool is_over = entry % 2 == 1;
    const ProgramOp& op = program_.at(id);
    core::Duration time = begin[id];
    if (is_over && op.kind == ProgramOp::Kind::kCalc) time += op.time;
    if (is_over && op.kind == ProgramOp::Kind::kRecv) {
      const ProgramOp& message = program_.at(match_[id]);
      const bool is_local = message.rank == message.peer;
      time = std::max(time, begin[match_[id]] +
                                (is_local ? core::Duration() : alpha(message.rank, message.peer)));
    }
    last = std::max(last, time);
    for (const Program::After& next : program_.after(id))
      if (next.begun != is_over) begin[next.op] = std::max(begin[next.op], time);
  }
  return last;
}

ProgramRun::Ends ProgramRun::ends() const {
  Ends ends{.starved = all_of(posted_), .unreceived = all_of(came_)};
  ends.over.resize(program_.size());
  ends.never = program_.size();
  for (const std::uint32_t entry : log_)
    if (entry % 2 == 1) {
      ends.over[entry / 2] = true;
      --ends.never;
    }
  return ends;
}

}  // namespace comm_probe::model
