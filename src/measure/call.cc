#include "measure/call.h"

namespace comm_probe::measure {

using model::Op;

std::size_t send_count(const Call& call, int ranks) {
  const bool many = call.op == Op::kReduceScatter || call.op == Op::kAllToAll;
  return call.count * (many ? static_cast<std::size_t>(ranks) : 1);
}
std::size_t recv_count(const Call& call, int ranks) {
  const bool many = call.op == Op::kAllGather || call.op == Op::kAllToAll;
  return call.count * (many ? static_cast<std::size_t>(ranks) : 1);
}

Call in_place(Call call, int rank, std::byte* buffer) {
  std::byte* own = buffer + static_cast<std::size_t>(rank) * call.bytes(call.count);
  call.send = call.op == Op::kAllGather ? own : buffer;
  call.recv = call.op == Op::kReduceScatter ? own : buffer;
  return call;
}

}  // namespace comm_probe::measure
