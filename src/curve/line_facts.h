// The lines around the rows: what does this line of nccl-tests, of the launcher or of NCCL say?
// Each function reads one kind of line and knows nothing of the others.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "curve/curve.h"

namespace comm_probe::curve {

// A line without what was put before it ("[1,0]<stdout>:", "0:", "[STAT]:", "> ") and without "#".
struct Body {
  std::string_view text;
  bool comment = false;  // there was a "#"
};
Body strip_prefix(std::string_view line);

// The line without colours (ANSI escapes), byte order mark and no-break blanks; `line` itself where
// it has none.
std::string_view plain_text(std::string_view line, std::string& buffer);

// "nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 ..."
std::optional<RunSettings> read_settings(std::string_view body);
// "Rank  0 Group  0 Pid 1942267 on     node00 device  0 [0x0f] NVIDIA H100 80GB HBM3"
std::optional<Device> read_device(std::string_view body);
// "2.23.4" of "NCCL version 2.23.4+cuda12.6", also "RCCL version : 2.27.7-develop:29e1567"
std::optional<std::string> read_nccl_version(std::string_view line);
// "2.17.6" of "nccl-tests version 2.17.6 nccl-headers=22803 nccl-library=22803"
std::optional<std::string> read_tests_version(std::string_view body);

// A command line that starts a benchmark, echoed by a shell or a script.
struct Command {
  std::string program;       // "all_reduce_perf"
  std::optional<int> ranks;  // processes x -t x -g, where the number of processes is stated
  std::optional<int> nodes;
};
std::optional<Command> read_command(std::string_view line);

// A run that ended badly: "Test NCCL failure", "exited with non-zero status", ...
bool is_failure(std::string_view line);
// Failures that only a benchmark of this family prints, so that they count without any table.
bool is_test_failure(std::string_view line);
// "...", "[...]", "<snip>": left out by whoever pasted the text.
bool is_elision(std::string_view body);
// "nranks 16" of NCCL's own lines.
std::optional<int> read_nranks(std::string_view line);

}  // namespace comm_probe::curve
