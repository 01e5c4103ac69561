// A tar of a pile: what kind it is, by its names, and its files put below a folder.
//
//   names_in("ticket.tgz") -> has_pile; "node7.tar.zst" of `topo record` -> has_machine
//   TarToFolder files("/tmp/x/ticket.tgz", of a pile); walk_tar(input, files)
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/untar.h"

namespace comm_probe::cli {

// As many are written and read in a minute; a bundle of --collect holds some hundred.
constexpr std::size_t kMostOwnFiles = 20000;

// A name as a part of a path: nothing that leads elsewhere, not longer than a file system takes.
std::string as_part(const std::string& name);
// "./logs/../a.txt" -> "logs/a.txt": as Archive keeps paths, below its root in any case.
std::string inside_path(const std::string& path);

struct TarNames {
  bool is_bundle = false;    // manifest.json says that `doctor --collect` made it
  bool has_machine = false;  // devices below sys/: `topo record`, or what somebody copied
  bool has_pile = false;     // files that are no part of a recorded machine
};
// Of a tar that is cut, of what stands before.
TarNames names_in(const std::string& path);

// Puts files below a folder, up to a number and a size of all together. A later file of the same
// name takes the place of the first, as `tar -x` has it; one whose folder is called as a file is
// ("a" and "a/b.log") gets another place. A hard link is the file that it links to, which is there.
class TarToFolder : public core::TarVisitor {
 public:
  // `with_machine`: also the files of a recorded machine.
  TarToFolder(std::string folder, bool with_machine)
      : folder_(std::move(folder)), with_machine_(with_machine) {}

  bool wants(const std::string& path, std::uint64_t size) override;
  void take(std::string_view bytes) override;
  void end() override;

  std::size_t count() const { return count_; }
  std::size_t left_out() const { return left_out_; }
  bool is_written() const { return is_written_; }
  // Files in another place than their name's, and the name.
  const std::vector<std::pair<std::string, std::string>>& moved() const { return moved_; }

 private:
  bool open(const std::string& place);

  std::string folder_;
  bool with_machine_;
  std::ofstream out_ = {};
  std::size_t count_ = 0;
  std::size_t left_out_ = 0;
  std::uint64_t bytes_ = 0;
  bool is_written_ = true;
  std::vector<std::pair<std::string, std::string>> moved_ = {};
};

}  // namespace comm_probe::cli
