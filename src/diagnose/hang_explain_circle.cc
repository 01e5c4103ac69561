#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "diagnose/hang_explain.h"
#include "diagnose/hang_text.h"

namespace comm_probe::diagnose {

using core::Confidence;
using torch::Digest;
using torch::Work;

namespace {

// A batch of more sends and receives than this is split into several launches by NCCL, not always
// alike on both sides (pytorch issues 174288 and 174942).
constexpr std::uint32_t kLargeBatch = 256;

// Of the messages that are not issued, the ones whose owner has gone on to something else.
std::vector<int> owners_that_went_on(const HangState& state, const WaitRoot& root) {
  std::vector<int> all, went_on;
  for (const MessageWait& wait : root.messages) {
    if (wait.issued) continue;
    all.push_back(wait.to);
    const Head* head = state.head(wait.to);
    if (head != nullptr && (!head->work->is_p2p || head->group != wait.message->group))
      went_on.push_back(wait.to);
  }
  std::vector<int>& owners = went_on.empty() ? all : went_on;
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  return owners;
}

// Ranks that wait in the same call stand together.
void add_heads(const HangState& state, const std::vector<int>& ranks, HangVerdict& verdict) {
  constexpr std::size_t kMostShown = 8;
  std::vector<HangSide> sides;
  for (const int rank : ranks) {
    const Head* head = state.head(rank);
    if (head == nullptr) continue;
    const std::string call =
        fmt::format("{} {} of group {}", call_text(state.digest(rank), *head->work),
                    head->work->seq, state.job().groups[head->group].name);
    const auto same = std::find_if(sides.begin(), sides.end(),
                                   [&](const HangSide& side) { return side.call == call; });
    if (same != sides.end()) {
      same->ranks.push_back(rank);
    } else if (sides.size() < kMostShown) {
      sides.push_back(side_of(state, {rank}, *head->work, "waiting"));
      sides.back().call = call;
    }
  }
  for (HangSide& side : sides) {
    verdict.evidence.push_back(
        {state.digest(side.ranks.front()).dump.file, std::nullopt,
         fmt::format("{} {} in {}", ranks_text(side.ranks), verb(side.ranks, "wait"), side.call)});
    verdict.sides.push_back(std::move(side));
  }
}

HangVerdict explain_missing_message(const HangState& state, const std::vector<MessageWait>& waits,
                                    const std::vector<int>& owners) {
  HangVerdict verdict;
  verdict.kind = HangKind::kP2pUnpaired;
  verdict.culprits = owners;
  for (const MessageWait& wait : waits) {
    if (wait.issued || wait.to != owners.front()) continue;
    const OpenMessage& message = *wait.message;
    const Head* head = state.head(wait.from);
    verdict.group = message.group;
    verdict.p2p_seq = head->work->seq;
    verdict.op = op_text(state.digest(wait.from), *head->work);
    const bool lacks_send = message.send.message == nullptr;
    const std::string counts = message.certain ? fmt::format("{} sends and {} receives were issued",
                                                             message.sends, message.receives)
                                               : std::string("as far as the rings show");
    verdict.summary = fmt::format(
        "rank {} waits for a message from rank {} to rank {} in {} that has no {} ({}); rank {} "
        "has "
        "gone on",
        wait.from, message.from, message.to, group_text(state.job().groups[message.group]),
        lacks_send ? "send" : "receive", counts, wait.to);
    if (!message.certain) verdict.confidence = Confidence::kPossible;
    break;
  }
  verdict.next = {"which micro-batch takes another path on this stage?"};
  return verdict;
}

HangVerdict explain_message_order(const HangState& state, const WaitRoot& root) {
  HangVerdict verdict;
  verdict.kind = HangKind::kP2pUnpaired;
  verdict.culprits = root.ranks;
  const Head* head = state.head(root.ranks.front());
  verdict.group = head->group;
  verdict.p2p_seq = head->work->seq;
  verdict.op = op_text(state.digest(root.ranks.front()), *head->work);
  verdict.summary = fmt::format(
      "{} wait for each other in {}: every message has both ends, but each end stands behind "
      "another one that waits",
      ranks_text(root.ranks), group_text(state.job().groups[head->group]));
  verdict.next = {"use batch_isend_irecv, or let one side receive first"};
  return verdict;
}

struct Place {
  CallKey call;
  std::vector<int> ranks;
};

std::vector<Place> places_of(const HangState& state, const std::vector<int>& ranks) {
  std::vector<Place> places;
  for (const int rank : ranks) {
    const Head* head = state.head(rank);
    if (head == nullptr) continue;
    const CallKey key(head->group, head->work->seq);
    const auto known = std::find_if(places.begin(), places.end(),
                                    [&](const Place& place) { return place.call == key; });
    if (known == places.end())
      places.push_back({key, {rank}});
    else
      known->ranks.push_back(rank);
  }
  return places;
}

// Before: how often the call in which `rank` waits came directly after one like `skipped`, on it.
std::size_t times_preceded_by(const HangState& state, int rank, const Head& head,
                              const Work& skipped, std::size_t skipped_group) {
  const Digest& digest = state.digest(rank);
  const std::vector<const Work*> works = works_by_record(digest);
  std::size_t times = 0;
  for (std::size_t i = 1; i < works.size(); ++i) {
    const bool is_like_head = works[i]->group == head.work->group && works[i] != head.work &&
                              works[i]->signature == head.work->signature;
    times += is_like_head && state.group_of(digest, works[i - 1]->group) == skipped_group &&
                     works[i - 1]->signature == skipped.signature
                 ? 1
                 : 0;
  }
  return times;
}

// One rank against all others that has never issued the call in which they wait: where that call
// has always come directly before the one in which it waits now, it was left out and not put off.
bool is_skipped_call(const HangState& state, int rank, const Place& others) {
  constexpr std::size_t kHabit = 2;
  const Head* own = state.head(rank);
  const Head* theirs = state.head(others.ranks.front());
  if (own == nullptr || theirs == nullptr || own->work->is_p2p || theirs->work->is_p2p)
    return false;
  const auto& absent = state.call(others.call.first, others.call.second).not_issued;
  if (std::find(absent.begin(), absent.end(), rank) == absent.end()) return false;
  return times_preceded_by(state, rank, *own, *theirs->work, others.call.first) >= kHabit;
}

// A member that is not seen may stand on either side.
bool all_are_seen(const HangState& state, const std::vector<Place>& places) {
  return std::all_of(places.begin(), places.end(), [&](const Place& place) {
    return state.call(place.call.first, place.call.second).no_dump.empty();
  });
}

// One rank against all others is named; otherwise nobody can say whose order is the right one.
HangVerdict explain_order(const HangState& state, const WaitRoot& root) {
  HangVerdict verdict;
  verdict.kind = HangKind::kOrderInversion;
  verdict.culprits = root.ranks;
  std::vector<Place> places = places_of(state, root.ranks);
  const Place* shown = &places.front();
  bool is_skip = false;
  if (places.size() == 2 && root.ranks.size() > 2 && all_are_seen(state, places))
    for (std::size_t i = 0; i < 2; ++i)
      if (places[i].ranks.size() == 1) {
        verdict.culprits = places[i].ranks;
        shown = &places[1 - i];
        is_skip = is_skipped_call(state, verdict.culprits.front(), *shown);
      }
  verdict.group = shown->call.first;
  verdict.seq = shown->call.second;
  const Head* head = state.head(shown->ranks.front());
  verdict.op = op_text(state.digest(shown->ranks.front()), *head->work);
  std::string cycle;
  for (const Place& place : places)
    cycle += fmt::format("{}{} in call {} of group {}", cycle.empty() ? "" : ", ",
                         ranks_text(place.ranks), place.call.second,
                         state.job().groups[place.call.first].name);
  verdict.summary =
      fmt::format("the ranks use {} communicators in different orders and wait for each other: {}",
                  places.size(), cycle);
  if (is_skip) {
    verdict.kind = HangKind::kCountMismatch;
    verdict.summary = fmt::format(
        "{} not issued call {} of {} and waits in the call that has always come after it: it has "
        "left "
        "it out, or uses the groups in another order",
        ranks_have(verdict.culprits), shown->call.second,
        group_text(state.job().groups[shown->call.first]));
  }
  verdict.alternatives.push_back(
      {is_skip ? HangKind::kOrderInversion : HangKind::kCountMismatch, verdict.culprits,
       "the program: would the rank still make the call in which the others wait?"});
  verdict.next = {
      "make all ranks issue these calls in one order, or on one stream",
      "NCCL_LAUNCH_ORDER_IMPLICIT=1 (NCCL 2.26 or newer) where only the launches differ"};
  return verdict;
}

}  // namespace

HangVerdict explain_unsent(const HangState& state, const WaitRoot& root) {
  HangVerdict verdict = explain_missing_message(state, root.owed, root.ranks);
  verdict.victims = victims_of(state, verdict.culprits);
  verdict.alternatives.push_back(
      {HangKind::kRankDeadOrStuck, root.ranks, "py-spy on this rank: has it ended its work?"});
  std::vector<int> waiting;
  for (const MessageWait& wait : root.owed) waiting.push_back(wait.from);
  add_heads(state, waiting, verdict);
  return verdict;
}

HangVerdict explain_circle(const HangState& state, const WaitRoot& root) {
  const std::vector<int> owners = owners_that_went_on(state, root);
  HangVerdict verdict = !owners.empty() ? explain_missing_message(state, root.messages, owners)
                        : !root.messages.empty() ? explain_message_order(state, root)
                                                 : explain_order(state, root);
  verdict.victims = victims_of(state, verdict.culprits);
  add_heads(state, root.ranks, verdict);
  return verdict;
}

namespace {

// Who should have the other end of a message that one of `ranks` has open, and shows none.
std::vector<int> partners_without_end(const std::vector<OpenMessage>& messages,
                                      const std::vector<int>& ranks) {
  std::set<int> partners;
  for (const OpenMessage& message : messages) {
    if (message.is_paired()) continue;
    const bool is_sent = message.send.message != nullptr;
    const int owner = is_sent ? message.from : message.to;
    if (std::find(ranks.begin(), ranks.end(), owner) != ranks.end())
      partners.insert(is_sent ? message.to : message.from);
  }
  return {partners.begin(), partners.end()};
}

}  // namespace

HangVerdict explain_message_agreement(const HangState& state,
                                      const std::vector<OpenMessage>& messages,
                                      const std::vector<int>& ranks) {
  HangVerdict verdict;
  const Head* head = state.head(ranks.front());
  const Digest& digest = state.digest(ranks.front());
  verdict.group = head->group;
  verdict.p2p_seq = head->work->seq;
  verdict.op = op_text(digest, *head->work);
  verdict.confidence = Confidence::kPossible;
  const std::uint32_t batch = head->work->members;
  if (batch > kLargeBatch) {
    verdict.kind = HangKind::kP2pUnpaired;
    verdict.culprits = ranks;
    verdict.summary = fmt::format(
        "{} are in a batch of {} sends and receives of {}, and all of them have both ends: NCCL "
        "splits so large a batch, and not always alike on both sides",
        ranks_text(ranks), batch, group_text(state.job().groups[head->group]));
    verdict.alternatives.push_back(
        {HangKind::kNetworkOrHardware, {}, "does it pass with batches of at most 256?"});
    verdict.next = {"split the batch into parts of at most 256 sends and receives"};
  } else if (const std::vector<int> silent = partners_without_end(messages, ranks);
             !silent.empty()) {
    verdict.kind = HangKind::kNotDecidable;
    verdict.summary = fmt::format(
        "{} {} in sends and receives of {}; the other ends, of {}, are in no dump: cut, lost by "
        "the "
        "ring, or never made",
        ranks_text(ranks), verb(ranks, "wait"), group_text(state.job().groups[head->group]),
        ranks_text(silent));
    verdict.alternatives = {
        {HangKind::kP2pUnpaired, silent, "whole dumps of " + ranks_text(silent)},
        {HangKind::kRankDeadOrStuck, silent, "py-spy on " + ranks_text(silent)}};
    verdict.next = {"whole dumps of " + ranks_text(silent)};
  } else {
    verdict.kind = HangKind::kNetworkOrHardware;
    verdict.summary = fmt::format(
        "{} {} in sends and receives of {} that all have both ends: no difference is visible",
        ranks_text(ranks), verb(ranks, "wait"), group_text(state.job().groups[head->group]));
    verdict.next = {"NCCL_DEBUG=WARN lines of these ranks", "dmesg for Xid and link errors"};
  }
  verdict.victims = victims_of(state, verdict.culprits);
  add_heads(state, ranks, verdict);
  return verdict;
}

}  // namespace comm_probe::diagnose
