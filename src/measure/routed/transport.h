// What moves the bytes of a routed all_to_all: one rank's end of it. A stage has a buffer to send
// from and one that receives, both in the order of the other ranks (stages.h); an exchange moves
// all parts, its own too.
#pragma once

#include <cstddef>
#include <optional>

#include "measure/routed/stages.h"

namespace comm_probe::measure {

// A way may be limited between nodes for some exchanges and not for others.
enum class NicLimit { kNone, kAsPlanned };

class RoutedTransport {
 public:
  virtual ~RoutedTransport() = default;
  virtual int rank() const = 0;
  virtual void barrier() = 0;
  // At least so many bytes, the same memory until the next call for the same slot. `slot` is the
  // place of the stage in its scheme, 0 to 3.
  virtual std::byte* send_buffer(int slot) = 0;
  virtual std::byte* receive_buffer(int slot) = 0;
  // Seconds that the exchanges since the last call took, where those alone are measured (packing
  // happens elsewhere than it would in earnest); nothing: everything counts.
  virtual std::optional<double> moved_seconds() { return std::nullopt; }
  // Returns when everything for this rank has come and everything of it may be written again. All
  // ranks call it.
  virtual void exchange(const StageBytes& stage, int slot, NicLimit limit) = 0;
};

}  // namespace comm_probe::measure
