// The answer of `calc decode` as JSON and as text.
#pragma once

#include "cli/decode_request.h"
#include "core/document.h"

namespace comm_probe::cli {

core::Document decode_document(const DecodeQuestion& question);

}  // namespace comm_probe::cli
