// Any bytes given to the reader of Flight Recorder dumps and to its digest: no crash, every index
// inside of its list.
#include <cstdlib>

#include "torch/torch.h"

namespace {

using namespace comm_probe::torch;

void require(bool promise) {
  if (!promise) std::abort();
}

void check(const Digest& digest) {
  const Dump& dump = digest.dump;
  for (const Work& work : digest.works) {
    require(work.group < dump.groups.size() && work.operation < dump.operations.size());
    require(work.arguments < dump.arguments.size());
    require(work.stack == kNoIndex || work.stack < dump.stacks.size());
    require(std::size_t{work.first_member} + work.members <= digest.members.size());
  }
  for (const Stack& stack : dump.stacks)
    for (const std::uint32_t frame : stack.frames) require(frame < dump.frames.size());
  for (const Message& message : digest.messages) require(message.work < digest.works.size());
  require(digest.ranges.size() == dump.groups.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  RankLists rank_lists;
  auto dump = read_dump("rank_0", {reinterpret_cast<const char*>(data), size}, rank_lists);
  if (!dump) {
    require(!dump.error().one_line().empty());
    return 0;
  }
  auto made = std::make_shared<const Digest>(digest(std::move(*dump)));
  check(*made);
  const Job job = align({made});
  for (const Group& group : job.groups)
    for (const Lane& lane : group.lanes) lane.standing(group.watermark());
  return 0;
}
