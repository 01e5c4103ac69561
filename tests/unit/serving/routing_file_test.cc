// Routing files: what numpy writes, text and int32, and what is wrong with them.
#include "serving/readers/routing_file.h"

#include <gtest/gtest.h>

#include <cstring>

namespace comm_probe::serving {
namespace {

const RoutingShape kShape = {2, 4};

std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                const std::string& fortran = "False") {
  std::string text =
      "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  while ((text.size() + 11) % 64 != 0) text += ' ';
  text += '\n';
  std::string header = "\x93NUMPY";
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text + data;
}

template <class Value>
std::string packed(std::initializer_list<Value> values) {
  std::string bytes(values.size() * sizeof(Value), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

core::Result<model::Routing> read(const std::string& bytes, const RoutingShape& shape = kShape) {
  core::Input input = core::Input::from_memory("r", bytes);
  return read_routing(input, shape);
}
std::string refusal(const std::string& bytes) {
  const auto routing = read(bytes);
  return routing ? "accepted" : routing.error().one_line();
}

const std::vector<std::uint16_t> kPicks = {0, 1, 3, 2};

TEST(RoutingFile, EveryKindOfWholeNumber) {
  const std::pair<const char*, std::string> kinds[] = {
      {"<i8", packed<std::int64_t>({0, 1, 3, 2})},  {"<i4", packed<std::int32_t>({0, 1, 3, 2})},
      {"<i2", packed<std::int16_t>({0, 1, 3, 2})},  {"|i1", packed<std::int8_t>({0, 1, 3, 2})},
      {"<u8", packed<std::uint64_t>({0, 1, 3, 2})}, {"<u4", packed<std::uint32_t>({0, 1, 3, 2})},
      {"<u2", packed<std::uint16_t>({0, 1, 3, 2})}, {"|u1", packed<std::uint8_t>({0, 1, 3, 2})}};
  for (const auto& [type, data] : kinds) {
    const auto routing = read(npy(type, "(2, 2)", data));
    ASSERT_TRUE(routing) << type << routing.error().one_line();
    EXPECT_EQ(routing->picks, kPicks) << type;
  }
}

TEST(RoutingFile, LogitsBecomeTheirLargest) {
  const auto routing = read(npy("<f4", "(2, 4)", packed<float>({.9f, .5f, .1f, -2, 0, 1, 2, 3})));
  ASSERT_TRUE(routing) << routing.error().one_line();
  EXPECT_EQ(routing->picks, kPicks);
  const auto text = read("0.9 0.5 0.1 -2\n0 1 2 3\n");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->picks, kPicks);
}

// A router that was never run: ties go to the lowest numbers, and that is counted.
TEST(RoutingFile, EqualLogitsAreCounted) {
  const auto routing = read(npy("<f4", "(2, 4)", packed<float>({1, 1, 1, 1, 0, 1, 2, 3})));
  ASSERT_TRUE(routing) << routing.error().one_line();
  EXPECT_EQ(routing->undecided, 1);
  EXPECT_EQ(read(packed<std::int32_t>({0, 1, 3, 2}))->undecided, 0);
}

// What routers emit are float16 and bfloat16 logits: as int32 they would be expert ids.
TEST(RoutingFile, AdviceKeepsLogitsLogits) {
  const auto advice = [](const char* type) {
    const auto routing = read(npy(type, "(2, 4)", std::string(16, '\0')));
    return routing ? "accepted" : routing.error().hint;
  };
  for (const char* type : {"<f2", "<V2", "|V2", ">f4"})
    EXPECT_NE(advice(type).find("astype('float32')"), std::string::npos) << type << advice(type);
  EXPECT_NE(advice(">i8").find("astype('int32')"), std::string::npos);
}

TEST(RoutingFile, TextAndPlainInts) {
  for (const char* text :
       {"0,1\n3,2\n", "expert0,expert1\n0,1\n3,2", "# topk ids\n0 1\n\n3\t2\n"}) {
    const auto routing = read(text);
    ASSERT_TRUE(routing) << text << routing.error().one_line();
    EXPECT_EQ(routing->picks, kPicks) << text;
  }
  const auto plain = read(packed<std::int32_t>({0, 1, 3, 2}));
  ASSERT_TRUE(plain) << plain.error().one_line();
  EXPECT_EQ(plain->picks, kPicks);
}

TEST(RoutingFile, MinusOnePicksNothing) {
  const auto routing = read(packed<std::int32_t>({0, -1, -1, -1}));
  ASSERT_TRUE(routing);
  const std::vector<std::uint16_t> picks = {0, model::kNoExpert, model::kNoExpert,
                                            model::kNoExpert};
  EXPECT_EQ(routing->picks, picks);
}

TEST(RoutingFile, WhatIsWrongStandsWithItsPlace) {
  const auto expect = [](const std::string& bytes, const char* where, const char* what) {
    const std::string line = refusal(bytes);
    EXPECT_NE(line.find(where), std::string::npos) << line;
    EXPECT_NE(line.find(what), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  };
  expect("", "r", "an empty file");
  expect("0,1\n3,9\n", "r:2", "token 1 picks expert 9, outside 0 to 3");
  expect("0,1\n3,3\n", "r:2", "picks expert 3 twice");
  expect("0,1\n3,x\n", "r:2", "'x' is no number");
  expect("0,1\n1,2,3\n", "r:2", "3 numbers");
  expect("0,1\n1,2.5\n", "r:2", "2.5 is no expert id");
  expect("1,nan\n", "r:1", "no expert id");
  expect("0.1,nan,1,2\n", "r:1", "no number");
  expect("0.1,inf,1,2\n", "r:1", "infinite");
  expect("a,b\nc,d\n", "r:2", "no number");
  expect("a,b\n", "r", "holds no token");
  expect(packed<std::int32_t>({0, 1, 3}), "offset 8", "cut off: 4 of 8 bytes");
  expect(packed<std::int32_t>({0, 1, 3, 77}), "offset 12", "expert 77");
  expect(packed<std::int32_t>({0, 1, -7, 1}), "offset 8", "expert -7");
  const std::string good = packed<std::int64_t>({0, 1, 3, 2});
  expect(npy("<i8", "(2, 2)", good.substr(0, 20)), "offset", "cut off");
  expect(npy("<i8", "(3, 2)", good), "offset", "end after 2 of 3 tokens");
  expect(npy("<i8", "(2, 2)", good, "True"), "offset 0", "Fortran order");
  expect(npy(">i8", "(2, 2)", good), "offset 0", "'>i8'");
  expect(npy("|O", "(2, 2)", good), "offset 0", "'|O'");
  expect(npy("<i8", "(4,)", good), "offset 0", "shape");
  expect(npy("<i8", "(1, 2, 2)", good), "offset 0", "shape");
  expect(npy("<i8", "(2, 3)", good), "offset 0", "3 expert ids per token, expected 2");
  expect(npy("<f4", "(2, 2)", good), "offset 0", "2 logits per token, expected 4");
  expect(npy("<i8", "(99999999999999999999, 2)", good), "offset 0", "shape");
  expect(std::string("\x93NUMPY\x01\x00\xff\xff", 10), "offset 0", ".npy header");
  expect("\x93NUMPY", "offset 0", ".npy header");
  expect("{\"picks\": [1, 2]}", "offset 0", "no routing");
}

// A file cut anywhere is refused or shorter by whole tokens, never anything else.
TEST(RoutingFile, CutAnywhere) {
  const std::string whole = npy("<i4", "(2, 2)", packed<std::int32_t>({0, 1, 3, 2}));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(refusal(whole.substr(0, size)), "accepted") << size;
}

}  // namespace
}  // namespace comm_probe::serving
