#include "diagnose/xid.h"

namespace comm_probe::diagnose {

Accused accused_by_xid(const torch::JobLine& line) {
  switch (line.code.value_or(0)) {
    case 13:  // an exception in a kernel
    case 31:  // a kernel touched memory that is not its own
    case 43:  // its channel was reset
      return Accused::kProgram;
    case 45:   // clean-up of a killed process
    case 63:   // a row was remapped
    case 92:   // many corrected errors
    case 154:  // what the driver advises has changed
      return Accused::kNobody;
    default:
      return Accused::kGpu;
  }
}

bool is_notice(const torch::JobLine& line) {
  return line.event == torch::JobEvent::kXid && accused_by_xid(line) == Accused::kNobody;
}

}  // namespace comm_probe::diagnose
