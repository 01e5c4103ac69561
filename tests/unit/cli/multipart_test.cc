// Bodies as browsers and curl send them (RFC 7578), in pieces of any size, and bodies that are
// none.
#include "cli/multipart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace comm_probe::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Kept : FormParts {
  std::vector<std::string> seen = {};  // "file a.log: text"
  Refused begin(const FormPart& part) override {
    seen.push_back(part.name + (part.file_name ? " " + *part.file_name : "") + ": ");
    return refusal;
  }
  Refused data(std::string_view bytes) override {
    seen.back() += bytes;
    return std::nullopt;
  }
  Refused end() override {
    seen.back() += ".";
    return std::nullopt;
  }
  Refused refusal = {};
};

Refused read(const std::string& body, std::size_t piece, Kept& kept,
             const std::string& boundary = "xyz") {
  MultipartReader reader(boundary, kept);
  for (std::size_t at = 0; at < body.size(); at += piece)
    if (Refused refused = reader.feed(std::string_view(body).substr(at, piece))) return refused;
  return reader.finish();
}

// What curl 7.88 sends for `-F note=hello -F "file=@a.log;filename=b \"c\".log"`, its boundary cut.
constexpr const char* kCurl =
    "--xyz\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n"
    "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"b \\\"c\\\".log\"\r\n"
    "Content-Type: application/octet-stream\r\n\r\none\r\n--xy\r\n\r\n--xyz--\r\n";

TEST(Multipart, GivesThePartsWhateverThePieces) {
  for (std::size_t piece = 1; piece < 300; ++piece) {
    Kept kept;
    EXPECT_FALSE(read(kCurl, piece, kept)) << piece;
    EXPECT_THAT(kept.seen, ElementsAre("note: hello.", "file b \"c\".log: one\r\n--xy\r\n."))
        << piece;
  }
}

TEST(Multipart, PassesOverWhatStandsAroundTheParts) {
  Kept kept;
  EXPECT_FALSE(
      read("a preamble\r\n--xyz\r\ncontent-disposition:form-data; NAME=f\r\n\r\n\r\n--xyz--"
           "\r\nan epilogue",
           7, kept));
  EXPECT_THAT(kept.seen, ElementsAre("f: ."));
}

TEST(Multipart, RefusesWhatIsMalformed) {
  const std::pair<std::string, const char*> bodies[] = {
      {"", "no boundary in the body"},
      {std::string(100000, 'x'), "no boundary in the body"},
      {"--xyz\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\ncut", "ends within a part"},
      {"--xyz\r\nContent-Disposition: form-data; name=\"f\"\r\n", "ends within a part"},
      {"--xyz\r\nContent-Type: text/plain\r\n\r\nx\r\n--xyz--", "without Content-Disposition"},
      {"--xyz\r\nContent-Disposition: form-data\r\n\r\nx\r\n--xyz--",
       "without Content-Disposition"},
      {"--xyz\r\nContent-Disposition: form-data; name=\"open\r\n\r\nx\r\n--xyz--", "and a name"},
      {"--xyzabc\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n", "neither a line end"},
      {"--xyz\r\n" + std::string(20000, 'h'), "header of a part is too long"},
  };
  for (const auto& [body, expected] : bodies)
    for (const std::size_t piece : {std::size_t{1}, std::size_t{4096}}) {
      Kept kept;
      const Refused refused = read(body, piece, kept);
      ASSERT_TRUE(refused) << body.substr(0, 80);
      EXPECT_EQ(refused->status, 400);
      EXPECT_THAT(refused->text, HasSubstr(expected)) << body.substr(0, 80);
    }
}

TEST(Multipart, StopsWhereAPartIsRefused) {
  Kept kept;
  kept.refusal = Refusal{413, "too many"};
  EXPECT_EQ(read(kCurl, 50, kept)->status, 413);
  EXPECT_EQ(kept.seen.size(), 1U);
}

TEST(Multipart, FindsTheBoundary) {
  EXPECT_EQ(boundary_of("multipart/form-data; boundary=----WebKitFormBoundary7MA4"),
            "----WebKitFormBoundary7MA4");
  EXPECT_EQ(boundary_of("multipart/form-data; charset=x; Boundary=\"a b;c\""), "a b;c");
  EXPECT_EQ(boundary_of("multipart/form-data"), std::nullopt);
  EXPECT_EQ(boundary_of("multipart/form-data; boundary="), std::nullopt);
  EXPECT_EQ(boundary_of("multipart/form-data; boundary=" + std::string(71, 'x')), std::nullopt);
}

}  // namespace
}  // namespace comm_probe::cli
