#include "core/temporary_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace comm_probe::core {

namespace fs = std::filesystem;

Result<TemporaryFolder> TemporaryFolder::make(const std::string& name) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string path = ((error ? fs::path("$TMPDIR") : parent) / (name + "-XXXXXX")).string();
  if (error) return missing_error(fmt::format("cannot make {}: {}", path, error.message()));
  if (::mkdtemp(path.data()) == nullptr)
    return missing_error(fmt::format("cannot make {}: {}", path, std::strerror(errno)));
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::TemporaryFolder(std::string path) : path_(std::move(path)), maker_(::getpid()) {}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), maker_(other.maker_) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty() && ::getpid() == maker_) fs::remove_all(path_, ignored);
}

}  // namespace comm_probe::core
