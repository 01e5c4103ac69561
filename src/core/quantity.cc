#include "core/quantity.h"

namespace comm_probe::core {

const char* basis_name(Basis basis) {
  switch (basis) {
    case Basis::kMeasured:
      return "measured";
    case Basis::kRead:
      return "read";
    case Basis::kComputed:
      return "computed";
    case Basis::kCatalog:
      return "catalog";
    case Basis::kAssumed:
      return "assumed";
  }
  return "assumed";
}

}  // namespace comm_probe::core
