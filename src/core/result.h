// Errors are values: a function that can fail because of its input returns Result<T>.
//   Result<Bytes> size = parse_bytes("8Q");
//   if (!size) return size.error();
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/check.h"

namespace comm_probe::core {

// The exit status that the error leads to when it ends a command (design/cli.md).
enum class ErrorCode {
  kInput = 2,    // bad usage, or an input of which nothing could be read
  kMissing = 3,  // something needed is missing on this machine
};

// Where in an input the error stands; `offset` counts bytes from the start (of the unpacked data),
// `line` from 1.
struct Where {
  std::string file;
  std::optional<std::uint64_t> line;
  std::optional<std::uint64_t> offset;
};

// Message grammar: lower-case first word, no final period, names the object, found against
// expected.
struct Error {
  ErrorCode code = ErrorCode::kInput;
  std::string message;
  Where where = {};
  std::string hint = {};

  // "FILE:LINE: message; hint" on one line
  std::string one_line() const;
};

Error input_error(std::string message, std::string hint = "");
Error missing_error(std::string message, std::string hint = "");

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const T& value() const& {
    COMM_PROBE_CHECK(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }
  T& value() & {
    COMM_PROBE_CHECK(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }
  T&& value() && {
    COMM_PROBE_CHECK(ok(), "value() of a failed Result");
    return std::get<0>(std::move(state_));
  }
  const Error& error() const {
    COMM_PROBE_CHECK(!ok(), "error() of a successful Result");
    return std::get<1>(state_);
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace comm_probe::core
