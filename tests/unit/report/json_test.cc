#include <gtest/gtest.h>

#include "report/report.h"

namespace comm_probe::report {
namespace {

using core::Json;

core::Document document_with(Json result) {
  core::Document document{.command = "curve"};
  document.result = std::move(result);
  document.verdict = "\x01 is no hole";
  return document;
}

// However long: the same document as with the list in the tree.
TEST(RenderJson, ALongListIsTheListItself) {
  for (const std::size_t size : {0U, 1U, 1023U, 1024U, 5000U}) {
    const auto item = [](std::size_t i) { return Json{{"i", i}, {"text", "\x01 \xff"}}; };
    core::Document streamed = document_with({{"a", 1}, {"z", "\x01"}});
    streamed.long_list = core::LongList{"curves", size, item};
    Json::array_t list;
    for (std::size_t i = 0; i < size; ++i) list.push_back(item(i));
    const core::Document whole = document_with({{"a", 1}, {"curves", list}, {"z", "\x01"}});
    const auto from_stream = nlohmann::json::parse(render_json(streamed), nullptr, false);
    ASSERT_FALSE(from_stream.is_discarded()) << size;
    EXPECT_EQ(from_stream, nlohmann::json::parse(render_json(whole))) << size;  // in any order
  }
}

// Whatever the document: one key more, the last one, on one line.
TEST(RenderJson, PicturesStandBehindAllElse) {
  const Json pictures = {{"groups", {{{"name", "0"}, {"ranks", {0, 1, 2}}}}}};
  core::Document streamed = document_with({{"a", 1}});
  streamed.long_list = core::LongList{"curves", 3, [](std::size_t i) { return Json{{"i", i}}; }};
  for (const core::Document& document :
       {document_with({{"a", 1}}), document_with(Json::object()), streamed}) {
    std::string text;
    write_json(document, pictures, [&](std::string_view part) { text += part; });
    Json parsed = Json::parse(text, nullptr, false);
    ASSERT_FALSE(parsed.is_discarded()) << text;
    EXPECT_EQ(parsed.at("pictures"), pictures);
    EXPECT_NE(text.find("\n  \"pictures\": " + pictures.dump() + "\n}\n"), text.npos) << text;
    parsed.erase("pictures");
    EXPECT_EQ(nlohmann::json(parsed), nlohmann::json::parse(render_json(document)));
  }
}

TEST(RenderJson, NoPicturesAreNoKey) {
  std::string text;
  write_json(document_with({}), Json::object(), [&](std::string_view part) { text += part; });
  EXPECT_EQ(text, render_json(document_with({})));
}

}  // namespace
}  // namespace comm_probe::report
