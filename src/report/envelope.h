// The envelope of design/cli.md as it is written: by --json for people and scripts, and into the
// page (page.h) on one line.
#pragma once

#include "report/report.h"

namespace comm_probe::report {

struct EnvelopeStyle {
  int indent = 2;  // -1: all on one line
  const core::Json* pictures =
      nullptr;  // the last key of the envelope, "pictures"; none where it is empty
};

void write_envelope(const core::Document& document, const EnvelopeStyle& style, const Write& write);

}  // namespace comm_probe::report
