#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "core/input.h"

namespace comm_probe::core {
namespace {

namespace fs = std::filesystem;

bool is_input_name(const fs::path& path) {
  const std::string name = path.filename().string();
  return !name.starts_with('.') && name != "truth.json";
}

Result<std::vector<std::string>> files_below(const std::string& directory,
                                             std::vector<std::string>* special) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator walk(directory, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    std::error_code ignored;  // a link that leads nowhere is no file, and no reason to stop
    if (walk->path().filename().string().starts_with('.') && walk->is_directory(ignored))
      walk.disable_recursion_pending();
    else if (walk->is_regular_file(ignored) && is_input_name(walk->path()))
      files.push_back(walk->path().string());
    else if (special != nullptr && special_kind(walk->path().string()))
      special->push_back(walk->path().string());
  }
  Error failure;
  failure.where.file = directory;
  failure.message = error ? fmt::format("cannot list everything below: {}", error.message())
                          : "holds no file, expected at least one";
  if (error || files.empty()) return failure;
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<std::vector<std::string>> expand_paths(const std::vector<std::string>& paths,
                                              std::vector<std::string>* special) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (path == "-" || !fs::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    Result<std::vector<std::string>> below = files_below(path, special);
    if (!below) return below.error();
    files.insert(files.end(), below->begin(), below->end());
  }
  return files;
}

std::optional<std::string> special_kind(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  if (S_ISFIFO(status.st_mode)) return "a named pipe";
  if (S_ISSOCK(status.st_mode)) return "a socket";
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) return "a device";
  return std::nullopt;
}

std::optional<FileIdentity> file_identity(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

}  // namespace comm_probe::core
