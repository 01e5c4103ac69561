// HTTP on one address for `serve`: the page to drop files on, uploads, doctor's pages. One thread,
// no connection waits for another: a slow client costs a few kilobytes until its time is over.
//
//   GET  /             the page to drop files on
//   POST /doctor       multipart/form-data with files -> 303, Location: /page/ID
//   GET  /page/ID      what doctor says of them
//
// Only this machine's own names are answered to, and only pages of our own may post: a page from
// elsewhere that a browser shows cannot reach it, not even by a name that it lets point here (DNS
// rebinding). With a `token` every path begins with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/quantity.h"
#include "core/result.h"

namespace comm_probe::cli {

struct ServerSettings {
  std::string bind = "127.0.0.1";
  int port = 0;  // 0: any free one
  std::string token = {};
  core::Bytes limit = {};        // of one upload
  core::Bytes total = {};        // of all uploads at one time
  core::Duration patience = {};  // with one run of doctor
  core::Duration idle = {};      // with a client that sends nothing
  std::string folder = {};       // private to us; what is in it goes with the program
  std::string page = {};         // to drop files on
  std::function<void(const std::string&)> tell = {};  // one line for every upload
};

class UploadServer {
 public:
  static core::Result<UploadServer> listen(ServerSettings settings);
  UploadServer(UploadServer&&) noexcept;
  UploadServer& operator=(UploadServer&&) = delete;
  ~UploadServer();

  // "http://127.0.0.1:8642/"
  const std::string& address() const;
  int port() const;
  // Until SIGINT, SIGTERM or SIGHUP, which it returns.
  int run();

 private:
  struct State;
  explicit UploadServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// 128 bits of the kernel, as 32 hexadecimal digits.
std::string random_word();

}  // namespace comm_probe::cli
