#include "core/temporary_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

namespace comm_probe::core {

namespace fs = std::filesystem;

namespace {

struct Living {
  std::mutex mutex = {};
  std::map<std::string, int> makers = {};  // of each path, the process
};
Living& living() {
  static Living folders;
  return folders;
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make(const std::string& name) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string path = ((error ? fs::path("$TMPDIR") : parent) / (name + "-XXXXXX")).string();
  if (error) return missing_error(fmt::format("cannot make {}: {}", path, error.message()));
  if (::mkdtemp(path.data()) == nullptr)
    return missing_error(fmt::format("cannot make {}: {}", path, std::strerror(errno)));
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::TemporaryFolder(std::string path) : path_(std::move(path)), maker_(::getpid()) {
  const std::lock_guard lock(living().mutex);
  living().makers.emplace(path_, maker_);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), maker_(other.maker_) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (path_.empty() || ::getpid() != maker_) return;
  fs::remove_all(path_, ignored);
  const std::lock_guard lock(living().mutex);
  living().makers.erase(path_);
}

void remove_temporary_folders() {
  const std::lock_guard lock(living().mutex);
  std::error_code ignored;
  for (const auto& [path, maker] : living().makers)
    if (maker == ::getpid()) fs::remove_all(path, ignored);
  living().makers.clear();
}

}  // namespace comm_probe::core
