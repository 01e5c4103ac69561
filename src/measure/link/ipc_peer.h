// A second process that opens GPU memory which this one shares (cuIpcGetMemHandle), and says how
// long that took. It is forked, so it must start before this process uses CUDA; it ends with this
// object, or with its parent.
#pragma once

#include <sys/types.h>

#include <vector>

#include "measure/engines/cuda/driver.h"

namespace comm_probe::measure {

struct IpcTimes {
  std::vector<double> open = {};   // seconds of cuIpcOpenMemHandle, one per turn
  std::vector<double> close = {};  // seconds of cuIpcCloseMemHandle
};

class IpcPeer {
 public:
  static core::Result<IpcPeer> start();
  IpcPeer(IpcPeer&& other) noexcept;
  IpcPeer& operator=(IpcPeer&&) = delete;
  ~IpcPeer();

  // Opens and closes the memory of GPU `device` some times in a row, at most 64.
  core::Result<IpcTimes> open(int device, const cuda::IpcHandle& handle, int turns);

 private:
  IpcPeer(pid_t process, int socket) : process_(process), socket_(socket) {}
  pid_t process_;
  int socket_;
};

}  // namespace comm_probe::measure
