// What doctor puts into files before it reads them: each bundle of `doctor --collect`, and each
// tar of other files (packed or not), is unpacked into a folder of its own below one private
// temporary folder, and what is streamed into the
// program is kept there; it goes when the object goes, or the process by a signal. What is said
// afterwards names "runs/node7.tar.zst/node07/files/rank0.log" and "standard input", not the
// temporary folder.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/document.h"
#include "core/folder_keeper.h"
#include "core/result.h"
#include "core/temporary_folder.h"
#include "topology/bundle.h"

namespace comm_probe::cli {

class TarToFolder;

class BundleFolder {
 public:
  // The files with every bundle replaced by what is unpacked from it: BUNDLE/HOST/machine.tar,
  // BUNDLE/HOST/files/..., and every other tar, up to four deep, by its files (deeper ones are
  // caveats). A bundle that cannot be read stays a path. A copy of a tar, and what stands beside a
  // tar unpacked from it, count once. Their counters are not among them, but in counters(). Fails
  // where no file is left.
  core::Result<std::vector<std::string>> unpacked(const std::vector<std::string>& files);
  // The file in which everything is put that "-" or the path of a pipe gives.
  core::Result<std::string> kept(const std::string& stream);
  // Paths as the user knows them, in everything that the document says.
  void name_as_given(core::Document& document) const;
  void name_as_given(core::Json& pictures) const;
  core::Error named_as_given(core::Error error) const;
  const std::vector<topology::NetSnapshot>& counters() const { return counters_; }
  // Of what is not unpacked, or not all of it.
  const std::vector<core::Caveat>& caveats() const { return caveats_; }

 private:
  void name_packed_files(std::string& command) const;
  bool make_root();
  bool unpack(const std::string& path, std::string& place);
  bool unpack_pile(const std::string& path, bool with_machine, std::string& place);
  void add_caveats(const TarToFolder& files, const std::string& name);
  void add_tar(const std::string& file, int depth, std::vector<std::string>& all);
  void add_unpacked(const std::string& file, int depth, std::vector<std::string>& all);
  std::string new_place(const std::string& path);
  std::string given_name(const std::string& path) const;

  std::optional<core::FolderKeeper> keeper_ = {};  // ends after the folder is gone
  std::optional<core::TemporaryFolder> folder_ = {};
  std::string root_ = {};                                         // with "/" at its end
  std::vector<std::pair<std::string, std::string>> places_ = {};  // folder or file, its name
  // folder of each archive's files, with "/" at its end, and the archive as the user knows it
  std::vector<std::pair<std::string, std::string>> inside_ = {};
  std::vector<std::string> tars_ = {};  // of the given files
  std::vector<topology::NetSnapshot> counters_ = {};
  std::vector<core::Caveat> caveats_ = {};
};

}  // namespace comm_probe::cli
