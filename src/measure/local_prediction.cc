#include "measure/local_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "measure/engines/local/comm.h"
#include "model/working_set.h"

namespace comm_probe::measure {
namespace {

using core::Bytes;
using core::Duration;
using model::Algorithm;
using model::Op;

// The numbers that an algorithm's work is made of.
struct Shape {
  double ranks;
  Bytes bytes;       // the size as nccl-tests means it
  Bytes share;       // of one rank
  double chunks;     // of `bytes`
  double others;     // ranks - 1
  Bytes copied;      // own part, where it has to move
  double doublings;  // ceil(log2 ranks)
};

Shape shape_of(const LocalCase& asked) {
  const int ranks = asked.collective.ranks;
  const Bytes bytes = asked.collective.bytes;
  const Bytes share = bytes / ranks;
  const auto chunk = static_cast<double>(local::chunk_sizes(ranks).board);
  return {static_cast<double>(ranks),
          bytes,
          share,
          std::max(1.0, std::ceil(bytes.count() / chunk)),
          static_cast<double>(ranks - 1),
          asked.is_in_place ? Bytes() : share,
          static_cast<double>(std::bit_width(static_cast<unsigned>(ranks - 1)))};
}

// A rank posts once and reads n - 1 boards: one leg, and half a leg for every further board.
std::vector<Leg> one_post_many_reads(const Shape& s, Bytes message, const std::string& what) {
  return {{1 + (s.others - 1) / 2, message, what}};
}

LocalWork one_shot(const LocalCase& asked, const Shape& s) {
  const std::string step = "1 step";
  switch (asked.collective.op) {
    case Op::kAllReduce:
      return {.flags = 1,
              .legs = one_post_many_reads(s, s.bytes, "exchange"),
              .reduced_sent = s.bytes * s.others,
              .flags_from = step};
    case Op::kAllGather:
      return {.flags = 1,
              .legs = one_post_many_reads(s, s.share, "exchange"),
              .copied = s.copied,
              .flags_from = step};
    case Op::kReduceScatter:
      return {.flags = 1,
              .legs = {{s.others, s.share, "exchange"}},
              .reduced = s.share * s.others,
              .flags_from = step};
    case Op::kBroadcast:
      return {.flags = 1, .legs = {{0.5, s.bytes, "from the root"}}, .flags_from = step};
    case Op::kReduce:
      return {.flags = 1,
              .legs = {{0.5 * s.others, s.bytes, "to the root"}},
              .reduced = s.bytes * s.others,
              .flags_from = step};
    case Op::kAllToAll:
    case Op::kSendRecv:
      return {};
  }
  return {};
}

// The first step's reading and the second step's posting are one relay of the own part.
LocalWork two_shot(const Shape& s) {
  return {.flags = 1 + s.chunks,
          .legs = {{s.others, s.share, "first step out, second step in"}},
          .relays = {{1 + (s.others - 1) / 2, s.share, "own part"}},
          .flags_from = "2 steps, the second of every chunk"};
}

LocalWork ring(const LocalCase& asked, const Shape& s) {
  const double blocks = std::max(1.0, std::ceil(s.chunks / s.ranks));
  const std::string once_around = fmt::format("n-1 steps of {} chunks", blocks);
  const double passed_on = s.ranks > 2 ? 1 : 0.5;  // a pair has nobody who passes on
  switch (asked.collective.op) {
    case Op::kAllReduce:
      return {.flags = 2 * s.others * blocks,
              .legs = {{s.others, s.share, "around the ring"}},
              .relays = {{s.others, s.share, "around the ring"}},
              .flags_from = fmt::format("2(n-1) steps of {} blocks", blocks)};
    case Op::kAllGather:
      return {.flags = s.others * blocks,
              .legs = {{s.others, s.share, "around the ring"}},
              .copied = s.copied,
              .flags_from = once_around};
    case Op::kReduceScatter:
      return {.flags = s.others * blocks,
              .legs = {{1, s.share, "first and last"}},
              .relays = {{s.others - 1, s.share, "around the ring"}},
              .reduced = s.share,
              .flags_from = once_around};
    case Op::kBroadcast:
      return {.flags = s.others,
              .legs = {{passed_on, s.bytes, "down the chain"}},
              .flags_from = "n-1 steps"};
    case Op::kReduce:
      return {.flags = s.others,
              .legs = {{passed_on, s.bytes, "up the chain"}},
              .reduced = s.bytes,
              .flags_from = "n-1 steps"};
    case Op::kAllToAll:
    case Op::kSendRecv:
      return {};
  }
  return {};
}

LocalWork recursive_doubling(const Shape& s) {
  const bool is_power = std::has_single_bit(static_cast<unsigned>(s.ranks));
  const double steps = is_power ? s.doublings : s.doublings + 1;  // the odd ones join and are told
  return {.flags = steps * s.chunks,
          .legs = {{steps, s.bytes, "doubling"}},
          .reduced_sent = s.bytes * steps,
          .flags_from = fmt::format("{} steps of {} chunks", steps, s.chunks)};
}

// Up and down once: 2 log2 n steps for the first chunk, then the busiest node decides: a node with
// two children reads three and writes three messages, a pair's root and leaf one of each.
LocalWork tree(const LocalCase& asked, const Shape& s) {
  const double depth = s.doublings;
  const double busiest = s.ranks > 2 ? 3 : 1;
  const Bytes reduced = s.bytes * (s.ranks > 2 ? 2 : 1);
  switch (asked.collective.op) {
    case Op::kAllReduce:
      return {.flags = 2 * depth,
              .legs = {{busiest, s.bytes, "up and down"},
                       {2 * depth - 1, s.bytes / s.chunks, "filling the tree"}},
              .reduced = reduced,
              .flags_from = "2 log2 n steps"};
    case Op::kBroadcast:
      return {
          .flags = depth, .legs = {{busiest / 2, s.bytes, "down"}}, .flags_from = "log2 n steps"};
    case Op::kReduce:
      return {.flags = depth,
              .legs = {{busiest / 2, s.bytes, "up"}},
              .reduced = reduced,
              .flags_from = "log2 n steps"};
    case Op::kAllGather:
    case Op::kReduceScatter:
    case Op::kAllToAll:
    case Op::kSendRecv:
      return {};
  }
  return {};
}

LocalWork double_tree(const Shape& s) {
  return {.flags = 2 * s.doublings,
          .legs = {{s.ranks > 2 ? 4.0 : 2.0, s.bytes / 2, "two trees"}},
          .reduced = s.bytes,
          .flags_from = "2 log2 n steps"};
}

LocalWork direct(const LocalCase& asked, const Shape& s) {
  if (asked.collective.op == Op::kSendRecv)
    return {.flags = 1, .legs = {{1, s.bytes, "exchange"}}, .flags_from = "1 step"};
  return {.flags = 1,
          .legs = {{s.others, s.share, "exchange"}},
          .copied = s.copied,
          .flags_from = "1 step"};
}

LocalWork work_by_algorithm(const LocalCase& asked, const Shape& s) {
  const bool is_all_reduce = asked.collective.op == Op::kAllReduce;
  const bool is_pairwise =
      asked.collective.op == Op::kAllToAll || asked.collective.op == Op::kSendRecv;
  switch (asked.algorithm) {
    case Algorithm::kOneShot:
      return one_shot(asked, s);
    case Algorithm::kTwoShot:
      return is_all_reduce ? two_shot(s) : LocalWork{};
    case Algorithm::kRing:
      return ring(asked, s);
    case Algorithm::kRecursiveDoubling:
      return is_all_reduce ? recursive_doubling(s) : LocalWork{};
    case Algorithm::kTree:
      return tree(asked, s);
    case Algorithm::kDoubleTree:
      return is_all_reduce ? double_tree(s) : LocalWork{};
    case Algorithm::kDirect:
      return is_pairwise ? direct(asked, s) : LocalWork{};
    case Algorithm::kNcclTree:
    case Algorithm::kHierarchical:
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
    case Algorithm::kCollNetDirect:
    case Algorithm::kCollNetChain:
    case Algorithm::kPat:
    case Algorithm::kBruck:
      return {};
  }
  return {};
}

// The curves of `link` that a prediction reads.
struct Curves {
  Duration alpha = {};
  model::TimeCurve exchange = {};
  model::TimeCurve copy = {};
  model::TimeCurve copy_own = {};
  model::TimeCurve reduce = {};
  model::TimeCurve reduce_sent = {};
  model::TimeCurve relay = {};
};

Curves curves_of(const HostLinks& links) {
  const auto curve = [&links](Duration TransferCost::*time) {
    std::vector<model::TimeCurve::Point> points;
    for (const TransferCost& cost : links.transfers) points.push_back({cost.message, cost.*time});
    return model::TimeCurve(points);
  };
  return {links.transfers.empty() ? links.flag : links.transfers.front().exchange,
          curve(&TransferCost::exchange),
          curve(&TransferCost::copy),
          curve(&TransferCost::copy_own),
          curve(&TransferCost::reduce),
          curve(&TransferCost::reduce_sent),
          curve(&TransferCost::relay)};
}

void add_flags(model::Ledger& ledger, const LocalWork& work, Duration alpha) {
  model::Term term;
  term.name = "flags";
  term.steps = work.flags;
  term.link = {alpha, core::Bandwidth::from_GBps(1)};
  term.reason = work.flags_from + ", each waits for a line that another CPU wrote";
  ledger.terms.push_back(std::move(term));
}

struct Moving {
  const char* what;
  const model::TimeCurve& curve;
  Duration alpha;
};

void add_legs(model::Ledger& ledger, const std::vector<Leg>& legs, const Moving& moving) {
  for (const Leg& leg : legs) {
    const Duration once = std::max(Duration(), moving.curve.at(leg.bytes) - moving.alpha);
    add_bytes(ledger,
              {.name = fmt::format("{}: {}", moving.what, leg.what),
               .bytes = leg.bytes * leg.count,
               .reason = fmt::format("{} x {:.0f} bytes in and out, at the working set's level",
                                     leg.count, leg.bytes.count())},
              once * leg.count);
    ledger.bytes_per_rank += leg.bytes * leg.count;
  }
}

void add_arithmetic(model::Ledger& ledger, const LocalWork& work, const Curves& curves) {
  const Bytes whole = ledger.collective.bytes;
  if (whole.count() <= 0) return;
  const Duration copy = curves.copy.at(whole);
  const auto beyond_copy = [&](const model::TimeCurve& reduce) {
    return std::max(Duration(), reduce.at(whole) - copy);
  };
  add_bytes(ledger,
            {.name = "additions",
             .bytes = work.reduced,
             .reason = "beyond the copy that would be made anyway"},
            beyond_copy(curves.reduce) * (work.reduced / whole));
  add_bytes(ledger,
            {.name = "additions",
             .bytes = work.reduced_sent,
             .reason = "beyond the copy that would be made anyway, own part still in the caches"},
            beyond_copy(curves.reduce_sent) * (work.reduced_sent / whole));
  add_bytes(ledger, {.name = "own part", .bytes = work.copied, .reason = "from buffer to buffer"},
            curves.copy_own.at(whole) * (work.copied / whole));
}

}  // namespace

core::Result<LocalWork> local_work(const LocalCase& asked) {
  const int ranks = asked.collective.ranks;
  if (ranks < 2) return core::missing_error("not priced: one rank sends nothing");
  if (ranks > asked.cores)
    return core::missing_error(
        fmt::format("not priced: {} ranks on {} core{} take turns, and link measures processes "
                    "with a core each",
                    ranks, asked.cores, asked.cores == 1 ? "" : "s"));
  LocalWork work = work_by_algorithm(asked, shape_of(asked));
  if (work.flags == 0)
    return core::missing_error(fmt::format("not priced: the local engine has no {} {}",
                                           model::algorithm_name(asked.algorithm),
                                           model::op_name(asked.collective.op)));
  return work;
}

core::Result<model::Ledger> predict_local(const HostLinks& links, const LocalCase& asked) {
  const auto work = local_work(asked);
  if (!work) return work.error();
  const Curves curves = curves_of(links);
  model::Ledger ledger;
  ledger.collective = asked.collective;
  ledger.algorithm = asked.algorithm;
  ledger.steps = work->flags;
  ledger.basis = core::Basis::kComputed;
  ledger.source = "alpha and bandwidths measured by link on this machine";
  add_flags(ledger, *work, curves.alpha);
  add_legs(ledger, work->legs, {"send and receive", curves.exchange, curves.alpha});
  add_legs(ledger, work->relays, {"receive, add, send on", curves.relay, curves.alpha});
  add_arithmetic(ledger, *work, curves);
  ledger.link.alpha = curves.alpha;
  if (ledger.bandwidth().in_seconds() > model::kNoTime)
    ledger.link.beta = ledger.bytes_per_rank / ledger.bandwidth();
  return ledger;
}

}  // namespace comm_probe::measure
