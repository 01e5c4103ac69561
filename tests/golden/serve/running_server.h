// `comm-probe serve` as a process, and a client that writes exactly the bytes it is told to.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace comm_probe::test {

class RunningServer {
 public:
  // Words behind "serve --port 0 --json". It keeps its files below temporary_folder().
  explicit RunningServer(const std::vector<std::string>& more = {});
  ~RunningServer();
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  int port() const { return port_; }
  std::string address() const { return address_; }
  const std::string& temporary_folder() const { return folder_; }
  // Sends the signal; the exit status, or -1 where it does not end in time.
  int stop(int signal);
  // The processes that it has started and that still run: its keeper, and doctors.
  std::vector<pid_t> children() const;
  // The most memory that it ever held (VmHWM), in bytes.
  std::size_t peak_memory() const;

 private:
  void read_announcement(int from);

  std::string folder_;
  pid_t process_ = -1;
  int port_ = 0;
  std::string address_ = {};
};

// One connection to 127.0.0.1.
class Client {
 public:
  explicit Client(int port);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // False where the other side has closed.
  bool send(std::string_view bytes) const;
  // Everything until the other side closes; what came where it is longer than `limit`.
  std::string rest(std::chrono::seconds limit = std::chrono::seconds(60)) const;

 private:
  int socket_ = -1;
};

struct Answer {
  int status = 0;
  std::string head = {};
  std::string body = {};
  // Of a header; empty where it is absent.
  std::string header(const std::string& name) const;
};
Answer parse_answer(const std::string& text);

Answer ask(int port, std::string_view request);
Answer get(int port, const std::string& path);

struct FormFile {
  std::string name;
  std::string content;
};
std::string form_of(const std::vector<FormFile>& files);
// The whole request; `more` are headers, each with its line end.
std::string post_of(const std::string& body, const std::string& more = "");
Answer post(int port, const std::vector<FormFile>& files, const std::string& more = "");

}  // namespace comm_probe::test
