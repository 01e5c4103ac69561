// Is a communication primitive of one's own worth writing for this call? Yes only where all of this
// holds, and no backend that exists takes the call already:
//   small        the message is below a few hundred KiB, so that starting is the cost, not bytes
//   reachable    one node, or symmetric buffers that every rank can read
//   fixed        the addresses do not change, so that they are exchanged once
//   often        a hundred calls per step or more
//   restartable  a rank that dies may take the whole job with it
// (golden G7-19; the document calls the middle two one condition, so that there are four.)
// What is left to gain is against the shortest start that was published: 3.5 us.
//
//   8 x H100, 128 KiB, 160 calls, graph -> no: CUSTOM (one-shot, 8.8 us) takes it; at most 3 us
//   left
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"

namespace comm_probe::diagnose {

struct PrimitiveCase {
  core::Bytes bytes = {};
  core::Bytes read = {};  // by one rank, with one-shot
  core::Bandwidth link = {};
  bool is_reachable = false;
  std::string over = "NVLink";  // what they reach each other over
  bool has_fixed_addresses = false;
  int calls_per_step = 0;
  bool must_survive = false;
  std::string taken = {};                   // "CUSTOM, one-shot"; empty: NCCL
  std::optional<core::Duration> time = {};  // of what takes the call
};

struct Condition {
  std::string name = {};
  bool holds = false;
  std::string reason = {};
};
struct OwnPrimitive {
  std::vector<Condition> conditions = {};
  bool is_worth = false;
  std::string reason = {};
  // What a perfect one would still save per call; nothing where it is not known.
  std::optional<core::Duration> left = {};
};
OwnPrimitive judge_own_primitive(const PrimitiveCase& given);

}  // namespace comm_probe::diagnose
