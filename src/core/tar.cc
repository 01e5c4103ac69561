#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/archive.h"

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
  std::string long_name_ = {};
  std::string long_target_ = {};
};

std::optional<Error> TarReader::read_entry(Archive& archive) {
  if (bytes_.size() - at_ < kBlock) return fail("the tar is cut in a header");
  const std::string_view block = bytes_.substr(at_, kBlock);
  if (!Archive::looks_like_tar(block)) return fail("no header of a tar where one should stand");
  const auto size = octal(field_of(block, kSize));
  const char type = block[kType.at];
  const bool has_content = type != '1' && type != '2' && type != '5';
  const std::uint64_t content = has_content && size ? *size : 0;
  if (!size || content > bytes_.size() - at_ - kBlock)
    return fail("the tar is cut in a file, or its size is wrong");
  const std::string_view data = bytes_.substr(at_ + kBlock, content);
  at_ += kBlock + (content + kBlock - 1) / kBlock * kBlock;
  at_ = std::min(at_, bytes_.size());
  if (type == 'L' || type == 'K') {
    (type == 'L' ? long_name_ : long_target_) = data.substr(0, data.find('\0'));
    return std::nullopt;
  }
  const std::string_view prefix = field_of(block, kPrefix);
  std::string name(field_of(block, kName));
  if (!prefix.empty()) name = std::string(prefix) + "/" + name;
  if (!long_name_.empty()) name = std::exchange(long_name_, {});
  std::string target(field_of(block, kTarget));
  if (!long_target_.empty()) target = std::exchange(long_target_, {});
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
