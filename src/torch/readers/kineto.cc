#include "torch/readers/kineto.h"

#include <algorithm>
#include <array>

#include "torch/readers/trace_header.h"
#include "torch/readers/trace_text.h"

namespace comm_probe::torch {
namespace {

// Longer events do not exist: what seems to be one has lost its end.
constexpr std::size_t kLongestEvent = 4 << 20;
// pg_config of a job of 16k ranks has some MB.
constexpr std::size_t kLongestHeader = 32 << 20;

class KinetoReader {
 public:
  KinetoReader(core::Input& input, Trace& trace, const TraceOptions& options)
      : text_(input, options.piece), trace_(trace), builder_(trace, options) {}

  void read();

 private:
  bool at_text();  // skips spaces; false: the text ends
  void read_object();
  bool read_member();
  bool read_header(std::string_view key);
  bool skip_value();
  void read_events(bool must_close);
  bool read_event();
  bool resync(const char* from);
  void note_cut();

  TraceText text_;
  Trace& trace_;
  TraceBuilder builder_;
  TraceEvent event_ = {};
  std::vector<TraceGroup> configured_ = {};
};

bool KinetoReader::at_text() {
  for (;;) {
    while (text_.at < text_.end && static_cast<unsigned char>(*text_.at) <= ' ') ++text_.at;
    if (text_.at < text_.end) return true;
    if (!text_.more()) return false;
  }
}

void KinetoReader::note_cut() {
  if (trace_.losses.cut) return;
  trace_.losses.cut = text_.read();
  if (text_.error()) trace_.losses.cut_reason = text_.error()->message;
}

// False: the text ends inside of it.
bool KinetoReader::read_event() {
  for (;;) {
    JsonCursor cursor{text_.at, text_.end};
    const Scan scan = scan_event(cursor, event_);
    if (scan == Scan::kOk) {
      text_.at = cursor.at;
      builder_.add(event_);
      return true;
    }
    if (scan == Scan::kBroken || text_.left() > kLongestEvent) return resync(cursor.at);
    if (!text_.more()) {
      note_cut();
      return false;
    }
  }
}

// An event begins with one of these members.
bool begins_event(const char* at, const char* end) {
  ++at;
  while (at < end && static_cast<unsigned char>(*at) <= ' ') ++at;
  const std::string_view rest(at, static_cast<std::size_t>(end - at));
  return rest.starts_with("\"ph\"") || rest.starts_with("\"name\"") || rest.starts_with("\"cat\"");
}

// The event at `at` cannot be read, as was seen at `from`: on to the next one. A string that lost
// its end swallows the beginning of the next event, so the search begins somewhat earlier; not at
// `at`, or a file of nothing but beginnings would be read a million times.
bool KinetoReader::resync(const char* from) {
  constexpr std::size_t kLookAhead = 64;
  constexpr std::ptrdiff_t kLookBack = 256;
  ++trace_.losses.broken_events;
  if (!trace_.losses.first_broken) trace_.losses.first_broken = text_.offset();
  from = std::min(from, text_.end);
  text_.at = from - text_.at > kLookBack ? from - kLookBack : text_.at + 1;
  for (;;) {
    text_.at = std::find(text_.at, text_.end, '{');
    if (text_.left() < kLookAhead && text_.more()) continue;
    if (text_.at == text_.end) {
      note_cut();
      return false;
    }
    if (begins_event(text_.at, text_.end)) return true;
    ++text_.at;
  }
}

// The list of Chrome's array form may stay open at its end.
void KinetoReader::read_events(bool must_close) {
  ++text_.at;  // '['
  while (at_text()) {
    const char c = *text_.at;
    if (c == ',') {
      ++text_.at;
    } else if (c == ']') {
      ++text_.at;
      return;
    } else if (c == '{' ? !read_event() : !resync(text_.at)) {
      return;
    }
  }
  if (must_close || text_.error()) note_cut();
}

bool KinetoReader::read_header(std::string_view key) {
  const std::string kept(key);
  for (;;) {
    JsonCursor cursor{text_.at, text_.end};
    JsonValue value;
    const Scan scan = scan_value(cursor, value);
    if (scan == Scan::kOk) {
      read_header_value(kept, value.text, trace_, configured_);
      text_.at = cursor.at;
      return true;
    }
    if (scan == Scan::kBroken || text_.left() > kLongestHeader || !text_.more()) return false;
  }
}

// Without keeping it: another tool may have put anything here.
bool KinetoReader::skip_value() {
  std::size_t depth = 0;
  for (bool in_string = false;; ++text_.at) {
    if (text_.at == text_.end && !text_.more()) return false;
    const char c = *text_.at;
    if (in_string) {
      if (c == '\\') {
        ++text_.at;
        if (text_.at == text_.end && !text_.more()) return false;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) return true;
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && depth > 0) --depth;
  }
}

// One member of the top level; false: there is no further one.
bool KinetoReader::read_member() {
  while (at_text() && *text_.at == ',') ++text_.at;
  if (text_.left() == 0 || *text_.at != '"') return false;
  JsonValue key;
  for (;;) {
    JsonCursor cursor{text_.at, text_.end};
    const Scan scan = scan_string(cursor, key);
    if (scan == Scan::kOk) {
      text_.at = cursor.at;
      break;
    }
    if (scan == Scan::kBroken || text_.left() > kLongestEvent || !text_.more()) return false;
  }
  const std::string name(key.text.substr(0, 64));
  if (!at_text() || *text_.at != ':') return false;
  ++text_.at;
  if (!at_text()) return false;
  if (name == "traceEvents" && *text_.at == '[') {
    read_events(true);
    return true;
  }
  return is_header_key(name) ? read_header(name) : skip_value();
}

void KinetoReader::read_object() {
  ++text_.at;  // '{'
  while (read_member()) {
  }
  if (!at_text() || *text_.at != '}') note_cut();
}

void KinetoReader::read() {
  if (at_text() && std::string_view(text_.at, text_.left()).starts_with("\xef\xbb\xbf"))
    text_.at += 3;
  if (at_text() && *text_.at == '{')
    read_object();
  else if (text_.left() > 0 && *text_.at == '[')
    read_events(false);
  while (text_.more()) text_.at = text_.end;
  if (text_.error()) note_cut();  // what follows is damaged
  trace_.bytes = text_.read();
  builder_.finish(std::move(configured_));
}

}  // namespace

bool looks_like_trace(std::string_view head) {
  constexpr std::array<std::string_view, 5> kKeys = {"\"traceEvents\"", "\"schemaVersion\"",
                                                     "\"deviceProperties\"", "\"traceName\"",
                                                     "\"displayTimeUnit\""};
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  if (head[first] == '{')
    return std::any_of(kKeys.begin(), kKeys.end(), [head](std::string_view key) {
      return head.find(key) != std::string_view::npos;
    });
  if (head[first] != '[') return false;
  const std::size_t open = head.find_first_not_of(" \t\r\n,", first + 1);
  return open != std::string_view::npos && head[open] == '{' &&
         head.substr(open, 4096).find("\"ph\"") != std::string_view::npos;
}

core::Result<Trace> read_trace(core::Input& input, const TraceOptions& options) {
  Trace trace;
  trace.file = input.name();
  trace.format = "pytorch-profiler";
  if (auto error = input.unreadable()) return *error;
  KinetoReader(input, trace, options).read();
  if (trace.events == 0 && trace.losses.broken_events > 0) {
    core::Error error = core::input_error("no event of this trace can be read",
                                          "expected \"traceEvents\": [{\"ph\": \"X\", ...}, ...]");
    error.where = {input.name(), std::nullopt, trace.losses.first_broken};
    return error;
  }
  return trace;
}

}  // namespace comm_probe::torch
