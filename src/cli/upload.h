// The files of one upload, in a folder of their own that goes with the object. What a client calls
// a file is a wish: it never leads out of the folder, and no file of another upload is touched.
//
//   safe_name("../../etc/passwd")      // "etc/passwd"
//   safe_name("logs\\rank 0.log")      // "logs/rank_0.log"
//   safe_name("..")                    // "file"
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cli/multipart.h"
#include "core/quantity.h"

namespace comm_probe::cli {

// A relative path of at most 8 folders, without "." and "..", whose characters mean nothing to a
// shell or a terminal.
std::string safe_name(std::string_view wish);

// On the disk, for the uploads of all clients together.
struct UploadRoom {
  core::Bytes most = {};
  core::Bytes held = {};
  bool has(core::Bytes more) const { return held + more <= most; }
  // Why no more is taken at this moment.
  Refusal refusal() const;
};

class Upload : public FormParts {
 public:
  // Files go below FOLDER/upload; FOLDER is made, and removed with the object unless kept. What
  // they hold counts in `room` as long as they are there.
  Upload(std::string folder, UploadRoom& room);
  ~Upload() override;
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  Refused begin(const FormPart& part) override;
  Refused data(std::string_view bytes) override;
  Refused end() override;

  const std::string& folder() const { return folder_; }
  std::size_t files() const { return files_; }
  core::Bytes bytes() const { return bytes_; }  // that were sent
  // What was sent goes, the rest of the folder stays.
  void remove_files();
  void keep() { is_kept_ = true; }

  static constexpr const char* kFiles = "upload";

 private:
  int open_new(const std::string& name);
  void give_back();
  void close();

  std::string folder_;
  UploadRoom& room_;
  std::map<std::string, int> taken_ = {};  // names, and how often they were asked for
  int file_ = -1;
  std::size_t files_ = 0;
  core::Bytes bytes_ = {};
  core::Bytes held_ = {};  // of the room
  bool is_kept_ = false;
};

}  // namespace comm_probe::cli
