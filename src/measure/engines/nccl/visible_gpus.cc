#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "core/host.h"
#include "measure/engines/cuda/resources.h"
#include "measure/engines/nccl/engine.h"

namespace comm_probe::measure::nccl {
namespace {

// "bus\tname\n" for each, or "!why\n".
std::string asked_here() {
  const auto driver = cuda::Driver::get();
  if (!driver) return "!" + driver.error().message + "\n";
  std::string text;
  for (int ordinal = 0; ordinal < (*driver)->devices(); ++ordinal) {
    int device = 0;
    std::array<char, 64> bus{};
    std::array<char, 128> name{};
    (*driver)->cuDeviceGet(&device, ordinal);
    (*driver)->cuDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()) - 1, device);
    (*driver)->cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device);
    text += fmt::format("{}\t{}\n", bus.data(), name.data());
  }
  return text;
}

std::string read_all(int from) {
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t got = 0; (got = ::read(from, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  return text;
}

// CUDA does not survive a fork: who counts here could start no rank afterwards.
std::string asked_in_a_process() {
  std::array<int, 2> pipe = {-1, -1};
  if (::pipe(pipe.data()) != 0) return "!cannot make a pipe\n";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = asked_here();
    const ssize_t written = ::write(pipe[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(pipe[1]);
  const std::string text = read_all(pipe[0]);
  ::close(pipe[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return text;
}

}  // namespace

core::Result<std::vector<Gpu>> visible_gpus() {
  static const std::string text = asked_in_a_process();
  if (text.empty() || text.front() == '!')
    return core::missing_error(
        text.size() > 2 ? text.substr(1, text.size() - 2) : "the CUDA driver does not answer",
        "nvidia-smi shows whether the driver works");
  std::vector<Gpu> gpus;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at), tab = text.find('\t', at);
    gpus.push_back({text.substr(at, tab - at), text.substr(tab + 1, end - tab - 1)});
    at = end + 1;
  }
  return gpus;
}

}  // namespace comm_probe::measure::nccl
