#include "measure/engines/cuda/driver.h"

#include <fmt/format.h>

#include <string_view>

namespace comm_probe::measure::cuda {
namespace {

constexpr const char* kHint =
    "the NVIDIA driver is needed (in a container: --gpus all); nvidia-smi says whether it is there";

// For Status::error, which has no driver at hand: set as soon as a library is bound.
Functions& bound() {
  static Functions functions;
  return functions;
}

std::string text_of(const Entry<int, const char**>& entry, int code) {
  const char* text = nullptr;
  if (!entry.is_there() || !entry(code, &text) || text == nullptr) return {};
  return text;
}

// "cuMemAlloc" of "cuMemAlloc_v2", as the documentation calls it
std::string_view documented(std::string_view symbol) { return symbol.substr(0, symbol.find("_v")); }

}  // namespace

core::Error Status::error() const {
  const std::string name = text_of(bound().cuGetErrorName, code_);
  const std::string text = text_of(bound().cuGetErrorString, code_);
  return core::missing_error(fmt::format("{} ({}) from {}{}{}", name.empty() ? "CUDA error" : name,
                                         code_, documented(symbol_), text.empty() ? "" : ": ",
                                         text));
}

core::Result<bool> Status::result() const {
  if (code_ != kSuccess) return error();
  return true;
}

core::Result<Functions> bind_functions(const core::SharedLibrary& library) {
  Functions functions;
  std::string missing;
#define COMM_PROBE_BIND(symbol, ...) functions.symbol.bind(library);
#define COMM_PROBE_NEED(symbol, ...) \
  if (!functions.symbol.is_there()) missing += std::string(missing.empty() ? "" : ", ") + #symbol;
  COMM_PROBE_CUDA_REQUIRED(COMM_PROBE_BIND)
  COMM_PROBE_CUDA_OPTIONAL(COMM_PROBE_BIND)
  COMM_PROBE_CUDA_REQUIRED(COMM_PROBE_NEED)
#undef COMM_PROBE_NEED
#undef COMM_PROBE_BIND
  if (!missing.empty())
    return core::missing_error(fmt::format("{} lacks {}", library.file(), missing),
                               "a driver of CUDA 11.4 or newer is needed");
  return functions;
}

core::Result<Driver> load_driver(const std::vector<std::string>& names) {
  const auto library = core::SharedLibrary::open(names);
  if (!library) return core::missing_error(library.error().message, kHint);
  const auto functions = bind_functions(*library);
  if (!functions) return functions.error();
  bound() = *functions;
  Driver driver(*functions);
  if (const auto status = driver.cuInit(0); !status)
    return core::missing_error(status.error().message, kHint);
  if (const auto status = driver.cuDriverGetVersion(&driver.version_); !status)
    return status.error();
  if (const auto status = driver.cuDeviceGetCount(&driver.devices_); !status) return status.error();
  if (driver.devices_ < 1)
    return core::missing_error("the CUDA driver sees no GPU",
                               "CUDA_VISIBLE_DEVICES may hide all of them");
  return driver;
}

core::Result<const Driver*> Driver::get() {
  static const core::Result<Driver> driver = load_driver({"libcuda.so.1"});
  if (!driver) return driver.error();
  return &*driver;
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace comm_probe::measure::cuda
