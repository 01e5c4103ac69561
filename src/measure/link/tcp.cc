#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "measure/link/crew.h"
#include "measure/link/phases.h"

namespace comm_probe::measure {
namespace {

enum Series { kPing, kStream, kDuplex };
constexpr std::size_t kPiece = 256 * 1024;  // of one send or receive

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

core::Error failed(const char* what) {
  return core::missing_error(
      std::string("loopback tcp: cannot ") + what + ": " + std::strerror(errno),
      "is the interface lo up?");
}

core::Result<sockaddr_in> listen_on_loopback(int listener) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, raw, length) != 0 || ::listen(listener, 1) != 0 ||
      ::getsockname(listener, raw, &length) != 0)
    return failed("listen on 127.0.0.1");
  return address;
}

void send_small_at_once(int descriptor) {
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

bool move_all(int descriptor, std::byte* data, std::size_t bytes, bool is_sender) {
  while (bytes > 0) {
    const std::size_t piece = std::min(bytes, kPiece);
    const ssize_t moved = is_sender ? ::send(descriptor, data, piece, MSG_NOSIGNAL)
                                    : ::recv(descriptor, data, piece, 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    bytes -= static_cast<std::size_t>(moved);
  }
  return true;
}

// Sends and receives `bytes` at the same time from one thread.
bool move_both(int descriptor, std::byte* data, std::size_t bytes) {
  std::size_t to_send = bytes;
  std::size_t to_receive = bytes;
  while (to_send + to_receive > 0) {
    pollfd ready = {descriptor, 0, 0};
    if (to_send > 0) ready.events |= POLLOUT;
    if (to_receive > 0) ready.events |= POLLIN;
    if (::poll(&ready, 1, 5000) <= 0) return false;
    if ((ready.revents & POLLIN) != 0) {
      const ssize_t got = ::recv(descriptor, data, std::min(to_receive, kPiece), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
      if (got > 0) to_receive -= static_cast<std::size_t>(got);
    }
    if ((ready.revents & POLLOUT) != 0) {
      const ssize_t sent =
          ::send(descriptor, data, std::min(to_send, kPiece), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (sent > 0) to_send -= static_cast<std::size_t>(sent);
    }
  }
  return true;
}

struct TcpPlan {
  int blocks = 9;
  int rounds = 200;
  std::size_t bytes = std::size_t{16} << 20;
  double budget = 1;  // seconds, then three blocks are enough
};

void expect(bool moved) {
  if (!moved) ::_exit(1);  // the crew reports a member that ended with a status
}

void run_ping(Member& member, int descriptor, const TcpPlan& plan) {
  std::byte word = {};
  const double start = now_seconds();
  for (int i = 0; i < plan.rounds; ++i) {
    expect(move_all(descriptor, &word, 1, member.index() == 0));
    expect(move_all(descriptor, &word, 1, member.index() == 1));
  }
  if (member.index() == 0) member.record(kPing, (now_seconds() - start) / plan.rounds / 2);
}

void run_side(Member& member, int descriptor, const TcpPlan& plan) {
  static std::array<std::byte, kPiece> data = {};
  for (int block = 0; block < plan.blocks && member.wants_more(block, plan.budget); ++block) {
    run_ping(member, descriptor, plan);
    member.meet();
    double start = now_seconds();
    expect(move_all(descriptor, data.data(), plan.bytes, member.index() == 0));
    member.meet();
    if (member.index() == 0) member.record(kStream, now_seconds() - start);
    member.meet();
    start = now_seconds();
    expect(move_both(descriptor, data.data(), plan.bytes));
    member.meet();
    if (member.index() == 0) member.record(kDuplex, now_seconds() - start);
  }
}

}  // namespace

core::Result<TcpTimes> time_tcp(const std::vector<int>& pair, bool is_quick) {
  const Socket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listener.get() < 0) return failed("open a socket");
  const auto address = listen_on_loopback(listener.get());
  if (!address) return address.error();
  const Socket first(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(first.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0)
    return failed("connect to 127.0.0.1");
  const Socket second(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (second.get() < 0) return failed("accept on 127.0.0.1");
  send_small_at_once(first.get());
  send_small_at_once(second.get());
  const TcpPlan plan = is_quick ? TcpPlan{5, 100, std::size_t{4} << 20, 0.3} : TcpPlan{};
  const auto records = run_crew({.cpus = pair}, [&](Member& member) {
    run_side(member, member.index() == 0 ? first.get() : second.get(), plan);
  });
  if (!records) return records.error();
  return TcpTimes{summarize(records->of(0, kPing)), summarize(records->of(0, kStream)),
                  summarize(records->of(0, kDuplex)),
                  core::Bytes::of(static_cast<double>(plan.bytes)), records->preemptions};
}

}  // namespace comm_probe::measure
