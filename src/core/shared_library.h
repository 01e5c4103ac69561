// A library that is loaded when it is used, so that the program starts on machines without it: the
// CUDA driver, NVML, NCCL, ibverbs, and our own plug-ins (which need headers that many machines
// lack; they lie beside the program, or in ../lib/comm-probe where it is installed).
//
//   auto driver = SharedLibrary::open({"libcuda.so.1"});  // fails: which names were tried, and why
//   const auto init = driver->find<int (*)(unsigned)>("cuInit");  // null where it is lacking
#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace comm_probe::core {

class SharedLibrary {
 public:
  // The first of `names` that loads. Its symbols stay its own, unless `is_global`. It stays loaded
  // until the program ends: drivers keep threads and handlers that outlive their users.
  static Result<SharedLibrary> open(const std::vector<std::string>& names, bool is_global = false);
  // A plug-in of ours by its file name, "comm-probe-mpi.so".
  static Result<SharedLibrary> open_plugin(const std::string& file, bool is_global = false);

  template <class Function>
  Function find(const char* symbol) const {
    return reinterpret_cast<Function>(address(symbol));
  }
  // The file that was loaded, as the loader names it.
  const std::string& file() const { return file_; }

 private:
  SharedLibrary(void* handle, std::string file) : handle_(handle), file_(std::move(file)) {}
  void* address(const char* symbol) const;

  void* handle_;
  std::string file_;
};

// A plug-in of ours offers a table of functions: a C struct whose first member is `int version`.
struct PluginTable {
  const char* file;     // "comm-probe-mpi.so"
  const char* symbol;   // the function that returns the table
  int version;          // that this program was built with
  const char* install;  // what to do where it does not load
  bool is_global = false;
};

// Fails where the plug-in does not load, or was built with another version of its header.
template <class Table>
Result<const Table*> plugin_functions(const PluginTable& plugin) {
  const auto library = SharedLibrary::open_plugin(plugin.file, plugin.is_global);
  if (!library) return missing_error(library.error().message, plugin.install);
  const auto functions = library->find<const Table* (*)()>(plugin.symbol);
  const Table* table = functions == nullptr ? nullptr : functions();
  if (table == nullptr || table->version != plugin.version)
    return missing_error(library->file() + " is of another version of comm-probe",
                         "install the one that was built with this program");
  return table;
}

}  // namespace comm_probe::core
