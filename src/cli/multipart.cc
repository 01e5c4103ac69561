#include "cli/multipart.h"

#include <algorithm>
#include <cctype>

namespace comm_probe::cli {
namespace {

constexpr std::size_t kLongestHeader = 8192;
constexpr std::size_t kLongestBoundary = 70;

Refusal malformed(const char* what) {
  return {400, std::string("malformed multipart/form-data: ") + what};
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char left, char right) {
    return std::tolower(static_cast<unsigned char>(left)) ==
           std::tolower(static_cast<unsigned char>(right));
  });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t");
  if (from == text.npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

// Behind the opening quote; `\"` is a quote. Nothing where the closing one is missing.
std::optional<std::string> quoted(std::string_view text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') return value;
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '"') ++i;
    value += text[i];
  }
  return std::nullopt;
}

// Where the next ';' stands that is not within quotes.
std::size_t end_of_parameter(std::string_view text) {
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_quoted && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      is_quoted = !is_quoted;
    else if (text[i] == ';' && !is_quoted)
      return i;
  }
  return text.size();
}

// The value of "Content-Disposition" in the header of a part.
std::optional<std::string_view> disposition_in(std::string_view header) {
  while (!header.empty()) {
    const std::size_t end = std::min(header.find("\r\n"), header.size());
    const std::string_view line = header.substr(0, end);
    const std::size_t colon = line.find(':');
    if (colon != line.npos && same_word(trimmed(line.substr(0, colon)), "Content-Disposition"))
      return trimmed(line.substr(colon + 1));
    header.remove_prefix(std::min(end + 2, header.size()));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> header_parameter(std::string_view header, std::string_view name) {
  for (std::size_t at = end_of_parameter(header); at < header.size();) {
    header.remove_prefix(at + 1);
    at = end_of_parameter(header);
    const std::string_view one = header.substr(0, at);
    const std::size_t equals = one.find('=');
    if (equals == one.npos || !same_word(trimmed(one.substr(0, equals)), name)) continue;
    const std::string_view value = trimmed(one.substr(equals + 1));
    return value.starts_with('"') ? quoted(value.substr(1)) : std::optional<std::string>(value);
  }
  return std::nullopt;
}

std::optional<std::string> boundary_of(std::string_view content_type) {
  const auto boundary = header_parameter(content_type, "boundary");
  const bool is_one = boundary && !boundary->empty() && boundary->size() <= kLongestBoundary;
  return is_one ? boundary : std::nullopt;
}

MultipartReader::MultipartReader(const std::string& boundary, FormParts& parts)
    : delimiter_("\r\n--" + boundary), parts_(parts) {}

Refused MultipartReader::feed(std::string_view bytes) {
  if (state_ == State::kOver) return std::nullopt;  // what follows the last part means nothing
  buffer_.append(bytes);
  Refused refused;
  while (!refused && step(refused)) {
  }
  buffer_.erase(0, used_);
  used_ = 0;
  return refused;
}

Refused MultipartReader::finish() const {
  if (state_ == State::kOver) return std::nullopt;
  if (state_ == State::kPreamble) return malformed("no boundary in the body");
  return malformed("the body ends within a part");
}

bool MultipartReader::step(Refused& refused) {
  switch (state_) {
    case State::kPreamble:
      return skip_preamble();
    case State::kBehindDelimiter:
      return read_behind_delimiter(refused);
    case State::kHeader:
      return read_header(refused);
    case State::kData:
      return read_data(refused);
    case State::kOver:
      break;
  }
  return false;
}

bool MultipartReader::skip_preamble() {
  const std::size_t at = rest().find(delimiter_);
  if (at == std::string_view::npos) {
    drop(rest().size() - std::min(rest().size(), delimiter_.size() - 1));
    return false;
  }
  drop(at + delimiter_.size());
  state_ = State::kBehindDelimiter;
  return true;
}

bool MultipartReader::read_behind_delimiter(Refused& refused) {
  if (rest().size() < 2) return false;
  const std::string_view two = rest().substr(0, 2);
  if (two != "--" && two != "\r\n") {
    refused = malformed("a boundary is followed by neither a line end nor '--'");
    return false;
  }
  drop(2);
  state_ = two == "--" ? State::kOver : State::kHeader;
  return state_ == State::kHeader;
}

bool MultipartReader::read_header(Refused& refused) {
  const std::size_t end = rest().substr(0, kLongestHeader).find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (rest().size() >= kLongestHeader) refused = malformed("the header of a part is too long");
    return false;
  }
  const auto disposition = disposition_in(rest().substr(0, end));
  const auto name = disposition ? header_parameter(*disposition, "name") : std::nullopt;
  if (!name) {
    refused = malformed("a part without Content-Disposition and a name");
    return false;
  }
  refused = parts_.begin({*name, header_parameter(*disposition, "filename")});
  drop(end + 4);
  state_ = State::kData;
  return !refused;
}

// All but what may be the beginning of a delimiter is passed on.
bool MultipartReader::read_data(Refused& refused) {
  const std::size_t at = rest().find(delimiter_);
  const bool ends = at != std::string_view::npos;
  const std::size_t plain =
      ends ? at : rest().size() - std::min(rest().size(), delimiter_.size() - 1);
  if (plain > 0) refused = parts_.data(rest().substr(0, plain));
  drop(plain);
  if (refused || !ends) return false;
  drop(delimiter_.size());
  refused = parts_.end();
  state_ = State::kBehindDelimiter;
  return !refused;
}

}  // namespace comm_probe::cli
