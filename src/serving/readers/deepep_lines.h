// What DeepEP's tests and a job that uses it print: bandwidths of dispatch and combine, time-outs
// that name who was waited for, and warnings of its start. Streaming, one line at a time, any text
// in front (shared spec moe.md 3 to 6).
//
//   "[tuning] Best dispatch (FP8): SMs 24, NVL chunk 20, RDMA chunk 16: 61 + 1012 us, 43.24 GB/s
//    (RDMA), 141.14 GB/s (NVL)"               -> normal, dispatch, 24 SMs, 43.24 and 141.14 GB/s
//   "[rank 0] Dispatch bandwidth: 43.85 GB/s, avg_t=173.00 us | Combine bandwidth: ..."
//                                             -> low latency, two rates with their times
//   "... DeepEP timeout for dispatch receive, rank 2, local_expert_idx 1, src_rank 9"
//                                             -> rank 2 waited for rank 9
//
// Printed bandwidths are logical: they count tokens that stay on the node.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/input.h"
#include "core/quantity.h"

namespace comm_probe::serving {

enum class DeepEpKernel { kNormal, kLowLatency, kElastic };
enum class DeepEpOp { kDispatch, kCombine, kBoth };
const char* kernel_name(DeepEpKernel kernel);  // "normal" | "low latency" | "elastic (V2)"
const char* deepep_op_name(DeepEpOp op);       // "dispatch" | "combine" | "dispatch + combine"

struct DeepEpPlace {
  std::string file = {};
  std::uint64_t line = 0;
  std::string text = {};  // shortened
};

struct DeepEpRate {
  DeepEpKernel kernel = DeepEpKernel::kNormal;
  DeepEpOp op = DeepEpOp::kDispatch;
  bool is_best = false;                        // "[tuning] Best ..."
  std::optional<core::Bandwidth> rdma = {};    // between nodes; low latency: of all messages
  std::optional<core::Bandwidth> nvlink = {};  // inside a node
  std::optional<core::Duration> time = {};     // avg_t, or that of the kernel
  std::optional<core::Duration> fastest = {};
  std::optional<core::Duration> slowest = {};
  int sms = 0;    // 0: not printed
  int ranks = 0;  // likewise
  DeepEpPlace place = {};
};

struct DeepEpTimeout {
  std::optional<int> rank = {};  // that waited
  std::optional<int> peer = {};  // that was waited for
  bool counts_missing = false;   // the CPU got no counts at all: num_recv_tokens: -1
  DeepEpPlace place = {};
};

struct DeepEpLines {
  std::vector<DeepEpRate> rates = {};
  std::vector<DeepEpTimeout> timeouts = {};
  std::vector<DeepEpPlace> fallbacks = {};  // GPU-initiated RDMA could not be set up
  bool empty() const { return rates.empty() && timeouts.empty() && fallbacks.empty(); }
  void add(DeepEpLines more);  // of another file
};

class DeepEpLineReader {
 public:
  void begin_file(const std::string& name) { file_ = name; }
  void add(const core::Line& line);
  // Lines so far that said something.
  std::size_t found() const {
    return lines_.rates.size() + lines_.timeouts.size() + lines_.fallbacks.size();
  }
  DeepEpLines finish() { return std::move(lines_); }

 private:
  DeepEpPlace place(const core::Line& line) const;
  void add_tuning(const core::Line& line);
  void add_low_latency(const core::Line& line);
  void add_elastic(const core::Line& line);
  void add_timeout(const core::Line& line);

  DeepEpLines lines_ = {};
  std::string file_ = {};
};

// Words of which one stands in every text that tells something of it.
std::span<const std::string_view> deepep_marks();
// Lines of it stand in the beginning of a file.
bool looks_like_deepep(std::string_view head);
// All of a file. Fails on a read error.
core::Result<DeepEpLines> read_deepep(core::Input& input);

}  // namespace comm_probe::serving
