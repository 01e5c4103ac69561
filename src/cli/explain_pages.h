// The longer answers of `explain` as documents: misconceptions and topics (core/pages.h).
#pragma once

#include "core/document.h"
#include "core/pages.h"

namespace comm_probe::cli {

core::Document list_misconceptions();
core::Document explain_misconception(const core::Misconception& one);
core::Document explain_topic(const core::Topic& topic);

}  // namespace comm_probe::cli
