// What was a thread of the host doing at a given time? The innermost range of a dispatcher op and
// the Python frame of the user's own code, in O(log n + depth).
//
//   aten::item [100, 900), in it aten::_local_scalar_dense [120, 880): at 500 the innermost is
//   aten::_local_scalar_dense, and within(500, "aten::item") is true
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "torch/trace.h"

namespace comm_probe::torch {

class HostNest {
 public:
  explicit HostNest(const Trace& trace);

  // In Trace::host_ops, from the innermost outwards; kNone: none.
  std::uint32_t innermost(std::uint16_t thread, std::int64_t time) const;
  std::uint32_t parent(std::uint32_t op) const { return ops_.parents[op]; }
  // The innermost of a kind; kNone: none.
  std::uint32_t innermost(std::uint16_t thread, std::int64_t time, HostKind kind) const;
  // "train.py:32 (step)": of the user's code where there is a frame of it, else of any code. The
  // backward pass runs on a thread without frames: then what the main thread does meanwhile, with
  // "under " before it. Empty without stacks. The line is that of the function, as the profiler
  // writes it.
  std::string place(std::uint16_t thread, std::int64_t time) const;

 private:
  // Ranges of one list by thread, each with the range around it.
  struct Ranges {
    std::vector<std::vector<std::uint32_t>> of_thread = {};  // sorted by start
    std::vector<std::uint32_t> parents = {};
  };
  template <class Range>
  static Ranges nest(const std::vector<Range>& ranges, std::size_t threads);
  template <class Range>
  static std::uint32_t find(const std::vector<Range>& ranges, const Ranges& nested,
                            std::uint16_t thread, std::int64_t time);
  std::uint32_t frame_at(std::uint16_t thread, std::int64_t time) const;

  const Trace& trace_;
  Ranges ops_ = {};
  Ranges frames_ = {};
};

// "torch/nn/modules/module.py(1783): _call_impl" -> false; "train.py(32): step" -> true.
bool is_user_frame(std::string_view frame);
// "train.py(32): step" -> "train.py:32 (step)"; anything else as it is.
std::string frame_text(std::string_view frame);

}  // namespace comm_probe::torch
