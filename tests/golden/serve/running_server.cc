#include "running_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

namespace comm_probe::test {
namespace {

constexpr std::chrono::seconds kPatience(20);

[[noreturn]] void become(const std::vector<std::string>& words, const std::string& folder,
                         int out) {
  ::dup2(out, STDOUT_FILENO);
  ::setenv("TMPDIR", folder.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(COMM_PROBE_BINARY, argv.data());
  ::_exit(127);
}

}  // namespace

RunningServer::RunningServer(const std::vector<std::string>& more) {
  static std::atomic<int> count = 0;
  folder_ = fmt::format("{}/serve{}-{}", testing::TempDir(), ::getpid(), ++count);
  std::filesystem::create_directories(folder_);
  std::vector<std::string> words = {"comm-probe", "serve", "--port", "0", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  process_ = ::fork();
  if (process_ == 0) become(words, folder_, ends[1]);
  ::close(ends[1]);
  read_announcement(ends[0]);
  ::close(ends[0]);
}

// Until it is a whole document: the pipe stays open.
void RunningServer::read_announcement(int from) {
  std::string text;
  std::array<char, 4096> block = {};
  while (!nlohmann::json::accept(text)) {
    pollfd waiting = {from, POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) <= 0)
      return;
    const ssize_t got = ::read(from, block.data(), block.size());
    if (got <= 0) return;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  const nlohmann::json result = nlohmann::json::parse(text).at("result");
  port_ = result.at("port").get<int>();
  address_ = result.at("address").get<std::string>();
}

std::vector<pid_t> RunningServer::children() const {
  std::ifstream list(fmt::format("/proc/{0}/task/{0}/children", process_));
  std::vector<pid_t> all;
  for (pid_t child; list >> child;) all.push_back(child);
  return all;
}

RunningServer::~RunningServer() {
  if (process_ > 0) stop(SIGKILL);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

int RunningServer::stop(int signal) {
  ::kill(process_, signal);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  int status = 0;
  while (::waitpid(process_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::size_t RunningServer::peak_memory() const {
  std::ifstream status(fmt::format("/proc/{}/status", process_));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6)) * 1024;  // in kB
  return 0;
}

Client::Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0)
    ADD_FAILURE() << "cannot connect to port " << port;
}
Client::~Client() { ::close(socket_); }

bool Client::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string Client::rest(std::chrono::seconds limit) const {
  const timeval patience = {.tv_sec = limit.count(), .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string text;
  std::array<char, 65536> block = {};
  for (ssize_t got; (got = ::recv(socket_, block.data(), block.size(), 0)) > 0;)
    text.append(block.data(), static_cast<std::size_t>(got));
  return text;
}

std::string Answer::header(const std::string& name) const {
  const std::size_t at = head.find("\r\n" + name + ": ");
  if (at == head.npos) return "";
  const std::size_t from = at + name.size() + 4;
  return head.substr(from, head.find("\r\n", from) - from);
}

Answer parse_answer(const std::string& text) {
  const std::size_t end = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.1 ") || end == text.npos) return {};
  return {std::stoi(text.substr(9, 3)), text.substr(0, end + 2), text.substr(end + 4)};
}

Answer ask(int port, std::string_view request) {
  const Client client(port);
  client.send(request);
  return parse_answer(client.rest());
}

Answer get(int port, const std::string& path) {
  return ask(port, fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", path, port));
}

std::string form_of(const std::vector<FormFile>& files) {
  std::string body;
  for (const FormFile& file : files)
    body += fmt::format(
        "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{}\"\r\n\r\n{}\r\n",
        file.name, file.content);
  return body + "--xyz--\r\n";
}

std::string post_of(const std::string& body, const std::string& more) {
  const std::string host = more.find("Host:") == more.npos ? "Host: localhost\r\n" : "";
  return fmt::format(
      "POST /doctor HTTP/1.1\r\n{}Content-Type: multipart/form-data; boundary=xyz\r\n"
      "{}Content-Length: {}\r\n\r\n{}",
      host, more, body.size(), body);
}

Answer post(int port, const std::vector<FormFile>& files, const std::string& more) {
  return ask(port, post_of(form_of(files), more));
}

}  // namespace comm_probe::test
