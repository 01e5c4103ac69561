#include "measure/engines/nccl/meeting.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace comm_probe::measure::nccl {
namespace {

using core::Result;
using Clock = std::chrono::steady_clock;

// A stray connection (a port scanner, another job) does not begin so.
constexpr char kGreeting[8] = {'c', 'o', 'm', 'm', 'p', 'r', 'b', '1'};
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

struct Greeting {
  char word[8];
  std::int32_t rank;
  std::int32_t size;
};

class Socket {
 public:
  explicit Socket(int number = -1) : number_(number) {}
  Socket(Socket&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Socket() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

  bool send_all(const void* data, std::size_t size) const {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t sent = ::send(number_, at, size, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      at += sent;
      size -= static_cast<std::size_t>(sent);
    }
    return true;
  }
  bool receive_all(void* data, std::size_t size) const {
    char* at = static_cast<char*>(data);
    while (size > 0) {
      const ssize_t got = ::recv(number_, at, size, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      at += got;
      size -= static_cast<std::size_t>(got);
    }
    return true;
  }
  bool send_text(const std::string& text) const {
    const std::uint64_t size = text.size();
    return send_all(&size, sizeof size) && send_all(text.data(), text.size());
  }
  bool receive_text(std::string& text) const {
    std::uint64_t size = 0;
    if (!receive_all(&size, sizeof size) || size > kMostBytes) return false;
    text.resize(size);
    return receive_all(text.data(), text.size());
  }
  void send_at_once() const {
    const int on = 1;
    ::setsockopt(number_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  // Reading gives up after so long; zero: never.
  void wait_at_most(std::chrono::seconds longest) const {
    const timeval limit = {static_cast<time_t>(longest.count()), 0};
    ::setsockopt(number_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }

 private:
  int number_;
};

core::Error gone(int rank) {
  return core::missing_error(fmt::format("rank {} has left the run", rank));
}

class TcpMeeting : public Meeting {
 public:
  TcpMeeting(int rank, std::vector<Socket> others) : rank_(rank), others_(std::move(others)) {}

  Result<std::vector<std::string>> gather(const std::string& mine) override {
    std::vector<std::string> all;
    if (rank_ != 0) {
      if (!others_.front().send_text(mine)) return gone(0);
      return all;
    }
    all.push_back(mine);
    for (std::size_t other = 0; other < others_.size(); ++other)
      if (!others_[other].receive_text(all.emplace_back()))
        return gone(static_cast<int>(other) + 1);
    return all;
  }
  Result<std::string> broadcast(const std::string& mine) override {
    if (rank_ != 0) {
      std::string text;
      if (!others_.front().receive_text(text)) return gone(0);
      return text;
    }
    for (std::size_t other = 0; other < others_.size(); ++other)
      if (!others_[other].send_text(mine)) return gone(static_cast<int>(other) + 1);
    return mine;
  }

 private:
  int rank_;
  std::vector<Socket> others_;  // of the first rank: all others in order; else: the first
};

class MpiMeeting : public Meeting {
 public:
  explicit MpiMeeting(core::Crew crew) : crew_(std::move(crew)) {}
  Result<std::vector<std::string>> gather(const std::string& mine) override {
    return crew_.gather(mine);
  }
  Result<std::string> broadcast(const std::string& mine) override { return crew_.broadcast(mine); }

 private:
  core::Crew crew_;
};

class Alone : public Meeting {
 public:
  Result<std::vector<std::string>> gather(const std::string& mine) override {
    return std::vector<std::string>{mine};
  }
  Result<std::string> broadcast(const std::string& mine) override { return mine; }
};

core::Error system_error(const std::string& what) {
  return core::missing_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

Result<Socket> listen_on(int port, in_addr_t address) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  name.sin_addr.s_addr = address;
  if (::bind(socket.number(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(socket.number(), SOMAXCONN) != 0)
    return system_error(fmt::format("cannot listen on port {} for the other ranks", port));
  return socket;
}

std::string missing_ranks(const std::vector<Socket>& others) {
  std::vector<int> missing;
  for (std::size_t at = 0; at < others.size(); ++at)
    if (!others[at].is_open()) missing.push_back(static_cast<int>(at) + 1);
  constexpr std::size_t kShown = 8;
  const std::size_t shown = std::min(missing.size(), kShown);
  return fmt::format("{}{}",
                     fmt::join(missing.begin(), missing.begin() + static_cast<long>(shown), ", "),
                     missing.size() > shown ? ", ..." : "");
}

// The rank that greets through this connection; -1: somebody else.
int greeted_by(const Socket& socket, int size) {
  Greeting greeting = {};
  socket.wait_at_most(std::chrono::seconds(5));
  if (!socket.receive_all(&greeting, sizeof greeting)) return -1;
  if (std::memcmp(greeting.word, kGreeting, sizeof kGreeting) != 0) return -1;
  if (greeting.size != size || greeting.rank < 1 || greeting.rank >= size) return -1;
  socket.wait_at_most(std::chrono::seconds(0));
  return greeting.rank;
}

Result<std::vector<Socket>> accept_all(const Socket& listening, const Meeting::Place& place) {
  std::vector<Socket> others;
  for (int rank = 1; rank < place.size; ++rank) others.emplace_back();
  const auto deadline = Clock::now() + place.patience;
  for (int come = 1; come < place.size;) {
    pollfd waiting = {listening.number(), POLLIN, 0};
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0)
      return core::missing_error(
          fmt::format("rank {} of {} did not come within {} s", missing_ranks(others), place.size,
                      place.patience.count()),
          "every rank has to reach the address of rank 0 (MASTER_ADDR)");
    Socket socket(::accept4(listening.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.is_open()) continue;
    const int rank = greeted_by(socket, place.size);
    if (rank < 0 || others[static_cast<std::size_t>(rank - 1)].is_open()) continue;
    socket.send_at_once();
    others[static_cast<std::size_t>(rank - 1)] = std::move(socket);
    ++come;
  }
  return others;
}

Result<Socket> connect_once(const Meeting::Place& place) {
  addrinfo wanted = {};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(place.port);
  if (const int status = ::getaddrinfo(place.address.c_str(), port.c_str(), &wanted, &found);
      status != 0)
    return core::missing_error(
        fmt::format("'{}' is no address of rank 0: {}", place.address, ::gai_strerror(status)));
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int status = ::connect(socket.number(), found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  if (status != 0)
    return system_error(fmt::format("cannot reach rank 0 at {}:{}", place.address, place.port));
  return socket;
}

Result<std::vector<Socket>> reach_first(const Meeting::Place& place) {
  const auto deadline = Clock::now() + place.patience;
  while (true) {
    auto socket = connect_once(place);
    if (socket) {
      Greeting greeting = {{}, place.rank, place.size};
      std::memcpy(greeting.word, kGreeting, sizeof kGreeting);
      socket->send_at_once();
      if (!socket->send_all(&greeting, sizeof greeting)) return gone(0);
      std::vector<Socket> others;
      others.push_back(std::move(*socket));
      return others;
    }
    if (Clock::now() > deadline) return socket.error();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

Result<bool> Meeting::barrier() {
  if (const auto all = gather(""); !all) return all.error();
  if (const auto go = broadcast(""); !go) return go.error();
  return true;
}

std::unique_ptr<Meeting> Meeting::alone() { return std::make_unique<Alone>(); }

std::unique_ptr<Meeting> Meeting::over_mpi(core::Crew crew) {
  return std::make_unique<MpiMeeting>(std::move(crew));
}

Result<std::unique_ptr<Meeting>> Meeting::over_tcp(const Place& place) {
  if (place.size <= 1) return alone();
  if (place.rank != 0) {
    auto first = reach_first(place);
    if (!first) return first.error();
    return std::unique_ptr<Meeting>(std::make_unique<TcpMeeting>(place.rank, std::move(*first)));
  }
  Result<Socket> listening = place.listening >= 0 ? Result<Socket>(Socket(place.listening))
                                                  : listen_on(place.port, htonl(INADDR_ANY));
  if (!listening) return listening.error();
  auto others = accept_all(*listening, place);
  if (!others) return others.error();
  return std::unique_ptr<Meeting>(std::make_unique<TcpMeeting>(0, std::move(*others)));
}

Result<LocalListener> listen_locally() {
  auto socket = listen_on(0, htonl(INADDR_LOOPBACK));
  if (!socket) return socket.error();
  sockaddr_in name = {};
  socklen_t size = sizeof name;
  if (::getsockname(socket->number(), reinterpret_cast<sockaddr*>(&name), &size) != 0)
    return system_error("a listening socket has no name");
  LocalListener listener;
  listener.port = ntohs(name.sin_port);
  listener.socket = ::dup(socket->number());
  return listener;
}

}  // namespace comm_probe::measure::nccl
