// A large file that a benchmark writes and reads: below TMPDIR, removed at the end whatever happens
// but a signal.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace comm_probe {

class TempFile {
 public:
  // `name` tells it from the files of other benchmarks.
  explicit TempFile(const std::string& name)
      : path_((std::filesystem::temp_directory_path() / ("comm-probe-bench-" + name + "-XXXXXX"))
                  .string()) {
    const int descriptor = mkstemp(path_.data());
    if (descriptor < 0) return;
    file_ = fdopen(descriptor, "w");
    if (file_ == nullptr) ::close(descriptor);
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() {
    finish();
    std::remove(path_.c_str());
  }

  // False once something could not be written (a full disk).
  bool write(const std::string& text) {
    if (file_ == nullptr || std::fwrite(text.data(), 1, text.size(), file_) != text.size())
      return is_whole_ = false;
    written_ += text.size();
    return true;
  }
  // Closes it; true where everything was written.
  bool finish() {
    if (file_ != nullptr && std::fclose(file_) != 0) is_whole_ = false;
    is_whole_ = is_whole_ && written_ > 0;
    file_ = nullptr;
    return is_whole_;
  }
  std::size_t written() const { return written_; }
  const std::string& path() const { return path_; }
  // For a command of the shell.
  std::string quoted() const { return "'" + path_ + "'"; }

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
  std::size_t written_ = 0;
  bool is_whole_ = true;
};

}  // namespace comm_probe
