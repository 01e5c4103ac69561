// Any bytes given to the reader of Flight Recorder dumps, to its digest and to the judgement, as
// the dump of one rank and, cut, of another: no crash, every index inside of its list.
#include <cstdlib>

#include "diagnose/hang.h"
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

std::shared_ptr<const Digest> read(const char* name, std::string_view bytes, RankLists& lists) {
  auto dump = read_dump(name, bytes, lists);
  if (!dump) {
    require(!dump.error().one_line().empty());
    return nullptr;
  }
  auto made = std::make_shared<const Digest>(digest(std::move(*dump)));
  check(*made);
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RankLists lists;
  std::vector<std::shared_ptr<const Digest>> digests;
  if (auto digest = read("rank_0", bytes, lists)) digests.push_back(std::move(digest));
  if (digests.empty()) return 0;
  if (auto digest = read("rank_1", bytes.substr(0, size - size / 8), lists))
    digests.push_back(std::move(digest));
  const Job job = align(std::move(digests));
  for (const Group& group : job.groups)
    for (const Lane& lane : group.lanes) lane.standing(group.watermark());
  const auto judgement = comm_probe::diagnose::judge_hang(job);
  require(judgement.verdict.kind == comm_probe::diagnose::HangKind::kHealthy ||
          !judgement.verdict.summary.empty());
  return 0;
}
