#include "cli/upload.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/units.h"
#include "report/utf8.h"

namespace comm_probe::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 4096;
constexpr std::size_t kMostFolders = 8;
constexpr std::size_t kLongestWord = 100;  // of a path; file systems take 255 bytes
constexpr std::string_view kSigns = "._-+=@";

// Letters of any script; nothing that a shell, a terminal or a URL takes for more than a letter.
std::string safe_word(std::string_view word) {
  std::string safe;
  while (!word.empty()) {
    const report::CodePoint point = report::first_code_point(word);
    const char first = word.front();
    const bool is_letter = point.value >= 0x80
                               ? !report::is_control(point.value)
                               : std::isalnum(static_cast<unsigned char>(first)) != 0 ||
                                     kSigns.find(first) != kSigns.npos;
    if (point.valid && is_letter && safe.size() + point.length <= kLongestWord)
      safe += word.substr(0, point.length);
    else if (safe.size() < kLongestWord)
      safe += '_';
    word.remove_prefix(point.length);
  }
  return safe;
}

Refusal cannot_keep(int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT;
  return {is_full ? 507 : 500, fmt::format("cannot keep the upload: {}{}", std::strerror(error),
                                           is_full ? "; start serve with another TMPDIR" : "")};
}

}  // namespace

std::string safe_name(std::string_view wish) {
  std::vector<std::string> words;
  while (!wish.empty()) {
    const std::size_t end = std::min(wish.find_first_of("/\\"), wish.size());
    const std::string_view word = wish.substr(0, end);
    if (!word.empty() && word != "." && word != "..") words.push_back(safe_word(word));
    wish.remove_prefix(std::min(end + 1, wish.size()));
  }
  if (words.empty()) return "file";
  std::string name;
  const std::size_t from = words.size() - std::min(words.size(), kMostFolders + 1);
  for (std::size_t i = from; i < words.size(); ++i) name += (i == from ? "" : "/") + words[i];
  return name;
}

Refusal UploadRoom::refusal() const {
  return {503, fmt::format("the uploads of all clients together would hold more than {} (--total); "
                           "try again when others are done",
                           core::format_bytes(most))};
}

Upload::Upload(std::string folder, UploadRoom& room) : folder_(std::move(folder)), room_(room) {
  ::mkdir(folder_.c_str(), S_IRWXU);
}

Upload::~Upload() {
  close();
  std::error_code ignored;
  if (!is_kept_) fs::remove_all(folder_, ignored);
  give_back();
}

void Upload::give_back() {
  room_.held = room_.held - held_;
  held_ = {};
}

// The second file of a name stands in a folder of its own, "2/rank0.log": names tell ranks.
int Upload::open_new(const std::string& name) {
  const int times = ++taken_[name];
  fs::path path = fs::path(folder_) / kFiles;
  if (times > 1) path /= std::to_string(times);
  path /= name;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return errno = error.value(), -1;
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                S_IRUSR | S_IWUSR);
}

Refused Upload::begin(const FormPart& part) {
  close();
  if (!part.file_name || part.file_name->empty()) return std::nullopt;  // no file was chosen
  if (files_ == kMostFiles)
    return Refusal{413, fmt::format("the upload holds more than {} files; name their folder to "
                                    "comm-probe doctor instead",
                                    kMostFiles)};
  const std::string name = safe_name(*part.file_name);
  file_ = open_new(name);
  // "a" was a file before "a/b" made it a folder, or "2/a" is the wish of somebody
  while (file_ < 0 && (errno == EEXIST || errno == ENOTDIR || errno == EISDIR) &&
         taken_[name] < static_cast<int>(kMostFiles))
    file_ = open_new(name);
  if (file_ < 0) return cannot_keep(errno);
  ++files_;
  return std::nullopt;
}

Refused Upload::data(std::string_view bytes) {
  const core::Bytes size = core::Bytes::of(static_cast<std::uint64_t>(bytes.size()));
  bytes_ += size;
  if (file_ >= 0 && !room_.has(size)) return room_.refusal();
  if (file_ >= 0) {
    held_ += size;
    room_.held += size;
  }
  while (file_ >= 0 && !bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return cannot_keep(errno);
    bytes.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
  return std::nullopt;
}

Refused Upload::end() {
  close();
  return std::nullopt;
}

void Upload::remove_files() {
  std::error_code ignored;
  fs::remove_all(fs::path(folder_) / kFiles, ignored);
  give_back();
}

void Upload::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

}  // namespace comm_probe::cli
