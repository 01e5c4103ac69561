// tests/inputs/archives/pax.tar.gz was written by Python 3.11's tarfile (its default, PAX_FORMAT):
// two files below a folder of 121 characters, one with a name that is not ASCII, and a link whose
// name and target are long.
#include "core/pax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/archive.h"
#include "core/untar.h"

namespace comm_probe::core {
namespace {

using testing::ElementsAre;
using testing::Pair;

const std::string kDeep = std::string(60, 'd') + "/" + std::string(60, 'e') + "/";

Result<Input> written_by_python() {
  return Input::open(COMM_PROBE_SOURCE_DIR "/tests/inputs/archives/pax.tar.gz");
}

struct Names : TarVisitor {
  bool wants(const std::string& path, std::uint64_t) override {
    files.emplace_back(path, "");
    return true;
  }
  void take(std::string_view bytes) override { files.back().second += bytes; }
  void end() override {}
  std::vector<std::pair<std::string, std::string>> files;
};

TEST(Pax, LongAndForeignNamesAreWhole) {
  auto input = written_by_python();
  ASSERT_TRUE(input.ok());
  Names names;
  const auto count = walk_tar(*input, names);
  ASSERT_TRUE(count.ok()) << count.error().one_line();
  EXPECT_THAT(names.files,
              ElementsAre(Pair(kDeep + "one.log", "first\n"), Pair(kDeep + "two.log", "second\n"),
                          Pair("knoten/\u8282\u70b9.log", "third\n")));
}

TEST(Pax, AnArchiveInMemoryHasTheSameNames) {
  auto input = written_by_python();
  ASSERT_TRUE(input.ok());
  const auto archive = Archive::read_tar(*input);
  ASSERT_TRUE(archive.ok()) << archive.error().one_line();
  EXPECT_EQ(archive->read("/" + kDeep + "two.log"), "second\n");
  EXPECT_EQ(archive->link_target("/" + std::string(110, 'd') + "/link"), kDeep + "one.log");
}

TEST(Pax, RecordsAreReadUpToTheFirstThatIsNone) {
  EXPECT_EQ(pax_fields("17 path=logs/a.b\n").path, "logs/a.b");
  EXPECT_EQ(pax_fields("30 mtime=1764524821.123456789\n14 size=12345\n").size, 12345u);
  EXPECT_EQ(pax_fields("12 path=a=b\n").path, "a=b");
  for (const char* broken :
       {"", "x", "17", "17 ", "0 path=a\n", "9999 path=a\n", "3 \n", "-7 path=a\n", "9 path=ab",
        "99999999999999999999999 path=a\n", "6 path\n"})
    EXPECT_EQ(pax_fields(broken).path, "") << broken;
}

}  // namespace
}  // namespace comm_probe::core
