#include "core/result.h"

#include <fmt/format.h>

namespace comm_probe::core {

std::string Error::one_line() const {
  std::string text;
  if (!where.file.empty()) {
    text = where.file;
    if (where.line) text += fmt::format(":{}", *where.line);
    if (where.offset) text += fmt::format(": offset {}", *where.offset);
    text += ": ";
  }
  text += message;
  if (!hint.empty()) text += "; " + hint;
  return text;
}

Error input_error(std::string message, std::string hint) {
  return {ErrorCode::kInput, std::move(message), {}, std::move(hint)};
}

Error missing_error(std::string message, std::string hint) {
  return {ErrorCode::kMissing, std::move(message), {}, std::move(hint)};
}

}  // namespace comm_probe::core
