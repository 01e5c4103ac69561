// What `nvidia-smi topo -m` prints: a word for every pair of devices, no tree. Words are kept as
// printed; path_type() says what NCCL would call them.
//
//   "NV18" -> 18 NVLinks, NVL        "NODE" -> PHB        "SOC" (before 2016) -> SYS
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "topology/path_type.h"

namespace comm_probe::topology {

// A cell of the matrix.
struct PairWord {
  enum class Kind { kSelf, kNvlink, kPix, kPxb, kPhb, kNode, kSys, kSoc };
  Kind kind = Kind::kSelf;
  int nvlinks = 0;  // of kNvlink

  bool operator==(const PairWord&) const = default;
  std::string printed() const;  // "NV18", "NODE", "X"
  PathType path_type() const;
};
std::optional<PairWord> parse_pair_word(std::string_view word);

struct MatrixDevice {
  enum class Kind { kGpu, kNic };
  Kind kind = Kind::kGpu;
  std::string label = {};                  // "NIC0" as rows and columns say
  std::string name = {};                   // "mlx5_0" by the NIC legend, else the label
  std::string cpu_affinity = {};           // "0-31,64-95"; empty where it is not printed
  std::optional<int> numa = {};            // NUMA affinity
  std::optional<std::uint64_t> line = {};  // of its row
};

struct DeviceMatrix {
  std::vector<MatrixDevice> devices = {};
  // cells[a][b]: what the row of a says of b, or where that is missing the row of b of a.
  std::vector<std::vector<std::optional<PairWord>>> cells = {};
  std::vector<core::Caveat> caveats = {};
};

}  // namespace comm_probe::topology
