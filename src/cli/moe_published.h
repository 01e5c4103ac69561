// `calc moe --published`: the ledger beside published figures, row by row, with both errors.
#pragma once

#include "core/document.h"

namespace comm_probe::cli {

core::Document published_document();

}  // namespace comm_probe::cli
