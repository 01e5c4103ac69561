// The wire format of protocol buffers, read field by field without a schema: a key (number and
// kind) as a varint, then a varint, 8 or 4 bytes, or a length and so many bytes.
//
//   08 96 01 is field 1, the varint 150
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace comm_probe::sim {

struct WireField {
  enum class Kind : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  std::uint32_t number = 0;
  Kind kind = Kind::kVarint;
  std::uint64_t value = 0;      // of a number
  std::string_view bytes = {};  // of kBytes
};

class WireReader {
 public:
  explicit WireReader(std::string_view text) : text_(text) {}
  // False at the end, and where what follows is no field: is_broken() then.
  bool next(WireField& field);
  bool is_broken() const { return is_broken_; }
  std::size_t offset() const { return at_; }

  // A varint and as many bytes: a message in a row of messages.
  std::optional<std::string_view> take_message();

 private:
  std::optional<std::uint64_t> varint();
  std::optional<std::uint64_t> fixed(std::size_t size);
  std::optional<std::string_view> take(std::uint64_t size);

  std::string_view text_;
  std::size_t at_ = 0;
  bool is_broken_ = false;
};

// Repeated varints, packed or one by one: those of this field are added. False where they are cut.
bool take_varints(const WireField& field, std::vector<std::uint64_t>& values);

}  // namespace comm_probe::sim
