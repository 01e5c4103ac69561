#include "model/launches.h"

namespace comm_probe::model {
namespace {

// name, value, applies when, source
// One NCCL call on one GPU of several: 11.10 to 11.51 us for two (docs/measured/h200-nccl.md).
const core::Duration kCall = core::Duration::from_us(5.7);

}  // namespace

core::Duration launches_in_turn(int gpus_per_thread) {
  return gpus_per_thread > 1 ? kCall * gpus_per_thread : core::Duration();
}

}  // namespace comm_probe::model
