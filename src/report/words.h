// The words of a report in the language of --lang: labels, headings and heads of tables by their
// English text, and the verdict. What has no translation stays English: an input's own words, a
// sentence with figures.
//
//   word("evidence")                          // "evidence"; with --lang zh "证据"
//   verdict_in_language(document)             // "": English. "发现 2 个警告；首要的是 ..."
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/document.h"

namespace comm_probe::report {

std::string word(std::string_view english);
// With its headings and its heads translated.
core::Table in_words(core::Table table);
// What was found, in a sentence made of the findings' own texts; empty in English and where a
// document judges nothing.
std::string verdict_in_language(const core::Document& document);
// Every word that a report says by itself, for the test that each has its translation. Those of the
// page stand in src/core/texts/zh_page.txt, and a test of web/ holds them against its sources.
std::span<const std::string_view> report_words();
// All that the page needs to speak the language of --lang: pictures.words of its document.
core::Json words_of_page(const core::Document& document);
// The same of a document that was written before, as `report` reads it: its verdict and texts. The
// labels are those of the page that it stands on.
core::Json words_of_envelope(const core::Json& envelope);

}  // namespace comm_probe::report
