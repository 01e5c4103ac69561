// All contact with the machine: files below /sys and /proc, environment, clock. A recorded machine
// (a folder with sys/, proc/, and optionally `environment` with NAME=VALUE lines) answers the same
// questions, so that it replays everything; so does a tar of such a folder (`topo record`).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/archive.h"
#include "core/quantity.h"
#include "core/result.h"

namespace comm_probe::core {

class Host {
 public:
  static Host real();
  // Fails where `root` is not a directory.
  static Result<Host> recorded(const std::string& root);
  // `name` is that of the file.
  static Host archived(std::string name, Archive archive);

  // False for a recorded machine: nobody measures or binds threads on it.
  bool is_real() const { return root_.empty() && !archive_; }
  // "this machine", the folder or the file.
  std::string name() const;

  // `path` is absolute as on the machine: "/sys/devices/system/cpu/online".
  // The content without the newline at the end, at most 1 MiB; nothing where the file is absent or
  // unreadable.
  std::optional<std::string> read(const std::string& path) const;
  // The same as a number; nothing where it is not one ("8\n" -> 8).
  std::optional<std::int64_t> read_integer(const std::string& path) const;
  // Names in a directory, sorted; empty where it is absent.
  std::vector<std::string> list(const std::string& path) const;
  bool exists(const std::string& path) const;
  // The target of a symbolic link as it is stored.
  std::optional<std::string> link_target(const std::string& path) const;
  std::optional<std::string> environment(const std::string& name) const;
  // Names of the environment that begin so, sorted.
  std::vector<std::string> environment_names(const std::string& prefix) const;
  // The home directory of a user (without one: of this process) in the password database; of a
  // recorded machine its HOME.
  std::optional<std::string> home(std::optional<unsigned> user) const;
  // What a command prints on standard output, at most 8 MiB of it; nothing where there is no such
  // command, or it fails or takes longer than 20 s. A recorded machine has it in a file
  // "commands/nvidia-smi_topo_-m.txt".
  std::optional<std::string> output(const std::vector<std::string>& command) const;
  static std::string output_path(const std::vector<std::string>& command);
  // Now, since 1970; of a recorded machine when it was recorded (its file "recorded_at", seconds),
  // nothing where it does not say.
  std::optional<Duration> time() const;

 private:
  // Where `path` really is; empty where a recorded machine's link leads out of its folder: this
  // machine's files must not pass for those of another.
  std::string place(const std::string& path) const;
  void read_environment(std::istream& lines);

  std::string root_ = {};
  std::string name_ = {};
  std::shared_ptr<const Archive> archive_ = {};
  std::map<std::string, std::string> environment_ = {};
};

// "0-3,8,10-11" as in cpulist files -> {0,1,2,3,8,10,11}; nothing where it is not such a list (or
// above 65536 entries).
std::optional<std::vector<int>> parse_cpu_list(const std::string& text);

}  // namespace comm_probe::core
