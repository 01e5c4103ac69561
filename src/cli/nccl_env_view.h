// `nccl env` for people and as JSON.
#pragma once

#include <vector>

#include "core/document.h"
#include "diagnose/nccl_env.h"

namespace comm_probe::cli {

core::Document settings_document(const diagnose::EnvFacts& facts,
                                 std::vector<core::Finding> findings);
// What each setting means, its default, and what it is in force.
core::Document explained_settings(const diagnose::EnvFacts& facts,
                                  const std::vector<const nccl::SettingEntry*>& entries);

}  // namespace comm_probe::cli
