// What a client calls its files leads nowhere.
#include "cli/upload.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace comm_probe::cli {
namespace {

namespace fs = std::filesystem;

TEST(SafeName, StaysBelowItsFolder) {
  EXPECT_EQ(safe_name("rank0.log"), "rank0.log");
  EXPECT_EQ(safe_name("logs/node-7/rank_0.log.gz"), "logs/node-7/rank_0.log.gz");
  EXPECT_EQ(safe_name("../../etc/passwd"), "etc/passwd");
  EXPECT_EQ(safe_name("/etc/./passwd"), "etc/passwd");
  EXPECT_EQ(safe_name("C:\\logs\\rank 0.log"), "C_/logs/rank_0.log");
  EXPECT_EQ(safe_name("a\nb;$(rm -rf *)`\"'"), "a_b___rm_-rf______");
  EXPECT_EQ(safe_name(std::string("a\0b", 3)), "a_b");
  EXPECT_EQ(safe_name("\x1b[2Jx"), "__2Jx");
  for (const char* nothing : {"", ".", "..", "/", "../..", "\\..\\"})
    EXPECT_EQ(safe_name(nothing), "file") << nothing;
}

TEST(SafeName, KeepsLettersOfAllScriptsAndNoHalfOnes) {
  EXPECT_EQ(safe_name("\xe8\xae\xad\xe7\xbb\x83.log"), "\xe8\xae\xad\xe7\xbb\x83.log");
  EXPECT_EQ(safe_name("a\xff\xe8.log"), "a__.log");
  EXPECT_EQ(safe_name("a\xe2\x80\xae.log"), "a_.log");  // turns the direction of a line
}

TEST(SafeName, IsShort) {
  EXPECT_EQ(safe_name(std::string(5000, 'x')), std::string(100, 'x'));
  EXPECT_LE(safe_name(std::string(99, 'x') + "\xe8\xae\xad").size(), 100U);
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "d/";
  EXPECT_EQ(safe_name(deep + "f"), "d/d/d/d/d/d/d/d/f");
}

class UploadFolder : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }
  void put(Upload& upload, const std::string& name, const std::string& text) const {
    EXPECT_FALSE(upload.begin({"file", name}));
    EXPECT_FALSE(upload.data(text));
    EXPECT_FALSE(upload.end());
  }
  std::set<std::string> files() const {
    std::set<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file()) all.insert(fs::relative(entry.path(), folder_).string());
    return all;
  }
  UploadRoom room_ = {.most = core::Bytes::of(1e6)};
  const std::string folder_ = testing::TempDir() + "/upload" + std::to_string(::getpid());
};

TEST_F(UploadFolder, KeepsTwoFilesOfOneNameApart) {
  Upload upload(folder_, room_);
  put(upload, "rank0.log", "one");
  put(upload, "rank0.log", "two");
  put(upload, "2/rank0.log", "three");  // the place of the second
  put(upload, "rank0.log/inner", "four");
  EXPECT_EQ(files(), (std::set<std::string>{"upload/rank0.log", "upload/2/rank0.log",
                                            "upload/2/2/rank0.log", "upload/3/rank0.log/inner"}))
      << testing::PrintToString(files());
  EXPECT_EQ(upload.files(), 4U);
}

TEST_F(UploadFolder, IsPrivateAndGoesWithTheObject) {
  {
    Upload upload(folder_, room_);
    put(upload, "a.log", "text");
    EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
    EXPECT_EQ(fs::status(folder_ + "/upload/a.log").permissions(),
              fs::perms::owner_read | fs::perms::owner_write);
  }
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_EQ(room_.held, core::Bytes());
}

TEST_F(UploadFolder, TakesNoFieldForAFileAndNotTooMany) {
  Upload upload(folder_, room_);
  EXPECT_FALSE(upload.begin({"note", std::nullopt}));
  EXPECT_FALSE(upload.data("text"));
  EXPECT_FALSE(upload.begin({"file", ""}));  // a form without a chosen file
  EXPECT_EQ(upload.files(), 0U);
  for (int i = 0; i < 4096; ++i) ASSERT_FALSE(upload.begin({"file", "f" + std::to_string(i)}));
  EXPECT_EQ(upload.begin({"file", "one more"})->status, 413);
}

}  // namespace
}  // namespace comm_probe::cli
