#include "diagnose/hang_messages.h"

#include <algorithm>
#include <map>

namespace comm_probe::diagnose {

using torch::Digest;
using torch::Message;
using torch::Work;

namespace {

struct Pair {
  std::size_t group;
  int from;
  int to;
  bool batched;
  auto operator<=>(const Pair&) const = default;
};
struct Ends {
  std::vector<MessageEnd> sends = {};
  std::vector<MessageEnd> receives = {};
  bool exact = true;
};

bool is_done(const MessageEnd& end) { return end.work->state != Work::State::kPending; }

std::size_t done_count(const std::vector<MessageEnd>& ends) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < ends.size(); ++i)
    if (is_done(ends[i])) count = i + 1;
  return count;
}

class Pairing {
 public:
  explicit Pairing(const HangState& state) : state_(state) {}
  std::vector<OpenMessage> run() {
    collect();
    for (const auto& [pair, ends] : pairs_) match(pair, ends);
    return std::move(found_);
  }

 private:
  void collect();
  void add(const Digest& digest, const Message& message);
  void match(const Pair& pair, const Ends& ends);

  const HangState& state_;
  std::map<Pair, Ends> pairs_ = {};
  std::vector<OpenMessage> found_ = {};
};

void Pairing::collect() {
  for (const auto& digest : state_.job().digests)
    for (const Message& message : digest->messages) add(*digest, message);
}

void Pairing::add(const Digest& digest, const Message& message) {
  const Work& work = digest.works[message.work];
  const auto group = state_.group_of(digest, work.group);
  if (!group) return;
  const auto& ranks = state_.job().groups[*group].ranks;
  const torch::Operation& operation = digest.dump.operations[message.operation];
  const auto count = static_cast<int>(ranks.size());
  if (operation.from < 0 || operation.to < 0 || operation.from >= count || operation.to >= count)
    return;
  const Pair pair{*group, ranks[static_cast<std::size_t>(operation.from)],
                  ranks[static_cast<std::size_t>(operation.to)], message.is_batched};
  Ends& ends = pairs_[pair];
  (message.is_send ? ends.sends : ends.receives).push_back({&message, &work});
  ends.exact &= !digest.wrapped && !digest.only_active && !digest.dump.cut;
}

// Where the beginning was lost, the completed tails of both sides belong together.
void Pairing::match(const Pair& pair, const Ends& ends) {
  const std::size_t lost_sends = ends.exact ? 0 : done_count(ends.sends);
  const std::size_t lost_receives = ends.exact ? 0 : done_count(ends.receives);
  const std::size_t sends = ends.sends.size() - lost_sends;
  const std::size_t receives = ends.receives.size() - lost_receives;
  for (std::size_t i = 0; i < std::max(sends, receives); ++i) {
    OpenMessage message{pair.group,
                        pair.from,
                        pair.to,
                        static_cast<std::uint32_t>(i + 1),
                        {},
                        {},
                        ends.exact,
                        static_cast<std::uint32_t>(ends.sends.size()),
                        static_cast<std::uint32_t>(ends.receives.size())};
    if (i < sends) message.send = ends.sends[lost_sends + i];
    if (i < receives) message.receive = ends.receives[lost_receives + i];
    const bool send_open = message.send.message != nullptr && !is_done(message.send);
    const bool receive_open = message.receive.message != nullptr && !is_done(message.receive);
    if (send_open || receive_open) found_.push_back(message);
  }
}

}  // namespace

std::vector<OpenMessage> find_open_messages(const HangState& state) { return Pairing(state).run(); }

bool sizes_differ(const HangState& state, const OpenMessage& message) {
  if (!message.is_paired()) return false;
  const Digest& from = state.digest(message.from);
  const Digest& to = state.digest(message.to);
  const torch::Arguments& sent = from.dump.arguments[message.send.message->arguments];
  const torch::Arguments& expected = to.dump.arguments[message.receive.message->arguments];
  return sent.elements_in != expected.elements_in || sent.in_types != expected.in_types;
}

}  // namespace comm_probe::diagnose
