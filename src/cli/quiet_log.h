// Logs of a job in which no reader finds anything: the few lines of a rank that died before it said
// more, or of one that ran with NCCL_DEBUG unset. They are told from other texts by their name
// ("rank3.log") or by what launchers and PyTorch put into every line or print at the start.
//
//   rank3.log: "[rank3]: building the model" -> {file, 1 line, "[rank3]: building the model"}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"

namespace comm_probe::cli {

struct QuietLog {
  std::string file = {};
  std::uint64_t lines = 0;  // that hold anything
  std::string last = {};    // of them, shortened
};
// Nothing where the text is no log of a job.
std::optional<QuietLog> quiet_log(const std::string& path);
// One for all of them; nothing where there is none.
std::optional<core::Caveat> caveat_of(const std::vector<QuietLog>& logs);

}  // namespace comm_probe::cli
