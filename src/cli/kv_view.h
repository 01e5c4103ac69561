// The answer of `calc kv` as JSON and as text.
#pragma once

#include "cli/kv_request.h"
#include "core/document.h"

namespace comm_probe::cli {

core::Document kv_document(const KvQuestion& question);

}  // namespace comm_probe::cli
