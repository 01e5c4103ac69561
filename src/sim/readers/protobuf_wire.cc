#include "sim/readers/protobuf_wire.h"

namespace comm_probe::sim {

std::optional<std::uint64_t> WireReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && at_ < text_.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(text_[at_++]);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> WireReader::take(std::uint64_t size) {
  if (size > text_.size() - at_) return std::nullopt;
  const std::string_view bytes = text_.substr(at_, size);
  at_ += size;
  return bytes;
}

// Least significant byte first.
std::optional<std::uint64_t> WireReader::fixed(std::size_t size) {
  const auto bytes = take(size);
  if (!bytes) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;)
    value = value << 8U | static_cast<unsigned char>((*bytes)[i]);
  return value;
}

std::optional<std::string_view> WireReader::take_message() {
  const auto size = varint();
  const auto bytes = size ? take(*size) : std::nullopt;
  is_broken_ = !bytes;
  return bytes;
}

bool WireReader::next(WireField& field) {
  if (is_broken_ || at_ >= text_.size()) return false;
  is_broken_ = true;
  const auto key = varint();
  if (!key || *key >> 3U == 0 || *key >> 3U > 0x1fffffff) return false;
  field = {.number = static_cast<std::uint32_t>(*key >> 3U)};
  std::optional<std::uint64_t> value;
  switch (*key & 7U) {
    case 0:
      value = varint();
      break;
    case 1:
      field.kind = WireField::Kind::kFixed64;
      value = fixed(8);
      break;
    case 2: {
      field.kind = WireField::Kind::kBytes;
      const auto bytes = take_message();
      is_broken_ = true;
      if (!bytes) return false;
      field.bytes = *bytes;
      value = 0;
      break;
    }
    case 5:
      field.kind = WireField::Kind::kFixed32;
      value = fixed(4);
      break;
    default:
      return false;
  }
  if (!value) return false;
  field.value = *value;
  is_broken_ = false;
  return true;
}

bool take_varints(const WireField& field, std::vector<std::uint64_t>& values) {
  if (field.kind == WireField::Kind::kVarint) {
    values.push_back(field.value);
    return true;
  }
  if (field.kind != WireField::Kind::kBytes) return false;
  std::uint64_t value = 0;
  int shift = 0;
  for (const char one : field.bytes) {
    const auto byte = static_cast<unsigned char>(one);
    if (shift >= 64) return false;
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    shift += 7;
    if (byte >= 0x80) continue;
    values.push_back(value);
    value = 0;
    shift = 0;
  }
  return shift == 0;
}

}  // namespace comm_probe::sim
