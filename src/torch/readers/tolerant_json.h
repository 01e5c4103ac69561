// A tokenizer for JSON as profilers write it: text that is mostly right and sometimes not. simdjson
// refuses a document at its first fault; a trace with one raw quote in a kernel name would be lost
// whole. So our own: it accepts raw control characters in strings, unknown escapes, trailing
// commas, words without quotes (NaN, ncclFloat32, 0x50), and says kBroken where quotes or brackets
// do not add up, so that the reader can go on at the next event (spec traces 1.8).
//
//   {"name": "a "b" c", "ts": 1}  ->  after "a " a word follows where , : } or ] must: kBroken
//
// All functions look at [at, end) of one window; up to TraceText::kPadding bytes behind `end` are
// readable. kMore: the window ends first; the caller widens it and starts again.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace comm_probe::torch {

enum class Scan : std::uint8_t { kOk, kMore, kBroken };

struct JsonCursor {
  const char* at;
  const char* end;

  void skip_space() {
    while (at < end && static_cast<unsigned char>(*at) <= ' ') ++at;
  }
};

// A value as it stands: the inside of a string, the letters of a number or word, or a whole object
// or list with its brackets.
struct JsonValue {
  std::string_view text = {};
  bool is_string = false;
  bool has_escape = false;
};

namespace scanning {

// The first byte that is `a` or `b` (of 16 at a time); `end` where there is none.
inline const char* find_either(const char* at, const char* end, char a, char b) {
#if defined(__SSE2__)
  const __m128i first = _mm_set1_epi8(a);
  const __m128i second = _mm_set1_epi8(b);
  for (; at < end; at += 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const int hits =
        _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(text, first), _mm_cmpeq_epi8(text, second)));
    if (hits == 0) continue;
    const char* hit = at + std::countr_zero(static_cast<unsigned>(hits));
    return hit < end ? hit : end;
  }
  return end;
#else
  while (at < end && *at != a && *at != b) ++at;
  return at;
#endif
}

// The first quote or bracket.
inline const char* find_structure(const char* at, const char* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i bit = _mm_set1_epi8(0x20);  // '[' | 0x20 == '{', ']' | 0x20 == '}'
  const __m128i open = _mm_set1_epi8('{');
  const __m128i close = _mm_set1_epi8('}');
  for (; at < end; at += 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i folded = _mm_or_si128(text, bit);
    const __m128i found =
        _mm_or_si128(_mm_cmpeq_epi8(text, quote),
                     _mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, close)));
    const int hits = _mm_movemask_epi8(found);
    if (hits == 0) continue;
    const char* hit = at + std::countr_zero(static_cast<unsigned>(hits));
    return hit < end ? hit : end;
  }
  return end;
#else
  while (at < end && *at != '"' && *at != '{' && *at != '}' && *at != '[' && *at != ']') ++at;
  return at;
#endif
}

inline bool may_follow_a_string(char c) {
  return c == ',' || c == ':' || c == '}' || c == ']' || static_cast<unsigned char>(c) <= ' ';
}

}  // namespace scanning

// `cursor.at` stands on the opening quote.
inline Scan scan_string(JsonCursor& cursor, JsonValue& value) {
  const char* begin = cursor.at + 1;
  const char* at = begin;
  value.is_string = true;
  value.has_escape = false;
  for (;;) {
    at = scanning::find_either(at, cursor.end, '"', '\\');
    if (at >= cursor.end) return Scan::kMore;
    if (*at == '"') break;
    value.has_escape = true;
    at += 2;
  }
  value.text = {begin, static_cast<std::size_t>(at - begin)};
  cursor.at = at + 1;
  if (cursor.at == cursor.end) return Scan::kMore;
  return scanning::may_follow_a_string(*cursor.at) ? Scan::kOk : Scan::kBroken;
}

// The inside of a string without its escapes. Of an unknown one the character stays (kernel names
// with lone backslashes); half of a surrogate pair becomes U+FFFD.
std::string unescaped(std::string_view text);

// `cursor.at` stands on '{' or '['. Brackets must close what they open down to 64 levels.
Scan skip_container(JsonCursor& cursor);

// Any value; spaces before it are skipped.
inline Scan scan_value(JsonCursor& cursor, JsonValue& value) {
  cursor.skip_space();
  if (cursor.at == cursor.end) return Scan::kMore;
  if (*cursor.at == '"') return scan_string(cursor, value);
  const char* begin = cursor.at;
  value.is_string = value.has_escape = false;
  if (*begin == '{' || *begin == '[') {
    if (const Scan scan = skip_container(cursor); scan != Scan::kOk) return scan;
  } else {
    while (cursor.at < cursor.end && *cursor.at != ',' && *cursor.at != '}' && *cursor.at != ']' &&
           static_cast<unsigned char>(*cursor.at) > ' ') {
      if (*cursor.at == '"' || *cursor.at == '{' || *cursor.at == '[') return Scan::kBroken;
      ++cursor.at;
    }
    if (cursor.at == cursor.end) return Scan::kMore;
  }
  value.text = {begin, static_cast<std::size_t>(cursor.at - begin)};
  return Scan::kOk;
}

// The members of an object, one after the other.
//
//   JsonMembers members(cursor);            // cursor.at on '{'
//   while (members.next(key)) { ... scan_value(cursor, value) ... }
//   members.state()                          // kOk: the object has ended
class JsonMembers {
 public:
  explicit JsonMembers(JsonCursor& cursor) : cursor_(cursor) { ++cursor_.at; }
  bool next(std::string_view& key);
  // For the caller whose scan of a value failed.
  bool fail(Scan scan) {
    state_ = scan;
    return false;
  }
  Scan state() const { return state_; }

 private:
  JsonCursor& cursor_;
  Scan state_ = Scan::kOk;
  bool is_first_ = true;
};

inline bool JsonMembers::next(std::string_view& key) {
  bool separated = is_first_;
  is_first_ = false;
  for (;; ++cursor_.at) {
    cursor_.skip_space();
    if (cursor_.at == cursor_.end) return fail(Scan::kMore);
    if (*cursor_.at != ',') break;
    separated = true;
  }
  if (*cursor_.at == '}') {
    ++cursor_.at;
    return false;
  }
  JsonValue name;
  if (*cursor_.at != '"' || !separated) return fail(Scan::kBroken);
  if (const Scan scan = scan_string(cursor_, name); scan != Scan::kOk) return fail(scan);
  cursor_.skip_space();
  if (cursor_.at == cursor_.end) return fail(Scan::kMore);
  if (*cursor_.at != ':') return fail(Scan::kBroken);
  ++cursor_.at;
  key = name.text;
  return true;
}

}  // namespace comm_probe::torch
