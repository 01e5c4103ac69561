#include "torch/dump.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "torch/readers/hash.h"

namespace comm_probe::torch {
namespace {

// Other spellings of the same operation (c10d hook recorder, torchcomms) in the words of
// ProcessGroupNCCL. Source: spec flight-recorder 1.12.
struct Spelling {
  std::string_view written;
  std::string_view name;
};
constexpr std::array kSpellings = {
    Spelling{"allreduce", "all_reduce"},
    Spelling{"allgather", "all_gather"},
    Spelling{"alltoall", "all_to_all"},
    Spelling{"barrier", "all_reduce_barrier"},
};

std::string_view usual_name(std::string_view written) {
  for (const Spelling& spelling : kSpellings)
    if (spelling.written == written) return spelling.name;
  return written;
}

int number_at(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "0->1", "3<-0"
void read_peers(std::string_view text, Operation& operation) {
  const std::size_t arrow = text.find_first_of("-<");
  if (arrow == std::string_view::npos || arrow + 2 > text.size()) return;
  const int self = number_at(text.substr(0, arrow));
  const int peer = number_at(text.substr(arrow + 2));
  const bool sends = operation.kind == Operation::Kind::kSend;
  operation.from = sends ? self : peer;
  operation.to = sends ? peer : self;
}

}  // namespace

Operation parse_operation(std::string_view profiling_name) {
  Operation operation;
  const std::size_t colon = profiling_name.find(':');
  if (colon != std::string_view::npos) operation.backend = profiling_name.substr(0, colon);
  std::string_view rest =
      colon == std::string_view::npos ? profiling_name : profiling_name.substr(colon + 1);
  if (rest.starts_with("send ")) operation.kind = Operation::Kind::kSend;
  if (rest.starts_with("recv ")) operation.kind = Operation::Kind::kReceive;
  if (rest.starts_with("send ") || rest.starts_with("recv ")) {
    read_peers(rest.substr(5), operation);
    rest = rest.substr(0, 4);
  } else if (rest.ends_with("coalesced")) {
    operation.kind = Operation::Kind::kCoalesced;
  }
  operation.name = usual_name(rest);
  operation.name_hash = hash_text(operation.name);
  return operation;
}

std::int64_t Dump::last_time_ns() const {
  std::int64_t last = 0;
  for (const Call& call : calls) last = std::max({last, call.created_ns, call.completed_ns});
  return last;
}

// Either numbers are missing between the calls, or the oldest one that is written follows the last
// one that pg_status knows as completed (a whole ring would hold completed calls before it).
bool Dump::is_only_active() const {
  if (calls.empty()) return false;
  for (const Call& call : calls)
    if (call.state == CallState::kCompleted) return false;
  const std::uint32_t span = calls.back().record - calls.front().record + 1;
  if (span > calls.size()) return true;
  if (!is_wrapped()) return false;
  std::vector<bool> seen(groups.size());
  for (const Call& call : calls) {
    const auto& progress = groups[call.group].progress;
    const bool is_first = !seen[call.group];
    seen[call.group] = true;
    if (is_first && !call.is_p2p && progress && progress->completed > 0 &&
        progress->completed + 1 == call.collective_seq)
      return true;
  }
  return false;
}

}  // namespace comm_probe::torch
