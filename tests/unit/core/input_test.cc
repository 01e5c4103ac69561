#include "core/input.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>

namespace comm_probe::core {
namespace {

std::string gzipped(const std::string& plain) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, plain.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd_packed(const std::string& plain) {
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 3));
  return packed;
}

std::string some_lines() {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

std::vector<std::string> read_lines(Input& input, std::optional<Error>* error = nullptr) {
  std::vector<std::string> lines;
  LineReader reader(input);
  for (Line line; reader.next(line);) lines.emplace_back(line.text);
  if (error != nullptr) *error = reader.error();
  return lines;
}

TEST(Input, UnpacksByContent) {
  const std::string text = some_lines();
  for (const std::string& bytes : {text, gzipped(text), zstd_packed(text),
                                   gzipped(text.substr(0, 1000)) + gzipped(text.substr(1000))}) {
    Input input = Input::from_memory("x", bytes);
    EXPECT_EQ(input.head().substr(0, 7), "line 0\n");
    const auto lines = read_lines(input);
    ASSERT_EQ(lines.size(), 200000U);
    EXPECT_EQ(lines.back(), "line 199999");
  }
}

TEST(Input, DeliversWhatStandsBeforeTheDamage) {
  const std::string text = some_lines();
  for (const std::string& packed : {gzipped(text), zstd_packed(text)}) {
    Input input = Input::from_memory("cut.gz", packed.substr(0, packed.size() / 2));
    std::optional<Error> error;
    const auto lines = read_lines(input, &error);
    EXPECT_GT(lines.size(), 1000U);
    ASSERT_TRUE(error.has_value());
    EXPECT_NE(error->one_line().find("cut.gz: offset "), std::string::npos) << error->one_line();
  }
}

TEST(LineReader, KeepsOffsetsAndEndings) {
  Input input = Input::from_memory("x", "one\r\n\ntwo");
  LineReader reader(input);
  Line line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line.text, "one");
  EXPECT_TRUE(line.carriage_return);
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line.text, "");
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line.text, "two");
  EXPECT_EQ(line.offset, 6U);
  EXPECT_EQ(line.number, 3U);
  EXPECT_FALSE(line.ended);
  EXPECT_FALSE(reader.next(line));
}

TEST(LineReader, CutsEndlessLines) {
  Input input = Input::from_memory("x", std::string(3 << 20, 'a') + "\nb\n");
  LineReader reader(input);
  Line line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_TRUE(line.cut);
  EXPECT_EQ(line.text.size(), LineReader::kLongestLine);
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line.text, "b");
}

TEST(Input, NamesWhatItSees) {
  EXPECT_EQ(describe_content(""), "an empty file");
  EXPECT_EQ(describe_content("\x89PNG\r\n\x1a\n"),
            "a PNG image (give the text itself, not a picture of it)");
  EXPECT_EQ(describe_content(std::string(4096, '\0')), "nothing but zero bytes");
  EXPECT_EQ(describe_content(std::string("a\0b\0c\0d\0e\0f\0g\0h\0", 16)),
            "UTF-16 text (iconv -f UTF-16 -t UTF-8 makes it readable)");
  EXPECT_EQ(classify_content("  {\"a\": 1}"), ContentClass::kJson);
  EXPECT_EQ(classify_content("#  size count\n"), ContentClass::kText);
}

TEST(Input, ExpandsDirectories) {
  const std::string root = testing::TempDir() + "/expand";
  std::filesystem::create_directories(root + "/b");
  for (const char* name : {"/a.txt", "/b/c.txt", "/truth.json", "/.hidden"})
    std::ofstream(root + name) << "x";
  const auto files = expand_paths({root});
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(*files, (std::vector<std::string>{root + "/a.txt", root + "/b/c.txt"}));
  EXPECT_FALSE(Input::open(root).ok());
  EXPECT_FALSE(Input::open(root + "/absent").ok());
  std::filesystem::remove_all(root);
}

TEST(Input, ALinkThatLeadsNowhereIsNoFile) {
  const std::string root = testing::TempDir() + "/links" + std::to_string(::getpid());
  std::filesystem::create_directories(root + "/empty");
  std::ofstream(root + "/z.txt") << "x";
  std::filesystem::create_symlink("absent", root + "/dangling");
  std::filesystem::create_symlink("loop", root + "/loop");
  std::filesystem::create_symlink("..", root + "/empty/up");
  ASSERT_EQ(::mkfifo((root + "/fifo").c_str(), 0600), 0);
  const auto files = expand_paths({root});
  ASSERT_TRUE(files.ok()) << files.error().one_line();
  EXPECT_EQ(*files, std::vector<std::string>{root + "/z.txt"});
  EXPECT_EQ(expand_paths({root + "/empty"}).error().one_line(),
            root + "/empty: holds no file, expected at least one");
  EXPECT_EQ(Input::open(root + "/loop").error().one_line(),
            root + "/loop: cannot open: Too many levels of symbolic links");
  std::filesystem::remove_all(root);
}

TEST(LineReader, DropsTheByteOrderMarkOfUtf8) {
  Input input = Input::from_memory("x", "\xef\xbb\xbf# size\n\xef\xbb\xbfnext\n");
  EXPECT_EQ(classify_content(std::string("\xef\xbb\xbf") + "{}"), ContentClass::kJson);
  EXPECT_EQ(read_lines(input), (std::vector<std::string>{"# size", "\xef\xbb\xbfnext"}));
}

}  // namespace
}  // namespace comm_probe::core
