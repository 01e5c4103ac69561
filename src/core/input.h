// Bytes in: a file, standard input ("-"), or every file below a directory; .gz and .zst are
// recognised by content and unpacked while reading. Memory is one block, whatever the size of the
// file. Files are read, not mapped: a log that is rotated or cut while we read it must not kill the
// program (docs/adr/0002-read-not-mmap.md).
//
//   auto input = Input::open("run.txt.gz");
//   if (!input) return input.error();
//   LineReader lines(*input);
//   Line line;
//   while (lines.next(line)) ...
//   if (lines.error()) ...            // what stood before the error was delivered
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace comm_probe::core {

// The files meant by the paths of a command line, sorted: a file is itself, "-" is standard input,
// a directory means every regular file below it (hidden files and truth.json left out, links to
// directories not followed). What lies there and is no file (special_kind) is left out, and named
// in `special` where that is given. Fails where a directory cannot be listed or holds no file; a
// file that does not exist fails when it is opened.
Result<std::vector<std::string>> expand_paths(const std::vector<std::string>& paths,
                                              std::vector<std::string>* special = nullptr);

// "a named pipe", "a socket", "a device": what a path is that is neither file nor directory; links
// are followed. To open such a thing may wait for ever. Nothing where the path does not exist.
std::optional<std::string> special_kind(const std::string& path);

// What a file is by its device and inode: two paths or links of one file are equal. Nothing where
// it does not exist.
using FileIdentity = std::pair<std::uint64_t, std::uint64_t>;
std::optional<FileIdentity> file_identity(const std::string& path);

class Input {
 public:
  // Fails where the file does not exist, cannot be read, is a directory or a device (but /dev/null
  // and a terminal). A pipe is read as it comes.
  static Result<Input> open(const std::string& path);
  // Bytes that are in memory already (tests, fuzzing); also unpacked when they are packed.
  static Input from_memory(std::string name, std::string bytes);
  Input(Input&&) noexcept;
  Input& operator=(Input&&) noexcept;
  ~Input();

  // As messages should name it: the path, or "standard input".
  const std::string& name() const;
  // The first up to 64 KiB of unpacked bytes; consumes nothing. Empty for an empty input.
  std::string_view head();
  // Why not a single byte could be had (packed data cut before its first block); nothing where the
  // input is empty or begins.
  std::optional<Error> unreadable();
  // The next block of unpacked bytes, empty at the end; valid until the next call. Fails on a read
  // error and on damaged or cut packed data (with the offset), after every byte before the damage
  // was delivered.
  Result<std::string_view> next();
  // Everything that is left, at most `limit` bytes: fails when there is more.
  Result<std::string> read_all(std::uint64_t limit);

 private:
  struct State;
  explicit Input(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct Line {
  // without "\n", without "\r" before it, the first one without a UTF-8 byte order mark
  std::string_view text = {};
  std::uint64_t number = 0;      // from 1
  std::uint64_t offset = 0;      // of its first byte, unpacked
  bool ended = false;            // false: the input ended without "\n"
  bool carriage_return = false;  // "\r" stood before "\n"
  bool cut = false;              // longer than kLongestLine: `text` is its beginning
};

class LineReader {
 public:
  static constexpr std::size_t kLongestLine = 1 << 20;

  explicit LineReader(Input& input) : input_(input) {}
  // False at the end or at an error. `line.text` is valid until the next call.
  bool next(Line& line);
  const std::optional<Error>& error() const { return error_; }

 private:
  bool refill();
  void deliver(Line& line, std::string_view text, bool ended);
  void keep(std::string_view piece);

  Input& input_;
  std::string_view block_ = {};
  std::string carry_ = {};
  bool carry_cut_ = false;
  bool at_end_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t line_offset_ = 0;
  std::optional<Error> error_ = {};
};

// What the first bytes of an input look like; nothing about NCCL or PyTorch is known here.
enum class ContentClass { kEmpty, kZeros, kUtf16, kBinary, kJson, kXml, kText };
ContentClass classify_content(std::string_view head);
// For messages: "an empty file", "a PNG image", "UTF-16 text", "binary data", "text".
std::string describe_content(std::string_view head);

}  // namespace comm_probe::core
