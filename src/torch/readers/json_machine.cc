#include "torch/readers/json_machine.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstring>

namespace comm_probe::torch {

using Kind = Value::Kind;

namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

void append_utf8(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | (code >> 6));
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xe0 | (code >> 12));
    text += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

struct Escape {
  char written;
  char meant;
};
constexpr std::array kEscapes = {Escape{'n', '\n'},  Escape{'t', '\t'}, Escape{'r', '\r'},
                                 Escape{'b', '\b'},  Escape{'f', '\f'}, Escape{'"', '"'},
                                 Escape{'\\', '\\'}, Escape{'/', '/'}};

}  // namespace

bool JsonMachine::fail(std::string why) {
  stopped_.why = std::move(why);
  return false;
}

bool JsonMachine::cut() { return fail("the JSON text ends too early"); }

void JsonMachine::after_value() { expect_ = Expect::kCommaOrEnd; }

bool JsonMachine::open(char bracket) {
  if (bracket == '{')
    stack_.push_dict();
  else
    stack_.push_list();
  if (!stack_.mark()) return fail(fmt::format("nested deeper than {}", ValueStack::kDeepest));
  if (!stack_.has_room()) return fail("more values than a dump of this size can hold");
  open_ += bracket;
  expect_ = bracket == '{' ? Expect::kKeyOrEnd : Expect::kValueOrEnd;
  ++at_;
  return true;
}

bool JsonMachine::close(char bracket) {
  const char opened = bracket == '}' ? '{' : '[';
  if (open_.empty() || open_.back() != opened)
    return fail(
        fmt::format("'{}' where '{}' is open", bracket, open_.empty() ? ' ' : open_.back()));
  const bool done = bracket == '}' ? stack_.set_items_marked() : stack_.append_marked();
  if (!done) return fail("a key without a value");
  open_.pop_back();
  ++at_;
  after_value();
  return true;
}

// With backslashes: unescaped into a copy. Surrogate pairs stay two characters of their own; names
// of files and functions are only compared and shown.
bool JsonMachine::escaped_string(std::size_t length) {
  std::string text;
  const std::string_view raw = text_.substr(at_, length);
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 >= raw.size()) {
      text += raw[i];
      continue;
    }
    const char written = raw[++i];
    if (written == 'u' && i + 4 < raw.size()) {
      std::uint32_t code = 0;
      std::from_chars(raw.data() + i + 1, raw.data() + i + 5, code, 16);
      append_utf8(text, code);
      i += 4;
      continue;
    }
    for (const Escape& escape : kEscapes)
      if (escape.written == written) text += escape.meant;
  }
  stack_.push_string(strings_.own(std::move(text)));
  return true;
}

// The strings of a dump come in the same order over and over: the one that followed the last one
// before is tried first. Only strings without a backslash are remembered so, their text is what
// stands in the file.
bool JsonMachine::expected_string() {
  const std::uint32_t expected = last_string_ < follows_.size() ? follows_[last_string_] : kNone;
  if (expected == kNone) return false;
  const std::string_view text = strings_.text(expected);
  if (text_.size() - at_ <= text.size() || text_[at_ + text.size()] != '"') return false;
  if (std::memcmp(text_.data() + at_, text.data(), text.size()) != 0) return false;
  stack_.push_string(expected);
  last_string_ = expected;
  at_ += text.size() + 1;
  return true;
}

void JsonMachine::plain_string(std::string_view raw) {
  const std::uint32_t number = strings_.number(raw);
  stack_.push_string(number);
  if (last_string_ >= follows_.size()) follows_.resize(std::size_t{last_string_} + 64, kNone);
  follows_[last_string_] = number;
  last_string_ = number;
}

bool JsonMachine::string() {
  ++at_;  // the quote
  if (expected_string()) return true;
  std::size_t end = at_;
  bool has_escape = false;
  while (true) {
    const void* quote = std::memchr(text_.data() + end, '"', text_.size() - end);
    if (quote == nullptr) return cut();
    end = static_cast<std::size_t>(static_cast<const char*>(quote) - text_.data());
    std::size_t slashes = 0;
    while (end - slashes > at_ && text_[end - slashes - 1] == '\\') ++slashes;
    has_escape |= slashes > 0;
    if (slashes % 2 == 0) break;
    ++end;
  }
  const std::string_view raw = text_.substr(at_, end - at_);
  has_escape = has_escape || raw.find('\\') != std::string_view::npos;
  if (has_escape)
    escaped_string(raw.size());
  else
    plain_string(raw);
  at_ = end + 1;
  return true;
}

bool JsonMachine::number() {
  const char* begin = text_.data() + at_;
  const char* end = text_.data() + text_.size();
  std::int64_t whole = 0;
  auto [next, error] = std::from_chars(begin, end, whole);
  const bool is_whole =
      error == std::errc() && (next == end || (*next != '.' && *next != 'e' && *next != 'E'));
  if (is_whole) {
    stack_.push_number(Kind::kInt, whole);
  } else {
    double real = 0;
    const auto result = std::from_chars(begin, end, real);
    if (result.ptr == begin) return fail("expected a value");
    next = result.ptr;
    stack_.push_number(Kind::kFloat, std::bit_cast<std::int64_t>(real));
  }
  if (next == end) return cut();  // its last digits may be missing
  at_ = static_cast<std::size_t>(next - text_.data());
  after_value();
  return true;
}

bool JsonMachine::word() {
  struct Word {
    std::string_view text;
    Value value;
  };
  static constexpr std::array kWords = {
      Word{"null", {}},
      Word{"true", {Kind::kBool, 0, 1}},
      Word{"false", {Kind::kBool, 0, 0}},
      Word{"NaN", {Kind::kFloat, 0, 0}},
      Word{"Infinity", {Kind::kFloat, 0, 0}},
  };
  const char c = text_[at_];
  if ((c >= '0' && c <= '9') || c == '-') return number();
  const std::string_view rest = text_.substr(at_);
  for (const Word& word : kWords) {
    if (rest.starts_with(word.text)) {
      stack_.push(word.value);
      at_ += word.text.size();
      after_value();
      return true;
    }
    if (word.text.starts_with(rest)) return cut();
  }
  return number();
}

bool JsonMachine::value() {
  const char c = text_[at_];
  if (c == '{' || c == '[') return open(c);
  if (c == ']' && expect_ == Expect::kValueOrEnd) return close(c);
  if (c != '"') return word();
  if (!string()) return false;
  after_value();
  return true;
}

bool JsonMachine::key() {
  if (text_[at_] == '}' && expect_ == Expect::kKeyOrEnd) return close('}');
  if (text_[at_] != '"') return fail("expected a key in quotes");
  if (!string()) return false;
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  if (at_ >= text_.size()) return cut();
  if (text_[at_] != ':') return fail("expected ':' after a key");
  ++at_;
  expect_ = Expect::kValue;
  return true;
}

bool JsonMachine::step() {
  const char c = text_[at_];
  switch (expect_) {
    case Expect::kValue:
    case Expect::kValueOrEnd:
      return value();
    case Expect::kKey:
    case Expect::kKeyOrEnd:
      return key();
    case Expect::kCommaOrEnd:
      if (c == '}' || c == ']') return close(c);
      if (c != ',') return fail("expected ',' or the end of the list");
      ++at_;
      expect_ = open_.back() == '{' ? Expect::kKey : Expect::kValue;
      return true;
  }
  return false;
}

Stopped JsonMachine::run(std::string_view text) {
  constexpr unsigned kLook = 256;  // the room is looked at every so many values
  text_ = text;
  for (unsigned count = 0;; ++count) {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    stopped_.offset = at_;
    const bool is_done = open_.empty() && expect_ == Expect::kCommaOrEnd;
    if (is_done) return stopped_;
    if (at_ >= text_.size()) {
      cut();
      return stopped_;
    }
    if (!step()) return stopped_;
    if (count % kLook == 0 && !stack_.has_room()) {
      fail("more values than a dump of this size can hold");
      return stopped_;
    }
  }
}

}  // namespace comm_probe::torch
