#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/archive.h"
#include "core/pax.h"
#include "core/untar.h"

namespace comm_probe::core {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::uint64_t kLargest = std::uint64_t{1} << 30;
constexpr std::size_t kMostEntries = 1'000'000;

// Where a field of the header stands (ustar).
struct Field {
  std::size_t at;
  std::size_t size;
};
constexpr Field kName = {0, 100};
constexpr Field kMode = {100, 8};
constexpr Field kSize = {124, 12};
constexpr Field kTime = {136, 12};
constexpr Field kChecksum = {148, 8};
constexpr Field kType = {156, 1};
constexpr Field kTarget = {157, 100};
constexpr Field kMagic = {257, 8};
constexpr Field kPrefix = {345, 155};

std::string_view field_of(std::string_view block, Field field) {
  const std::string_view text = block.substr(field.at, field.size);
  return text.substr(0, text.find('\0'));
}

// Octal digits, blanks around them.
std::optional<std::uint64_t> octal(std::string_view text) {
  std::uint64_t value = 0;
  bool has_digit = false;
  for (const char c : text) {
    if (c == ' ' && !has_digit) continue;
    if (c == ' ') break;
    if (c < '0' || c > '7' || value > kLargest * 8) return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
    has_digit = true;
  }
  return has_digit ? std::optional(value) : std::nullopt;
}

// The sum of all bytes, those of the checksum taken as blanks.
std::uint64_t checksum(std::string_view block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool is_own = i >= kChecksum.at && i < kChecksum.at + kChecksum.size;
    sum += is_own ? static_cast<unsigned>(' ') : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

// 'L' and 'K' (GNU), 'x' and 'g' (pax) speak of the entry that follows.
bool is_header_of_next(char type) {
  return type == 'L' || type == 'K' || type == 'x' || type == 'g';
}

// What came before a header, as entries of their own, counts instead of its fields; once.
class Extended {
 public:
  void take(char type, std::string_view content) {
    const std::string_view text = content.substr(0, content.find('\0'));
    if (type == 'L') name_ = text;
    if (type == 'K') target_ = text;
    if (type == 'x') take_pax(pax_fields(content));
  }
  std::string name(std::string_view block) {
    if (!name_.empty()) return std::exchange(name_, {});
    const std::string own(field_of(block, kName));
    const std::string_view prefix = field_of(block, kPrefix);
    return prefix.empty() ? own : std::string(prefix) + "/" + own;
  }
  std::string target(std::string_view block) {
    return target_.empty() ? std::string(field_of(block, kTarget)) : std::exchange(target_, {});
  }
  // Of the file itself, not of headers between.
  std::optional<std::uint64_t> size(std::string_view block) {
    if (!size_ || is_header_of_next(block[kType.at])) return octal(field_of(block, kSize));
    return std::exchange(size_, std::nullopt);
  }

 private:
  void take_pax(PaxFields fields) {
    if (!fields.path.empty()) name_ = std::move(fields.path);
    if (!fields.link_path.empty()) target_ = std::move(fields.link_path);
    size_ = fields.size;
  }

  std::string name_ = {};
  std::string target_ = {};
  std::optional<std::uint64_t> size_ = {};
};

bool has_bytes(char type) { return type != '1' && type != '2' && type != '5'; }

class TarReader {
 public:
  explicit TarReader(std::string file, std::string_view bytes)
      : file_(std::move(file)), bytes_(bytes) {}
  Result<Archive> read();

 private:
  std::optional<Error> read_entry(Archive& archive);
  Error fail(const std::string& message) const {
    Error error = input_error(message, "`comm-probe topo record` writes one");
    error.where = {file_, std::nullopt, at_};
    return error;
  }

  std::string file_;
  std::string_view bytes_;
  std::size_t at_ = 0;
  Extended extended_ = {};
};

std::optional<Error> TarReader::read_entry(Archive& archive) {
  if (bytes_.size() - at_ < kBlock) return fail("the tar is cut in a header");
  const std::string_view block = bytes_.substr(at_, kBlock);
  if (!Archive::looks_like_tar(block)) return fail("no header of a tar where one should stand");
  const char type = block[kType.at];
  const auto size = extended_.size(block);
  const std::uint64_t content = has_bytes(type) && size ? *size : 0;
  if (!size || content > bytes_.size() - at_ - kBlock)
    return fail("the tar is cut in a file, or its size is wrong");
  const std::string_view data = bytes_.substr(at_ + kBlock, content);
  at_ += kBlock + (content + kBlock - 1) / kBlock * kBlock;
  at_ = std::min(at_, bytes_.size());
  if (is_header_of_next(type)) {
    extended_.take(type, data);
    return std::nullopt;
  }
  const std::string name = extended_.name(block);
  std::string target = extended_.target(block);
  if (type == '5') archive.add_folder(name);
  if (type == '2') archive.add_link(name, std::move(target));
  if (type == '0' || type == '\0') archive.add_file(name, std::string(data));
  return std::nullopt;
}

Result<Archive> TarReader::read() {
  Archive archive;
  std::size_t count = 0;
  while (at_ < bytes_.size()) {
    const std::string_view block = bytes_.substr(at_, kBlock);
    if (block.find_first_not_of('\0') == std::string_view::npos) break;  // the end mark
    if (const auto error = read_entry(archive)) return *error;
    if (++count > kMostEntries)
      return fail(fmt::format("more than {} files in the tar", kMostEntries));
  }
  return archive;
}

// Bytes of an input in pieces of any size.
class Pieces {
 public:
  explicit Pieces(Input& input) : input_(input) {}

  // Gives `size` bytes to `take`, in one piece or more; false where the input ends before, or where
  // it cannot be read (error()).
  template <class Take>
  bool give(std::uint64_t size, Take take) {
    while (size > 0) {
      if (rest_.empty() && !refill()) return false;
      const std::string_view piece = rest_.substr(0, std::min<std::uint64_t>(size, rest_.size()));
      take(piece);
      size -= piece.size();
      at_ += piece.size();
      rest_.remove_prefix(piece.size());
    }
    return true;
  }
  std::uint64_t at() const { return at_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  bool refill() {
    auto block = input_.next();
    if (!block) {
      error_ = block.error();
      return false;
    }
    rest_ = *block;
    return !rest_.empty();
  }

  Input& input_;
  std::string_view rest_ = {};
  std::uint64_t at_ = 0;
  std::optional<Error> error_ = {};
};

class TarWalk {
 public:
  TarWalk(Input& input, TarVisitor& visitor)
      : name_(input.name()), pieces_(input), visitor_(visitor) {}

  Result<std::size_t> walk() {
    for (std::size_t count = 0; count <= kMostEntries; ++count) {
      std::string block;
      const bool is_whole = pieces_.give(kBlock, [&](std::string_view piece) { block += piece; });
      if (pieces_.error()) return *pieces_.error();
      const bool is_end = block.find_first_not_of('\0') == std::string::npos;
      if (block.empty() || (is_whole && is_end)) return files_;
      if (!is_whole) return fail("the tar is cut in a header");
      if (const auto error = take_entry(block)) return *error;
    }
    return fail(fmt::format("more than {} files in the tar", kMostEntries));
  }

 private:
  Error fail(const std::string& message) const {
    if (pieces_.error()) return *pieces_.error();
    Error error = input_error(message);
    error.where = {name_, std::nullopt, pieces_.at()};
    return error;
  }
  std::optional<Error> take_entry(const std::string& block);
  bool pass(std::uint64_t size) {
    return pieces_.give(size, [](std::string_view) {});
  }

  std::string name_;
  Pieces pieces_;
  TarVisitor& visitor_;
  Extended extended_ = {};
  std::size_t files_ = 0;
};

std::optional<Error> TarWalk::take_entry(const std::string& block) {
  constexpr std::uint64_t kLongestName = 1 << 16;
  if (!Archive::looks_like_tar(block)) return fail("no header of a tar where one should stand");
  const char type = block[kType.at];
  const auto size = extended_.size(block);
  if (!size) return fail("the size of a file in the tar is no number");
  const std::uint64_t content = has_bytes(type) ? *size : 0;
  bool is_whole = true;
  if (is_header_of_next(type) && content <= kLongestName) {
    std::string text;
    is_whole = pieces_.give(content, [&](std::string_view piece) { text += piece; });
    extended_.take(type, text);
  } else if (type == '0' || type == '\0') {
    ++files_;
    const bool is_wanted = visitor_.wants(extended_.name(block), content);
    is_whole = is_wanted
                   ? pieces_.give(content, [&](std::string_view piece) { visitor_.take(piece); })
                   : pass(content);
    if (is_wanted) visitor_.end();
  } else {
    if (!is_header_of_next(type)) extended_ = {};
    is_whole = pass(content);
  }
  const std::uint64_t padding = (kBlock - content % kBlock) % kBlock;
  if (!is_whole) return fail("the tar is cut in a file");
  pass(padding);  // the last one may lack it
  return std::nullopt;
}

void put(std::string& block, Field field, std::string_view text) {
  std::copy_n(text.data(), std::min(text.size(), field.size),
              block.begin() + static_cast<std::ptrdiff_t>(field.at));
}

std::string header(const std::string& name, char type, const std::string& target,
                   std::size_t size) {
  std::string block(kBlock, '\0');
  put(block, kName, name);
  put(block, kMode, "0000644");
  put(block, {108, 8}, "0000000");  // user
  put(block, {116, 8}, "0000000");  // group
  put(block, kSize, fmt::format("{:011o}", size));
  put(block, kTime, "00000000000");
  put(block, kType, std::string(1, type));
  put(block, kTarget, target);
  put(block, kMagic, std::string("ustar\00000", 8));
  put(block, kChecksum, fmt::format("{:06o}", checksum(block)));
  block[kChecksum.at + 6] = '\0';
  block[kChecksum.at + 7] = ' ';
  return block;
}

std::string padded(std::string content) {
  content.resize((content.size() + kBlock - 1) / kBlock * kBlock, '\0');
  return content;
}

// A name or target that is too long for its field comes before as an entry of its own.
void add_long(std::string& tar, char type, const std::string& text) {
  if (text.size() <= kName.size) return;
  tar += header("././@LongLink", type, "", text.size() + 1) + padded(text + '\0');
}

}  // namespace

bool Archive::looks_like_tar(std::string_view head) {
  if (head.size() < kBlock) return false;
  const auto sum = octal(field_of(head, kChecksum));
  return sum && *sum == checksum(head.substr(0, kBlock));
}

Result<std::size_t> walk_tar(Input& input, TarVisitor& visitor) {
  return TarWalk(input, visitor).walk();
}

Result<Archive> Archive::read_tar(Input& input) {
  const auto bytes = input.read_all(kLargest);
  if (!bytes) return bytes.error();
  return TarReader(input.name(), *bytes).read();
}

std::string Archive::tar() const {
  std::string tar;
  for (const auto& [path, names] : folders_) {
    if (!names.empty() || path.empty()) continue;
    add_long(tar, 'L', path);
    tar += header(path, '5', "", 0);
  }
  for (const auto& [path, entry] : entries_) {
    const std::string target = entry.is_link ? entry.content : "";
    add_long(tar, 'K', target);
    add_long(tar, 'L', path);
    tar +=
        header(path, entry.is_link ? '2' : '0', target, entry.is_link ? 0 : entry.content.size());
    if (!entry.is_link) tar += padded(entry.content);
  }
  return tar + std::string(2 * kBlock, '\0');
}

}  // namespace comm_probe::core
