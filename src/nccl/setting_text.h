// How NCCL turns the text of a setting into a value (NCCL 2.28.9 src/misc/param.cc): C's strtoll
// with base 0. Text that is no number counts as 0 (NCCL_P2P_DISABLE=yes is 0), text after a number
// is ignored (NCCL_BUFFSIZE=8M is 8), an empty value and an overflow count as not set.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace comm_probe::nccl {

using Environment = std::map<std::string, std::string>;

std::optional<std::int64_t> setting_number(const std::string& text);
// Empty where the setting is not there.
std::string setting_text(const Environment& environment, const std::string& name);
std::int64_t setting_number(const Environment& environment, const std::string& name,
                            std::int64_t fallback);

}  // namespace comm_probe::nccl
