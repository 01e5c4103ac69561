#include "measure/engines/local/choose.h"

namespace comm_probe::measure::local {

// One step costs one flag, two steps two flags but half the arithmetic and half the copies.
model::Algorithm choose(const Plan& plan, core::Bytes bytes) {
  const core::Bytes one_step_below = core::Bytes::of(8192.0);
  switch (plan.op) {
    case model::Op::kAllReduce:
      return bytes <= one_step_below ? model::Algorithm::kOneShot : model::Algorithm::kTwoShot;
    case model::Op::kAllGather:
    case model::Op::kReduceScatter:
    case model::Op::kBroadcast:
    case model::Op::kReduce:
      return model::Algorithm::kOneShot;
    case model::Op::kAllToAll:
    case model::Op::kSendRecv:
      return model::Algorithm::kDirect;
  }
  return model::Algorithm::kRing;
}

}  // namespace comm_probe::measure::local
