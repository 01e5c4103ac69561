// Archive: a small tree of files in memory, read from a tar and written as one: what a recorded
// machine is made of. Nothing is unpacked to disk. Format: POSIX ustar (IEEE Std 1003.1), GNU long
// names ('L', 'K'); .gz and .zst are opened by Input.
//
//   Archive a;  a.add_file("sys/class/net/eth0/mtu", "1500");
//   Archive::read_tar(Input::from_memory("x.tar", a.tar()))->read("/sys/class/net/eth0/mtu")
//
// Links are followed inside the tree only: ".." at its root stays at its root.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/input.h"
#include "core/result.h"

namespace comm_probe::core {

class Archive {
 public:
  // At most 1 GiB and a million entries. Fails, with the offset, on a header that is none and on a
  // cut file; entries that are neither file, folder nor link are left out.
  static Result<Archive> read_tar(Input& input);
  // A header block of a tar: its checksum is right.
  static bool looks_like_tar(std::string_view head);
  std::string tar() const;

  // Paths with or without "/" at the start. A later entry replaces an earlier one.
  void add_file(const std::string& path, std::string content);
  void add_link(const std::string& path, std::string target);
  // A folder that may stay empty.
  void add_folder(const std::string& path);

  std::optional<std::string> read(const std::string& path) const;
  std::vector<std::string> list(const std::string& path) const;
  bool exists(const std::string& path) const;
  std::optional<std::string> link_target(const std::string& path) const;
  // The path without links, as entries are kept: "sys/devices/pci0000:00/0000:00:03.0".
  std::optional<std::string> resolve(const std::string& path, bool follow_last = true) const;
  std::size_t files() const { return entries_.size(); }

 private:
  struct Entry {
    bool is_link = false;
    std::string content = {};  // of a link its target
  };
  // The path as it is kept; its folders are made. Empty for the root.
  std::string make_way(const std::string& path);

  std::map<std::string, Entry> entries_ = {};
  std::map<std::string, std::map<std::string, bool>> folders_ = {{"", {}}};  // names in a folder
};

}  // namespace comm_probe::core
