// The CUDA driver as the program finds it at run time (libcuda.so.1): a table of its functions, and
// the one place where a CUresult becomes an error.
//
//   const auto found = cuda::Driver::get();  // loaded and initialised once per process
//   if (!found) return found.error();        // "libcuda.so.1 does not load: ..."
//   const Driver& driver = **found;
//   if (const auto status = driver.cuMemAlloc_v2(&address, bytes); !status)
//     return status.error();  // "CUDA_ERROR_OUT_OF_MEMORY (2) from cuMemAlloc: out of memory"
//
// A process that has called `get` must not fork into one that uses CUDA: fork before.
#pragma once

#include <string>
#include <vector>

#include "core/quantity.h"
#include "core/result.h"
#include "core/shared_library.h"
#include "measure/engines/cuda/driver_abi.h"

namespace comm_probe::measure::cuda {

// What a call of the driver said. True is success.
class Status {
 public:
  Status(int code, const char* symbol) : code_(code), symbol_(symbol) {}
  explicit operator bool() const { return code_ == kSuccess; }
  int code() const { return code_; }
  core::Error error() const;
  core::Result<bool> result() const;  // true, or the error

 private:
  int code_;
  const char* symbol_;
};

template <class... Parameters>
class Entry {
 public:
  using Function = int (*)(Parameters...);
  explicit constexpr Entry(const char* symbol) : symbol_(symbol) {}

  Status operator()(Parameters... parameters) const {
    COMM_PROBE_CHECK(function_ != nullptr, "a function that the driver lacks was called");
    return Status(function_(parameters...), symbol_);
  }
  bool is_there() const { return function_ != nullptr; }
  const char* symbol() const { return symbol_; }
  void bind(const core::SharedLibrary& library) { function_ = library.find<Function>(symbol_); }

 private:
  const char* symbol_;
  Function function_ = nullptr;
};

struct Functions {
#define COMM_PROBE_ENTRY(symbol, ...) Entry<__VA_ARGS__> symbol{#symbol};
  COMM_PROBE_CUDA_REQUIRED(COMM_PROBE_ENTRY)
  COMM_PROBE_CUDA_OPTIONAL(COMM_PROBE_ENTRY)
#undef COMM_PROBE_ENTRY
};

// Binds every function. Fails where a required symbol is missing; the error names it.
core::Result<Functions> bind_functions(const core::SharedLibrary& library);

// "13.0" of 13000
std::string version_text(int version);

class Driver : public Functions {
 public:
  // Fails where the library is missing or too old, or finds no device (cuInit).
  static core::Result<const Driver*> get();

  int version() const { return version_; }
  int devices() const { return devices_; }  // as CUDA_VISIBLE_DEVICES leaves them, at least 1

 private:
  explicit Driver(Functions functions) : Functions(functions) {}
  friend core::Result<Driver> load_driver(const std::vector<std::string>& names);

  int version_ = 0;
  int devices_ = 0;
};

// `get` without its memory, for the names of any library.
core::Result<Driver> load_driver(const std::vector<std::string>& names);

}  // namespace comm_probe::measure::cuda
