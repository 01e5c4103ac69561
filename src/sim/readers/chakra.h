// Reads MLCommons Chakra execution traces (et_def.proto): per rank one .et file, a row of messages
// with their lengths, GlobalMetadata first, then the nodes.
//
//   Node            id = 1, name = 2, type = 3, ctrl_deps = 4, data_deps = 5, duration_micros = 7,
//                   attr = 10
//   AttributeProto  name = 1, then one value: int32 7, int64 9, uint32 11, uint64 13, bool 27,
//                   string 29
//   types           4 compute, 5 send, 6 receive, 7 collective; 2, 3 memory; others do nothing
//   attributes      comm_type, comm_size, comm_src, comm_dst, comm_tag, pg_name, is_cpu_op
#pragma once

#include <string>
#include <vector>

#include "core/input.h"
#include "model/collective.h"

namespace comm_probe::sim {

struct ChakraNode {
  enum class Kind : std::uint8_t { kOther, kCompute, kMemory, kSend, kReceive, kCollective };
  // Beside model::Op: a barrier has no bytes.
  static constexpr int kBarrier = -1;
  std::uint64_t id = 0;
  Kind kind = Kind::kOther;
  bool is_cpu = false;
  std::uint64_t micros = 0;
  std::vector<std::uint64_t> needs = {};
  std::optional<std::uint64_t> comm_type = {}, bytes = {};
  std::optional<int> peer = {};  // of a message
  std::uint32_t tag = 0;
  std::string group = {};
};

struct ChakraTrace {
  std::string name = {};
  std::string version = {};
  int rank = 0;
  std::vector<ChakraNode> nodes = {};  // as they stand in the file
};

inline constexpr std::uint64_t kLargestChakra = std::uint64_t{1} << 30;  // bytes, unpacked
inline constexpr std::size_t kMostChakraNodes = 1 << 22;                 // of one file

// The number before ".et" is the rank: job.3.et, job.3.et.gz.
std::optional<int> chakra_rank(const std::string& path);
// Fails with the offset on what is no row of nodes, a node that is cut, an id that comes twice.
core::Result<ChakraTrace> read_chakra(core::Input& input, int rank);

}  // namespace comm_probe::sim
