#include "sim/deadlock.h"

#include <fmt/format.h>

namespace comm_probe::sim {
namespace {

using model::OpId;
using model::ProgramOp;

std::string name_of(int peer) {
  return peer == ProgramOp::kAnyPeer ? "any rank" : fmt::format("rank {}", peer);
}
std::string name_of_tag(std::uint32_t tag) {
  return tag == ProgramOp::kAnyTag ? "any tag" : fmt::format("tag {}", tag);
}

bool fits(const ProgramOp& recv, const ProgramOp& send) {
  return send.kind == ProgramOp::Kind::kSend && send.peer == recv.rank &&
         (recv.peer == ProgramOp::kAnyPeer || recv.peer == send.rank) &&
         (recv.tag == ProgramOp::kAnyTag || recv.tag == send.tag);
}

// The first message that would be taken, but waits itself.
std::optional<OpId> waiting_send(const ProgramFile& file, const ProgramOp& recv,
                                 const std::vector<bool>& over) {
  for (OpId op = 0; op < file.program.size(); ++op)
    if (!over[op] && fits(recv, file.program.at(op))) return op;
  return std::nullopt;
}

std::string describe(const ProgramFile& file, OpId id, const std::vector<bool>& over) {
  const ProgramOp& recv = file.program.at(id);
  const std::string what = fmt::format("rank {} ({} {}) waits for {}, {}", recv.rank, file.unit,
                                       file.lines[id], name_of(recv.peer), name_of_tag(recv.tag));
  if (const auto send = waiting_send(file, recv, over))
    return fmt::format("{}, whose send ({} {}) waits too", what, file.unit, file.lines[*send]);
  return what + ", which never sends it";
}

}  // namespace

core::Error deadlock(const ProgramFile& file, const model::ProgramRun::Ends& ends) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, ends.starved.size()); ++i)
    text += "; " + describe(file, ends.starved[i], ends.over);
  if (ends.starved.size() > kShown)
    text += fmt::format("; and {} more receives wait", ends.starved.size() - kShown);
  core::Error error = core::input_error(
      fmt::format("the schedule stands still, {} of {} operations are never over{}", ends.never,
                  file.program.size(), text));
  error.where.file = file.name;
  if (!ends.unreceived.empty()) {
    const ProgramOp& send = file.program.at(ends.unreceived[0]);
    error.hint =
        fmt::format("rank {} has a message from rank {} with tag {} ({} {}) that no recv took",
                    send.peer, send.rank, send.tag, file.unit, file.lines[ends.unreceived[0]]);
  }
  return error;
}

}  // namespace comm_probe::sim
