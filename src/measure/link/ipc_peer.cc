#include "measure/link/ipc_peer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "measure/clock.h"
#include "measure/engines/cuda/resources.h"

namespace comm_probe::measure {
namespace {

constexpr int kMostTurns = 64;

struct Request {
  int device = 0;
  int turns = 0;
  cuda::IpcHandle handle = {};
};
struct Answer {
  bool is_ok = false;
  std::array<char, 256> message = {};  // why not
  std::array<double, kMostTurns> open = {};
  std::array<double, kMostTurns> close = {};
};

template <class T>
bool send_whole(int socket, const T& value) {
  return ::send(socket, &value, sizeof value, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof value);
}
template <class T>
bool receive_whole(int socket, T& value) {
  return ::recv(socket, &value, sizeof value, MSG_WAITALL) == static_cast<ssize_t>(sizeof value);
}

core::Result<bool> turn(const Request& request, int index, Answer& answer) {
  const auto& api = cuda::driver();
  cuda::Address address = 0;
  const double begin = now_seconds();
  if (const auto status =
          api.cuIpcOpenMemHandle_v2(&address, request.handle, cuda::kIpcLazyPeerAccess);
      !status)
    return status.error();
  const double opened = now_seconds();
  if (const auto status = api.cuIpcCloseMemHandle(address); !status) return status.error();
  answer.open[static_cast<std::size_t>(index)] = opened - begin;
  answer.close[static_cast<std::size_t>(index)] = now_seconds() - opened;
  return true;
}

Answer answer_to(const Request& request) {
  Answer answer;
  core::Result<bool> done = true;
  const auto context = cuda::Context::open(request.device);
  if (!context) done = context.error();
  for (int i = 0; done && i < std::min(request.turns, kMostTurns); ++i)
    done = turn(request, i, answer);
  answer.is_ok = done.ok();
  if (!done)
    std::strncpy(answer.message.data(), done.error().message.c_str(), answer.message.size() - 1);
  return answer;
}

[[noreturn]] void serve(int socket) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Request request;
  while (receive_whole(socket, request))
    if (!send_whole(socket, answer_to(request))) break;
  ::_exit(0);
}

}  // namespace

core::Result<IpcPeer> IpcPeer::start() {
  std::array<int, 2> ends = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return core::missing_error(fmt::format("cannot make a pair of sockets: {}", strerror(errno)));
  const pid_t process = ::fork();
  if (process < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return core::missing_error(fmt::format("cannot start a second process: {}", strerror(errno)));
  }
  if (process == 0) {
    ::close(ends[0]);
    serve(ends[1]);
  }
  ::close(ends[1]);
  return IpcPeer(process, ends[0]);
}

IpcPeer::IpcPeer(IpcPeer&& other) noexcept
    : process_(std::exchange(other.process_, -1)), socket_(std::exchange(other.socket_, -1)) {}

IpcPeer::~IpcPeer() {
  if (process_ < 0) return;
  ::close(socket_);
  ::waitpid(process_, nullptr, 0);
}

core::Result<IpcTimes> IpcPeer::open(int device, const cuda::IpcHandle& handle, int turns) {
  turns = std::clamp(turns, 1, kMostTurns);
  Answer answer;
  if (!send_whole(socket_, Request{device, turns, handle}) || !receive_whole(socket_, answer))
    return core::missing_error("the second process ended early");
  if (!answer.is_ok)
    return core::missing_error(fmt::format("in the second process: {}", answer.message.data()));
  return IpcTimes{{answer.open.begin(), answer.open.begin() + turns},
                  {answer.close.begin(), answer.close.begin() + turns}};
}

}  // namespace comm_probe::measure
