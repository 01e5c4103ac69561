#include "cli/version_text.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <array>
#include <cstring>

#include "core/shared_library.h"
#include "measure/engines/cuda/driver.h"
#include "measure/engines/mpi/mpi_plugin.h"
#include "measure/engines/nccl/library.h"
#include "measure/engines/ucx/ucx_plugin.h"
#include "measure/engines/verbs/verbs_plugin.h"
#include "report/report.h"

namespace comm_probe::cli {
namespace {

constexpr const char* kDriver = "libcuda.so.1";

FoundEngine missing(const char* name, const core::Error& error) {
  return {name, false, error.one_line()};
}

FoundEngine cuda_engine() {
  const auto library = core::SharedLibrary::open({kDriver});
  if (!library) return missing("cuda", library.error());
  const auto driver = measure::cuda::Driver::get();
  if (!driver)
    return {"cuda", false, fmt::format("{}: {}", library->file(), driver.error().one_line())};
  return {
      "cuda", true,
      fmt::format("CUDA driver {}, {} GPU{}, {}", measure::cuda::version_text((*driver)->version()),
                  (*driver)->devices(), (*driver)->devices() == 1 ? "" : "s", library->file())};
}

FoundEngine nccl_engine() {
  const auto library = measure::nccl::Library::open(core::Host::real());
  if (!library) return missing("nccl", library.error());
  return {"nccl", true, fmt::format("NCCL {}, {}", library->version().text(), library->file())};
}

// A plug-in of ours, and the library that it was linked with.
template <class Table, class Describe>
FoundEngine plugin_engine(const char* name, const core::PluginTable& plugin, Describe describe) {
  const auto functions = core::plugin_functions<Table>(plugin);
  if (!functions) return missing(name, functions.error());
  const auto library = core::SharedLibrary::open_plugin(plugin.file, plugin.is_global);
  return {name, true, fmt::format("{}, {}", describe(**functions), library ? library->file() : "")};
}

std::string until_line_or_comma(const char* text) {
  const std::string all = text == nullptr ? "" : text;
  return all.substr(0, all.find_first_of(",\n"));
}

std::string devices_text(const comm_probe_verbs& verbs) {
  constexpr int kMost = 64;
  std::array<char[64], kMost> names = {};
  const int count = verbs.devices(names.data(), kMost);
  if (count < 0)
    return fmt::format("libibverbs, no device to be listed ({})", std::strerror(-count));
  return fmt::format("libibverbs, {} device{}", count, count == 1 ? "" : "s");
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string surroundings() {
  utsname system = {};
  ::uname(&system);
  return fmt::format("Linux {} on {}, glibc {}", system.release, system.machine,
                     ::gnu_get_libc_version());
}

}  // namespace

std::vector<FoundEngine> find_engines() {
  return {{"local", true, "built in: processes of this machine over shared memory"},
          cuda_engine(),
          nccl_engine(),
          plugin_engine<comm_probe_mpi>(
              "mpi",
              {"comm-probe-mpi.so", "comm_probe_mpi_functions", COMM_PROBE_MPI_VERSION,
               "built where MPI is found (libopenmpi-dev)", true},
              [](const comm_probe_mpi& mpi) { return until_line_or_comma(mpi.library()); }),
          plugin_engine<comm_probe_ucx>(
              "ucx",
              {"comm-probe-ucx.so", "comm_probe_ucx_functions", COMM_PROBE_UCX_VERSION,
               "built where UCX is found (libucx-dev)"},
              [](const comm_probe_ucx& ucx) { return until_line_or_comma(ucx.library()); }),
          plugin_engine<comm_probe_verbs>(
              "verbs",
              {"comm-probe-verbs.so", "comm_probe_verbs_functions", COMM_PROBE_VERBS_VERSION,
               "built where libibverbs is found (libibverbs-dev)"},
              devices_text)};
}

std::string version_text(bool is_verbose) {
  std::string text = std::string("comm-probe ") + report::kVersion;
  if (!is_verbose) return text;
  text += fmt::format("\nbuilt by {}\nruns on {}\nengines\n", compiler(), surroundings());
  for (const FoundEngine& engine : find_engines())
    text += fmt::format("  {:<6} {}{}\n", engine.name,
                        engine.is_found ? "" : "not here: ", engine.text);
  text.pop_back();
  return text;
}

}  // namespace comm_probe::cli
