// The body of a form with files (multipart/form-data, RFC 7578), as it comes: pieces of any size go
// in, parts come out, and no more is kept than the header of one part. A body that breaks the rules
// is refused with the reason; what a client calls its files is passed on as it is.
//
//   boundary_of("multipart/form-data; boundary=xyz")   // "xyz"
//   MultipartReader reader("xyz", parts);
//   reader.feed("--xyz\r\nContent-Disposition: form-data; name=\"file\";
//   filename=\"a.log\"\r\n\r\n")
//                                                       // parts.begin({"file", "a.log"})
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace comm_probe::cli {

// Why a request is not taken: a status of HTTP (RFC 9110) and one line for the person who sent it.
struct Refusal {
  int status = 400;
  std::string text = {};
};
using Refused = std::optional<Refusal>;

struct FormPart {
  std::string name = {};
  std::optional<std::string> file_name = {};  // a part without it is a field of the form
};

class FormParts {
 public:
  virtual ~FormParts() = default;
  virtual Refused begin(const FormPart& part) = 0;
  virtual Refused data(std::string_view bytes) = 0;
  virtual Refused end() = 0;
};

// The value of a parameter behind ';' ("filename" of `form-data; filename="a b.log"`), quoted or
// not.
std::optional<std::string> header_parameter(std::string_view header, std::string_view name);
// 1 to 70 characters (RFC 2046); nothing where the header names none.
std::optional<std::string> boundary_of(std::string_view content_type);

class MultipartReader {
 public:
  MultipartReader(const std::string& boundary, FormParts& parts);
  Refused feed(std::string_view bytes);
  // The body is over.
  Refused finish() const;

 private:
  enum class State { kPreamble, kBehindDelimiter, kHeader, kData, kOver };

  // One step over the buffer; false where more bytes are needed.
  bool step(Refused& refused);
  bool skip_preamble();
  bool read_behind_delimiter(Refused& refused);
  bool read_header(Refused& refused);
  bool read_data(Refused& refused);
  void drop(std::size_t bytes) { used_ += bytes; }
  std::string_view rest() const { return std::string_view(buffer_).substr(used_); }

  std::string delimiter_;  // "\r\n--BOUNDARY"
  FormParts& parts_;
  std::string buffer_ = "\r\n";  // the first delimiter may stand at the very start
  std::size_t used_ = 0;
  State state_ = State::kPreamble;
};

}  // namespace comm_probe::cli
