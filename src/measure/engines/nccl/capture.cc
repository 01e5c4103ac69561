#include "measure/engines/nccl/capture.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace comm_probe::measure::nccl {
namespace {

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

struct OwnFolder {
  explicit OwnFolder(std::string folder) : path(std::move(folder)), maker(::getpid()) {}
  ~OwnFolder() {
    std::error_code ignored;
    if (::getpid() == maker) std::filesystem::remove_all(path, ignored);  // not in a forked rank
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  std::string path;
  pid_t maker;
};

}  // namespace

core::Result<Capture> Capture::into(const std::string& folder) {
  Capture capture;
  if (!folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error || ::access(folder.c_str(), W_OK) != 0)
      return core::input_error(fmt::format("--keep: cannot write into {}", folder));
    capture.folder_ = std::filesystem::absolute(folder, error);
    return capture;
  }
  const char* base = std::getenv("TMPDIR");
  std::string pattern = fmt::format("{}/comm-probe-nccl-XXXXXX", base != nullptr ? base : "/tmp");
  if (::mkdtemp(pattern.data()) == nullptr)
    return core::missing_error(fmt::format("cannot make {}: {}", pattern, std::strerror(errno)),
                               "name a folder with --keep DIR");
  capture.folder_ = pattern;
  capture.owner_ = std::make_shared<OwnFolder>(pattern);
  return capture;
}

std::string Capture::log_of(int rank) const { return fmt::format("{}/rank{}.log", folder_, rank); }

void Capture::set_environment(int rank) const {
  set("NCCL_DEBUG", "INFO");
  set("NCCL_DEBUG_SUBSYS", "INIT,BOOTSTRAP,ENV,GRAPH,TUNING,NET,NVLS,REG");
  set("NCCL_DEBUG_FILE", log_of(rank));
  set("NCCL_TOPO_DUMP_FILE", topology());
  set("NCCL_GRAPH_DUMP_FILE", graphs());
}

void Capture::set_quiet_environment(int rank) const {
  set("NCCL_DEBUG", "WARN");
  set("NCCL_DEBUG_FILE", fmt::format("{}/rank{}.warnings.log", folder_, rank));
}

}  // namespace comm_probe::measure::nccl
