#include "core/document.h"

#include <algorithm>

namespace comm_probe::core {

int Document::exit_status() const {
  const bool wrong = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.severity != Severity::kInfo;
  });
  if (wrong) return 1;
  const bool limited = std::any_of(caveats.begin(), caveats.end(),
                                   [](const Caveat& caveat) { return caveat.limits; });
  return limited ? 5 : 0;
}

}  // namespace comm_probe::core
