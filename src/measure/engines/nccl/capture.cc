#include "measure/engines/nccl/capture.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "core/temporary_folder.h"

namespace comm_probe::measure::nccl {
namespace {

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

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
  auto own = core::TemporaryFolder::make("comm-probe-nccl");
  if (!own) return core::missing_error(own.error().message, "name a folder with --keep DIR");
  capture.folder_ = own->path();
  capture.owner_ = std::make_shared<core::TemporaryFolder>(std::move(*own));
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
