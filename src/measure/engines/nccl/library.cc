#include "measure/engines/nccl/library.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace comm_probe::measure::nccl {
namespace {

using core::Result;

constexpr const char* kFile = "libnccl.so.2";
constexpr const char* kHint =
    "install NCCL (PyTorch brings it: pip install nvidia-nccl-cu12) and name the file in "
    "COMM_PROBE_NCCL, or its folder in LD_LIBRARY_PATH";

// Source: NVIDIA's NCCL release notes and nccl.h of the releases.
constexpr std::array kSymbols = {
    SymbolEntry{"ncclGetVersion", {2, 18, 0}, true},
    SymbolEntry{"ncclGetUniqueId", {2, 18, 0}, true},
    SymbolEntry{"ncclCommInitRank", {2, 18, 0}, true},
    SymbolEntry{"ncclCommDestroy", {2, 18, 0}, true},
    SymbolEntry{"ncclCommAbort", {2, 18, 0}, true},
    SymbolEntry{"ncclGetErrorString", {2, 18, 0}, true},
    SymbolEntry{"ncclGetLastError", {2, 18, 0}, true},
    SymbolEntry{"ncclCommGetAsyncError", {2, 18, 0}, true},
    SymbolEntry{"ncclAllReduce", {2, 18, 0}, true},
    SymbolEntry{"ncclBroadcast", {2, 18, 0}, true},
    SymbolEntry{"ncclReduce", {2, 18, 0}, true},
    SymbolEntry{"ncclAllGather", {2, 18, 0}, true},
    SymbolEntry{"ncclReduceScatter", {2, 18, 0}, true},
    SymbolEntry{"ncclSend", {2, 18, 0}, true},
    SymbolEntry{"ncclRecv", {2, 18, 0}, true},
    SymbolEntry{"ncclGroupStart", {2, 18, 0}, true},
    SymbolEntry{"ncclGroupEnd", {2, 18, 0}, true},
    SymbolEntry{"ncclCommSplit", {2, 18, 1}, false},
    SymbolEntry{"ncclMemAlloc", {2, 19, 1}, false},
    SymbolEntry{"ncclMemFree", {2, 19, 1}, false},
    SymbolEntry{"ncclCommRegister", {2, 19, 1}, false},
    SymbolEntry{"ncclCommDeregister", {2, 19, 1}, false},
    SymbolEntry{"ncclCommInitRankScalable", {2, 23, 4}, false},
    SymbolEntry{"ncclResetDebugInit", {2, 24, 3}, false},
    SymbolEntry{"ncclCommWindowRegister", {2, 27, 3}, false},
    SymbolEntry{"ncclCommWindowDeregister", {2, 27, 3}, false},
    SymbolEntry{"ncclCommShrink", {2, 27, 3}, false},
    SymbolEntry{"ncclAlltoAll", {2, 28, 3}, false},
    SymbolEntry{"ncclGather", {2, 28, 3}, false},
    SymbolEntry{"ncclScatter", {2, 28, 3}, false},
};

template <class Function>
void find(const core::SharedLibrary& library, const char* name, Function& function) {
  function = library.find<Function>(name);
}

Calls calls_of(const core::SharedLibrary& library) {
  Calls calls;
  find(library, "ncclGetVersion", calls.get_version);
  find(library, "ncclGetUniqueId", calls.get_unique_id);
  find(library, "ncclCommInitRank", calls.init_rank);
  find(library, "ncclCommDestroy", calls.destroy);
  find(library, "ncclCommAbort", calls.abort);
  find(library, "ncclGetErrorString", calls.error_string);
  find(library, "ncclGetLastError", calls.last_error);
  find(library, "ncclCommGetAsyncError", calls.async_error);
  find(library, "ncclAllReduce", calls.all_reduce);
  find(library, "ncclBroadcast", calls.broadcast);
  find(library, "ncclReduce", calls.reduce);
  find(library, "ncclAllGather", calls.all_gather);
  find(library, "ncclReduceScatter", calls.reduce_scatter);
  find(library, "ncclSend", calls.send);
  find(library, "ncclRecv", calls.recv);
  find(library, "ncclGroupStart", calls.group_start);
  find(library, "ncclGroupEnd", calls.group_end);
  find(library, "ncclMemAlloc", calls.mem_alloc);
  find(library, "ncclMemFree", calls.mem_free);
  find(library, "ncclCommRegister", calls.register_buffer);
  find(library, "ncclCommDeregister", calls.deregister_buffer);
  find(library, "ncclCommWindowRegister", calls.register_window);
  find(library, "ncclCommWindowDeregister", calls.deregister_window);
  find(library, "ncclAlltoAll", calls.all_to_all);
  find(library, "ncclResetDebugInit", calls.reset_debug);
  return calls;
}

// Below a python's lib folder: every "python3.x/site-packages/nvidia/nccl/lib".
void add_site_packages(const core::Host& host, const std::string& lib,
                       std::vector<std::string>& to) {
  for (const std::string& python : host.list(lib)) {
    if (!python.starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      const std::string file =
          fmt::format("{}/{}/{}/nvidia/nccl/lib/{}", lib, python, packages, kFile);
      if (host.exists(file)) to.push_back(file);
    }
  }
}

}  // namespace

std::string Version::text() const { return fmt::format("{}.{}.{}", major, minor, patch); }

Version version_of(int code) {
  constexpr int kNewForm = 10000;
  if (code < kNewForm) return {code / 1000, code / 100 % 10, code % 100};
  return {code / 10000, code / 100 % 100, code % 100};
}

std::span<const SymbolEntry> symbol_table() { return kSymbols; }

std::vector<std::string> library_places(const core::Host& host) {
  if (const auto named = host.environment("COMM_PROBE_NCCL"); named && !named->empty())
    return {*named};
  std::vector<std::string> places = {kFile};
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const auto root = host.environment(variable))
      add_site_packages(host, *root + "/lib", places);
  const auto home = host.environment("HOME");
  if (home) add_site_packages(host, *home + "/.local/lib", places);
  for (const char* lib : {"/usr/lib", "/usr/local/lib", "/opt/conda/lib", "/opt/venv/lib"})
    add_site_packages(host, lib, places);
  places.emplace_back("/usr/local/cuda/lib/libnccl.so.2");
  places.emplace_back("/usr/local/cuda/lib64/libnccl.so.2");
  return places;
}

Result<Library> Library::open(const core::Host& host) { return open(library_places(host)); }

Result<Library> Library::open(const std::vector<std::string>& places) {
  auto file = core::SharedLibrary::open(places);
  if (!file)
    return core::missing_error(places.size() == 1 && places.front() != kFile
                                   ? file.error().message
                                   : fmt::format("{} not found", kFile),
                               kHint);
  Library library(std::move(*file));
  library.calls_ = calls_of(library.library_);
  int code = 0;
  if (library.calls_.get_version == nullptr || library.calls_.get_version(&code) != kSuccess)
    return core::missing_error(
        fmt::format("{} is no NCCL: it has no ncclGetVersion", library.file()), kHint);
  library.version_ = version_of(code);
  if (library.version_ < kOldest)
    return core::missing_error(fmt::format("{} is NCCL {}, expected {}.{} or newer", library.file(),
                                           library.version_.text(), kOldest.major, kOldest.minor),
                               kHint);
  for (const SymbolEntry& symbol : kSymbols)
    if (symbol.required && !library.has(symbol.name))
      return core::missing_error(fmt::format("{} (NCCL {}) has no {}", library.file(),
                                             library.version_.text(), symbol.name),
                                 kHint);
  return library;
}

bool Library::has(const char* symbol) const { return library_.find<void*>(symbol) != nullptr; }

std::vector<std::string> Library::lacking() const {
  std::vector<std::string> names;
  for (const SymbolEntry& symbol : kSymbols)
    if (symbol.since <= version_ && !has(symbol.name)) names.emplace_back(symbol.name);
  return names;
}

std::string Library::explain(int result, Comm comm) const {
  const char* text = calls_.error_string(result);
  std::string explained = text == nullptr ? fmt::format("code {}", result) : text;
  const char* last = calls_.last_error(comm);
  if (last != nullptr && *last != '\0') {
    std::string_view line = last;
    while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.remove_suffix(1);
    explained += fmt::format(" ({})", line);
  }
  return explained;
}

}  // namespace comm_probe::measure::nccl
