#include "cli/pile_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "cli/topo_source.h"
#include "core/finding_table.h"
#include "core/input.h"

namespace comm_probe::cli {
namespace {

using core::Result;

// A stream that this process holds already, so that somebody writes into it: "-", "/dev/stdin", the
// "/dev/fd/63" of a shell's <(...). A pipe with a name may have no writer at all.
bool is_held_stream(const std::string& path) {
  if (path == "-") return true;
  if (!core::special_kind(path)) return false;
  std::error_code ignored;
  const std::filesystem::path place(path);
  const auto folder = std::filesystem::canonical(place.parent_path(), ignored).string();
  return path == "/dev/stdin" || (folder.starts_with("/proc/") && folder.ends_with("/fd"));
}

core::Error special_error(const std::string& path, const std::string& kind) {
  core::Error error = core::input_error(
      fmt::format("is {}, expected a file or a folder", kind),
      kind == "a named pipe" ? "put what it gives into a file first (cat PIPE > FILE)" : "");
  error.where.file = path;
  return error;
}

class Gathering {
 public:
  explicit Gathering(const std::function<Result<std::string>(const std::string&)>& keep)
      : keep_(keep) {}

  void add(const std::string& path) {
    if (is_held_stream(path)) {
      const auto kept = keep_(path);
      kept ? take(*kept) : refuse(kept.error());
      return;
    }
    if (const auto kind = core::special_kind(path)) return refuse(special_error(path, *kind));
    std::vector<std::string> special;
    const auto below = core::expand_paths({path}, &special);
    for (const std::string& each : special)
      refuse(special_error(each, core::special_kind(each).value_or("no file")));
    if (!below) return refuse(below.error());
    for (const std::string& file : *below) take(recording_of(file).value_or(file));
  }

  Result<PileFiles> finish() && {
    if (files_.files.empty() && first_error_) return *first_error_;
    return std::move(files_);
  }

 private:
  // The folder of a recorded machine (topo record, unpacked) that a file is a part of.
  std::optional<std::string> recording_of(const std::string& file) {
    for (const std::string_view part :
         {"/sys/", "/proc/", "/commands/", "/environment", "/recorded_at", "/nvml.json"}) {
      const std::size_t at = file.find(part);
      if (at == file.npos) continue;
      const std::string folder = file.substr(0, at);
      const auto [known, is_new] = recordings_.try_emplace(folder, false);
      if (is_new) known->second = is_recording(folder) && has_devices(folder);
      if (known->second) return folder;
    }
    return std::nullopt;
  }
  static bool has_devices(const std::string& folder) {
    std::error_code ignored;
    return std::filesystem::is_directory(folder + "/sys/class", ignored) ||
           std::filesystem::is_directory(folder + "/sys/bus", ignored);
  }
  void take(const std::string& file) {
    const auto identity = core::file_identity(file);
    if (identity ? seen_.insert(*identity).second : absent_.insert(file).second)
      files_.files.push_back(file);
  }
  void refuse(const core::Error& error) {
    if (!first_error_) first_error_ = error;
    files_.caveats.push_back(
        core::make_caveat("input.unreadable", error.one_line(), "the other inputs were used"));
  }

  const std::function<Result<std::string>(const std::string&)>& keep_;
  PileFiles files_ = {};
  std::map<std::string, bool> recordings_ = {};
  std::set<core::FileIdentity> seen_ = {};
  std::set<std::string> absent_ = {};
  std::optional<core::Error> first_error_ = {};
};

}  // namespace

Result<PileFiles> files_of_pile(
    const std::vector<std::string>& paths,
    const std::function<Result<std::string>(const std::string&)>& keep) {
  Gathering gathering(keep);
  for (const std::string& path : paths) gathering.add(path);
  return std::move(gathering).finish();
}

}  // namespace comm_probe::cli
