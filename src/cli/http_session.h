// One connection of `serve`: one request, one answer, closed. The rules stand in upload_server.h.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <string_view>

#include "cli/doctor_process.h"
#include "cli/upload.h"
#include "cli/upload_server.h"

namespace comm_probe::cli {

// What outlives the connection.
class SessionHome {
 public:
  virtual ~SessionHome() = default;
  virtual const ServerSettings& of_server() const = 0;
  // The machine's own name; empty where only this machine is served.
  virtual std::string_view machine() const = 0;
  virtual std::string new_folder() = 0;
  virtual void examine(const std::string& folder, Doctors::Done done) = 0;
  // The client of the upload in FOLDER went away.
  virtual void give_up(const std::string& folder) = 0;
  // For the files of all clients.
  virtual UploadRoom& room() = 0;
  // The page in FOLDER gets an id.
  virtual std::string keep_page(const std::string& folder) = 0;
  // Empty where there is no page of this id (any more).
  virtual std::string page_file(std::string_view id) const = 0;
  virtual void opened() = 0;
  virtual void closed() = 0;
  virtual bool is_crowded() const = 0;
};

void begin_session(boost::asio::ip::tcp::socket socket, SessionHome& home);

}  // namespace comm_probe::cli
