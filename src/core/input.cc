#include "core/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/unpack.h"

namespace comm_probe::core {
namespace {

constexpr std::size_t kBlock = 1 << 20;
constexpr std::size_t kHead = 64 << 10;

// Raw bytes of a descriptor.
class FileSource : public ByteSource {
 public:
  FileSource(int descriptor, std::string name)
      : descriptor_(descriptor),
        name_(std::move(name)),
        buffer_(std::make_unique_for_overwrite<char[]>(kBlock)) {}
  ~FileSource() override {
    if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  Result<std::string_view> next() override {
    ssize_t got = 0;
    do {
      got = ::read(descriptor_, buffer_.get(), kBlock);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      Error error = input_error(fmt::format("cannot read: {}", std::strerror(errno)));
      error.where = {name_, std::nullopt, offset_};
      return error;
    }
    offset_ += static_cast<std::uint64_t>(got);
    return std::string_view(buffer_.get(), static_cast<std::size_t>(got));
  }

 private:
  int descriptor_;
  std::string name_;
  std::unique_ptr<char[]> buffer_;
  std::uint64_t offset_ = 0;
};

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}
  Result<std::string_view> next() override {
    const std::string_view all = done_ ? std::string_view() : std::string_view(bytes_);
    done_ = true;
    return all;
  }

 private:
  std::string bytes_;
  bool done_ = false;
};

// Puts back what was looked at: first `front`, then the rest of `source`.
class FrontSource : public ByteSource {
 public:
  FrontSource(std::string front, std::unique_ptr<ByteSource> source)
      : front_(std::move(front)), source_(std::move(source)) {}
  Result<std::string_view> next() override {
    if (!front_given_ && !front_.empty()) {
      front_given_ = true;
      return std::string_view(front_);
    }
    return source_->next();
  }

 private:
  std::string front_;
  std::unique_ptr<ByteSource> source_;
  bool front_given_ = false;
};

// Reads until `want` bytes are there, the source ends or fails; an error is left for the next
// reader of the source.
std::string take_front(ByteSource& source, std::size_t want, std::optional<Error>& error) {
  std::string front;
  while (front.size() < want) {
    Result<std::string_view> block = source.next();
    if (!block) {
      error = block.error();
      break;
    }
    if (block->empty()) break;
    front.append(*block);
  }
  return front;
}

std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> raw, const std::string& name) {
  std::optional<Error> ignored;  // comes again from the source when it is read
  std::string front = take_front(*raw, 4, ignored);
  const Packing packing = detect_packing(front);
  auto whole = std::make_unique<FrontSource>(std::move(front), std::move(raw));
  return unpack(packing, std::move(whole), name);
}

// A disk or /dev/zero: what it gives has no end that anybody would wait for.
bool is_endless(const struct stat& status, int descriptor) {
  if (S_ISBLK(status.st_mode)) return true;
  const bool is_null = status.st_rdev == makedev(1, 3);
  return S_ISCHR(status.st_mode) && !is_null && ::isatty(descriptor) == 0;
}

}  // namespace

struct Input::State {
  std::string name;
  std::unique_ptr<ByteSource> source;
  bool head_taken = false;
  std::string head = {};
  bool head_given = false;
  std::optional<Error> head_error = {};
};

Input::Input(std::unique_ptr<State> state) : state_(std::move(state)) {}
Input::Input(Input&&) noexcept = default;
Input& Input::operator=(Input&&) noexcept = default;
Input::~Input() = default;

Result<Input> Input::open(const std::string& path) {
  const bool is_stdin = path == "-";
  const std::string name = is_stdin ? "standard input" : path;
  const int descriptor = is_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto failed = [&](std::string why) {
    Error error = input_error(std::move(why));
    error.where.file = name;
    return error;
  };
  if (descriptor < 0) return failed(fmt::format("cannot open: {}", std::strerror(errno)));
  auto raw = std::make_unique<FileSource>(descriptor, name);
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0)
    return failed(fmt::format("cannot stat: {}", std::strerror(errno)));
  if (S_ISDIR(status.st_mode)) return failed("is a directory, expected a file");
  if (!is_stdin && is_endless(status, descriptor)) return failed("is a device, expected a file");
  return Input(std::make_unique<State>(State{name, unpacked(std::move(raw), name)}));
}

Input Input::from_memory(std::string name, std::string bytes) {
  auto source = unpacked(std::make_unique<MemorySource>(std::move(bytes)), name);
  return Input(std::make_unique<State>(State{std::move(name), std::move(source)}));
}

const std::string& Input::name() const { return state_->name; }

std::string_view Input::head() {
  if (!state_->head_taken) {
    state_->head_taken = true;
    state_->head = take_front(*state_->source, kHead, state_->head_error);
  }
  return std::string_view(state_->head).substr(0, kHead);
}

std::optional<Error> Input::unreadable() {
  return head().empty() ? state_->head_error : std::nullopt;
}

Result<std::string_view> Input::next() {
  if (state_->head_taken && !state_->head_given) {
    state_->head_given = true;
    if (!state_->head.empty()) return std::string_view(state_->head);
  }
  if (state_->head_error) return *state_->head_error;
  return state_->source->next();
}

Result<std::string> Input::read_all(std::uint64_t limit) {
  std::string all;
  while (true) {
    Result<std::string_view> block = next();
    if (!block) return block.error();
    if (block->empty()) return all;
    if (all.size() + block->size() > limit) {
      Error error = input_error(
          fmt::format("is larger than {} bytes, the most that is read of such a file", limit));
      error.where.file = name();
      return error;
    }
    all.append(*block);
  }
}

}  // namespace comm_probe::core
