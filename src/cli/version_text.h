// What `--version` says, and with --verbose: what the program was built with, and which engines are
// here: version and file, or what is missing.
//
//   nccl   NCCL 2.28.9, /usr/lib/x86_64-linux-gnu/libnccl.so.2
//   cuda   libcuda.so.1 does not load: ...
#pragma once

#include <string>
#include <vector>

namespace comm_probe::cli {

struct FoundEngine {
  std::string name = {};
  bool is_found = false;
  std::string text = {};
};
// Loads their libraries, one after the other.
std::vector<FoundEngine> find_engines();

std::string version_text(bool is_verbose);

}  // namespace comm_probe::cli
