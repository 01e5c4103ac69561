#include "measure/engines/cuda/visible_devices.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "core/host.h"
#include "measure/engines/cuda/driver.h"

namespace comm_probe::measure::cuda {
namespace {

// What the child writes, at most PIPE_BUF bytes: one write, whole or nothing.
struct Answer {
  int count = 0;  // 0: `message` and `hint` say why
  std::array<char, 512> message{};
  std::array<char, 512> hint{};
};

void keep(const std::string& text, std::array<char, 512>& field) {
  std::strncpy(field.data(), text.c_str(), field.size() - 1);
}

Answer answer_of(const core::Result<const Driver*>& driver) {
  Answer answer;
  if (driver) {
    answer.count = (*driver)->devices();
  } else {
    keep(driver.error().message, answer.message);
    keep(driver.error().hint, answer.hint);
  }
  return answer;
}

core::Error no_answer() {
  return core::missing_error("a process that asked the CUDA driver for its GPUs did not answer",
                             "does nvidia-smi answer?");
}

core::Result<VisibleDevices> ask_in_child() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return no_answer();
  const pid_t child = ::fork();
  if (child == 0) {
    const Answer answer = answer_of(Driver::get());
    const bool told = ::write(ends[1], &answer, sizeof answer) == sizeof answer;
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  Answer answer;
  const bool heard = child > 0 && ::read(ends[0], &answer, sizeof answer) == sizeof answer;
  ::close(ends[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  if (!heard) return no_answer();
  if (answer.count < 1) return core::missing_error(answer.message.data(), answer.hint.data());
  return VisibleDevices{.count = answer.count, .driver_runs_here = false};
}

// Loading the library initialises nothing; it answers only where somebody has called cuInit.
bool driver_runs_here() {
  const auto library = core::SharedLibrary::open({"libcuda.so.1"});
  if (!library) return false;
  const auto count_devices = library->find<int (*)(int*)>("cuDeviceGetCount");
  int count = 0;
  return count_devices != nullptr && count_devices(&count) == kSuccess;
}

}  // namespace

core::Result<VisibleDevices> visible_devices() {
  if (driver_runs_here()) {
    const auto driver = Driver::get();
    if (!driver) return driver.error();
    return VisibleDevices{.count = (*driver)->devices(), .driver_runs_here = true};
  }
  static const core::Result<VisibleDevices> asked = ask_in_child();
  return asked;
}

bool launches_block() {
  const auto value = core::Host::real().environment("CUDA_LAUNCH_BLOCKING");
  return value && !value->empty() && *value != "0";
}

}  // namespace comm_probe::measure::cuda
