// The rules of nccl_env.h, each over all settings in force.
#pragma once

#include <vector>

#include "diagnose/nccl_env.h"

namespace comm_probe::diagnose {

using Findings = std::vector<core::Finding>;

// A finding with the setting as evidence.
core::Finding env_finding(const char* id, const std::string& summary,
                          const nccl::SettingInForce& setting);
const nccl::SettingInForce* find_in_force(const EnvFacts& facts, std::string_view name);

void judge_names(const EnvFacts& facts, Findings& findings);
void judge_values(const EnvFacts& facts, Findings& findings);
void judge_methods(const EnvFacts& facts, Findings& findings);    // NCCL_ALGO, NCCL_PROTO
void judge_leftovers(const EnvFacts& facts, Findings& findings);  // switches that were left on
void judge_log(const EnvFacts& facts, Findings& findings);        // NCCL_DEBUG*
void judge_devices(const EnvFacts& facts, Findings& findings);    // against the machine
void judge_sources(const EnvFacts& facts, Findings& findings);    // files, precedence

}  // namespace comm_probe::diagnose
