// Any body of a form: no crash, the same parts whatever the pieces it comes in, and names of files
// that stay below their folder. The first byte says how large the pieces are.
#include <cstdlib>
#include <string>

#include "cli/multipart.h"
#include "cli/upload.h"

namespace {

using namespace comm_probe::cli;

void require(bool promise) {
  if (!promise) std::abort();
}

struct Kept : FormParts {
  std::string seen = {};
  Refused begin(const FormPart& part) override {
    seen += "[" + part.name + "|" + part.file_name.value_or("") + "]";
    const std::string name = safe_name(part.file_name.value_or(""));
    require(!name.empty() && name.front() != '/' && name.size() < 1000);
    require(("/" + name + "/").find("/../") == std::string::npos);
    return std::nullopt;
  }
  Refused data(std::string_view bytes) override {
    require(!bytes.empty());
    seen += bytes;
    return std::nullopt;
  }
  Refused end() override {
    seen += ".";
    return std::nullopt;
  }
};

std::string read(std::string_view body, std::size_t piece) {
  Kept kept;
  MultipartReader reader("xyz", kept);
  for (std::size_t at = 0; at < body.size(); at += piece)
    if (const Refused refused = reader.feed(body.substr(at, piece))) return refused->text;
  const Refused refused = reader.finish();
  return refused ? refused->text : kept.seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  require(read(body, body.size() + 1) == read(body, std::size_t{data[0]} + 1));
  boundary_of(body);
  return 0;
}
