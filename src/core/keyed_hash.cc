#include "core/keyed_hash.h"

#include <bit>

namespace comm_probe::core {
namespace {

struct State {
  std::uint64_t a, b, c, d;

  void round() {
    a += b;
    c += d;
    b = std::rotl(b, 13) ^ a;
    d = std::rotl(d, 16) ^ c;
    a = std::rotl(a, 32);
    c += b;
    a += d;
    b = std::rotl(b, 17) ^ c;
    d = std::rotl(d, 21) ^ a;
    c = std::rotl(c, 32);
  }
  void take(std::uint64_t word) {
    d ^= word;
    round();
    round();
    a ^= word;
  }
};

// At most eight bytes, the first one lowest.
std::uint64_t word_of(std::string_view bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return word;
}

}  // namespace

std::uint64_t keyed_hash(const HashKey& key, std::string_view text) {
  State state = {0x736f6d6570736575U ^ key[0], 0x646f72616e646f6dU ^ key[1],
                 0x6c7967656e657261U ^ key[0], 0x7465646279746573U ^ key[1]};
  const std::uint64_t length = text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) state.take(word_of(text.substr(0, 8)));
  state.take(length << 56U | word_of(text));
  state.c ^= 0xff;
  for (int i = 0; i < 4; ++i) state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

HashKey key_of(std::string_view word) {
  return {keyed_hash({1, 2}, word), keyed_hash({3, 4}, word)};
}

}  // namespace comm_probe::core
