// The program alone in a folder of its own, as it is copied to a machine: no plug-in lies beside it
// until a test puts one there. The folder is removed at the end.
//
//   const BinaryRun run = CopiedProgram().run("bench send_recv --backend ucx");
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "run_binary.h"

namespace comm_probe::test {

class CopiedProgram {
 public:
  CopiedProgram()
      : folder_(std::filesystem::temp_directory_path() /
                ("comm_probe_alone_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    std::filesystem::copy_file(COMM_PROBE_BINARY, folder_ / "comm-probe",
                               std::filesystem::copy_options::overwrite_existing);
  }
  ~CopiedProgram() { std::filesystem::remove_all(folder_); }
  CopiedProgram(const CopiedProgram&) = delete;
  CopiedProgram& operator=(const CopiedProgram&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  BinaryRun run(const std::string& arguments, const BinarySurroundings& around = {}) const {
    return run_shell((folder_ / "comm-probe").string() + " " + arguments, around);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace comm_probe::test
