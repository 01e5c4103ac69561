#include "model/flow_schedule.h"

namespace comm_probe::model {

using core::Bytes;

RoundSchedule::RoundSchedule(int ranks) : states_(static_cast<std::size_t>(ranks)) {}

void RoundSchedule::add(Round round) {
  if (!rounds_.empty()) {
    Round& last = rounds_.back();
    if (last.shapes == round.shapes && last.mask == round.mask && last.below == round.below &&
        last.all == round.all && last.bytes == round.bytes) {
      ++last.times;
      return;
    }
  }
  rounds_.push_back(std::move(round));
}

void RoundSchedule::shift_at_once(std::span<const Shift> shapes, Bytes bytes) {
  Round round{.bytes = bytes};
  round.shapes.assign(shapes.begin(), shapes.end());
  add(std::move(round));
}

void RoundSchedule::exchange(int mask, int below, Bytes bytes) {
  add({.mask = mask, .below = below, .bytes = bytes});
}

void RoundSchedule::messages(std::span<const Message> all) {
  Round round;
  round.all.assign(all.begin(), all.end());
  round.by_sender.resize(states_.size());
  round.received.resize(states_.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    round.by_sender[static_cast<std::size_t>(all[i].from)].push_back(static_cast<std::uint32_t>(i));
    ++round.received[static_cast<std::size_t>(all[i].to)];
  }
  add(std::move(round));
}

double RoundSchedule::total_messages() const {
  double total = 0;
  for (const Round& round : rounds_) {
    const double each = round.all.empty()
                            ? static_cast<double>(round.below) +
                                  static_cast<double>(round.shapes.size() * states_.size())
                            : static_cast<double>(round.all.size());
    total += each * round.times;
  }
  return total;
}

std::uint32_t RoundSchedule::receives(const Round& round, int rank) const {
  if (!round.all.empty()) return round.received[static_cast<std::size_t>(rank)];
  const bool has_partner = rank < round.below && (rank ^ round.mask) < round.below;
  return static_cast<std::uint32_t>(round.shapes.size()) + (has_partner ? 1 : 0);
}

void RoundSchedule::send_all(int rank, const State& state, std::vector<Send>& next) const {
  const Round& round = rounds_[state.kind];
  for (const Shift& shape : round.shapes) {
    const int first = rank - rank % shape.block;
    next.push_back(
        {rank, first + (rank - first + shape.distance) % shape.block, round.bytes, state.round});
  }
  if (rank < round.below && (rank ^ round.mask) < round.below)
    next.push_back({rank, rank ^ round.mask, round.bytes, state.round});
  if (round.all.empty()) return;
  for (const std::uint32_t i : round.by_sender[static_cast<std::size_t>(rank)])
    next.push_back({rank, round.all[i].to, round.all[i].bytes, state.round});
}

// Sends what the round asks for; rounds in which the rank has nothing to do are over at once.
void RoundSchedule::enter(int rank, std::vector<Send>& next) {
  State& state = states_[static_cast<std::size_t>(rank)];
  while (state.kind < rounds_.size()) {
    const std::size_t before = next.size();
    send_all(rank, state, next);
    state.open =
        static_cast<std::uint32_t>(next.size() - before) + receives(rounds_[state.kind], rank);
    for (std::size_t i = 0; i < state.early.size(); ++i)
      if (state.early[i].round == state.round) {
        state.open -= state.early[i].count;
        state.early.erase(state.early.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
    if (state.open > 0) return;
    ++state.round;
    if (++state.turn < rounds_[state.kind].times) continue;
    state.turn = 0;
    ++state.kind;
  }
}

void RoundSchedule::begin(int rank, std::vector<Send>& next) {
  states_[static_cast<std::size_t>(rank)].has_begun = true;
  enter(rank, next);
}

void RoundSchedule::finish_one(int rank, std::uint32_t round, std::vector<Send>& next) {
  State& state = states_[static_cast<std::size_t>(rank)];
  if (!state.has_begun || round != state.round) {
    for (Early& early : state.early)
      if (early.round == round) {
        ++early.count;
        return;
      }
    state.early.push_back({round, 1});
    return;
  }
  if (--state.open > 0) return;
  ++state.round;
  if (++state.turn == rounds_[state.kind].times) {
    state.turn = 0;
    ++state.kind;
  }
  enter(rank, next);
}

void RoundSchedule::delivered(const Send& send, std::vector<Send>& next) {
  finish_one(send.from, send.mark, next);
  finish_one(send.to, send.mark, next);
}

}  // namespace comm_probe::model
