// What comm-probe says about a communication: findings (with evidence) and caveats (what is missing
// and which conclusions it limits). Findings are born only in diagnose/; their ids stand in
// finding_table.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"

namespace comm_probe::core {

enum class Severity { kError, kWarning, kInfo };
enum class Layer { kHardware, kTopology, kRdma, kNccl, kFramework, kApplication };
enum class Confidence { kCertain, kLikely, kPossible };
const char* severity_name(Severity severity);
const char* layer_name(Layer layer);
const char* confidence_name(Confidence confidence);

// A number in the unit that people read, with its provenance: {48.0, "GB/s", kComputed, "ring over
// 8 NICs"}.
struct Figure {
  double value = 0;
  std::string unit = {};
  Basis basis = Basis::kComputed;
  std::string source = {};
};
Figure figure(Bandwidth bandwidth, Basis basis, std::string source);  // in GB/s
Figure figure(Duration time, Basis basis, std::string source);        // in us
Figure figure(Bytes bytes, Basis basis, std::string source);          // in B

// The line that proves it; `line` counts from 1.
struct Evidence {
  std::string source = {};
  std::optional<std::uint64_t> line = {};
  std::string text = {};
};

struct Finding {
  std::string id = {};
  Severity severity = Severity::kInfo;
  Layer layer = Layer::kApplication;
  std::string summary = {};  // one sentence an engineer can act on
  std::vector<int> ranks = {};
  std::optional<Figure> expected = {};
  std::optional<Figure> observed = {};
  // The part of an observed gap that this accounts for: {38.1, "GB/s", kComputed, "of 40.5 GB/s
  // ..."}
  std::optional<Figure> explains = {};
  std::vector<Evidence> evidence = {};
  Confidence confidence = Confidence::kLikely;
  std::vector<std::string> next = {};  // commands to run next
};

// A finding with severity and layer from the table; an id that is not in the table is a bug.
Finding make_finding(std::string_view id, std::string summary);

struct Caveat {
  std::string id = {};
  std::string missing = {};
  std::string effect = {};
  // true: the conclusion is limited, and a run with no finding ends with exit status 5
  bool limits = true;
};

}  // namespace comm_probe::core
