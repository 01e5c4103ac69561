#include "diagnose/hang_wait_list.h"

#include <fmt/format.h>

#include "diagnose/hang_messages.h"
#include "diagnose/hang_state.h"
#include "diagnose/hang_text.h"

namespace comm_probe::diagnose {
namespace {

WaitLine line_of(const HangState& state, const CallKey& key) {
  const CallView& call = state.call(key.first, key.second);
  WaitLine line;
  line.call = fmt::format("{} {} of group {}", op_text(state.digest(call.work_rank), *call.work),
                          key.second, state.job().groups[key.first].name);
  for (const int rank : call.pending) {
    const Head* head = state.head(rank);
    const bool is_head = head != nullptr && head->group == key.first && !head->work->is_p2p &&
                         head->work->seq == key.second;
    (is_head ? line.ranks : line.behind).push_back(rank);
  }
  line.not_issued = call.not_issued;
  line.not_known = call.no_dump;
  line.not_known.insert(line.not_known.end(), call.unknown.begin(), call.unknown.end());
  return line;
}

// A message that one side has issued and the other has not.
WaitLine message_line(const HangState& state, const OpenMessage& message) {
  const bool is_sent = message.send.message != nullptr;
  WaitLine line;
  line.call =
      fmt::format("{} {} -> {}, message {} of group {}", is_sent ? "send" : "receive", message.from,
                  message.to, message.index, state.job().groups[message.group].name);
  line.ranks = {is_sent ? message.from : message.to};
  const int other = is_sent ? message.to : message.from;
  (state.is_blank(other) || !message.certain ? line.not_known : line.not_issued) = {other};
  return line;
}

}  // namespace

std::vector<WaitLine> wait_lines(const torch::Job& job) {
  const HangState state(job);
  std::vector<WaitLine> lines;
  for (const AwaitedCall& awaited : state.awaited()) lines.push_back(line_of(state, awaited.key));
  for (const OpenMessage& message : find_open_messages(state))
    if (!message.is_paired()) lines.push_back(message_line(state, message));
  return lines;
}

}  // namespace comm_probe::diagnose
