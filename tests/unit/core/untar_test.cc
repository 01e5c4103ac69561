// A tar as it streams in, beside the tar that is read as a whole.
#include "core/untar.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/archive.h"

namespace comm_probe::core {
namespace {

class Kept : public TarVisitor {
 public:
  bool wants(const std::string& path, std::uint64_t size) override {
    at_ = path;
    expected_ = size;
    files[path].clear();
    return true;
  }
  void take(std::string_view bytes) override { files[at_] += bytes; }
  void end() override { is_whole = is_whole && files[at_].size() == expected_; }

  std::map<std::string, std::string> files = {};
  bool is_whole = true;

 private:
  std::string at_ = {};
  std::uint64_t expected_ = 0;
};

std::string sample() {
  Archive archive;
  archive.add_file("logs/rank0.log", "NCCL INFO\n");
  archive.add_file("empty.txt", "");
  archive.add_file("block.bin", std::string(512, 'b'));
  archive.add_file("long/" + std::string(150, 'n') + "/file.txt", std::string(1300, 'x'));
  archive.add_link("link", "logs/rank0.log");
  archive.add_folder("nothing");
  return archive.tar();
}

TEST(Untar, GivesWhatTheWholeReaderGives) {
  auto input = Input::from_memory("a.tar", sample());
  Kept kept;
  const auto count = walk_tar(input, kept);
  ASSERT_TRUE(count.ok()) << count.error().one_line();
  EXPECT_EQ(*count, 4U);
  EXPECT_TRUE(kept.is_whole);
  auto again = Input::from_memory("a.tar", sample());
  const auto archive = Archive::read_tar(again);
  ASSERT_TRUE(archive.ok());
  for (const auto& [path, text] : kept.files) EXPECT_EQ(archive->read(path), text) << path;
  EXPECT_EQ(kept.files.count("link"), 0U);
}

// Cut anywhere: an error that names the place, or the end mark was there already.
TEST(Untar, CutAnywhere) {
  const std::string tar = sample();
  std::size_t failed = 0;
  for (std::size_t size = 0; size < tar.size(); size += 37) {
    auto input = Input::from_memory("cut.tar", tar.substr(0, size));
    Kept kept;
    const auto count = walk_tar(input, kept);
    if (count.ok()) continue;
    ++failed;
    EXPECT_NE(count.error().one_line().find("cut.tar"), std::string::npos);
  }
  EXPECT_GT(failed, 50U);
}

TEST(Untar, AnyBytes) {
  std::mt19937 random(7);
  const std::string tar = sample();
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = tar;
    for (int change = 0; change < 4; ++change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    auto input = Input::from_memory("x.tar", bytes);
    Kept kept;
    const auto count = walk_tar(input, kept);
    EXPECT_TRUE(count.ok() || !count.error().one_line().empty());
  }
}

}  // namespace
}  // namespace comm_probe::core
