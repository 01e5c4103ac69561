// `doctor` over one folder, in a process of its own: what a hostile file does to it, it does to
// that process, which has a time limit, a memory limit and no open file of ours. A few run at once,
// the others wait in order. All that run at once share three quarters of the memory of the
// machine.
//
//   doctors.examine("/tmp/comm-probe-serve-x4TR9a/3f..", [](const Verdict& verdict) {...});
//   // comm-probe doctor --html page.html upload, in that folder
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/multipart.h"
#include "core/quantity.h"

namespace boost::asio {
class io_context;
}

namespace comm_probe::cli {

struct Verdict {
  Refused refused = {};  // nothing: FOLDER/page.html holds the page
  int exit_status = 0;
};

class Doctors {
 public:
  Doctors(boost::asio::io_context& context, core::Duration patience);
  ~Doctors();  // ends those that run
  Doctors(const Doctors&) = delete;
  Doctors& operator=(const Doctors&) = delete;

  using Done = std::function<void(const Verdict&)>;
  void examine(const std::string& folder, Done done);
  // Nobody waits for it any more: it is ended, or never begun, and `done` is told so.
  void give_up(const std::string& folder);

  static constexpr const char* kPage = "page.html";

 private:
  struct Ward;
  std::shared_ptr<Ward> ward_;
};

}  // namespace comm_probe::cli
