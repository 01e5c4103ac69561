// In which language stand the texts of the tables: terms, findings, misconceptions? English is in
// the code, beside what it is about. Another language is one file for each table (or several:
// zh_findings_log.txt), embedded from src/core/texts/, whose entries have the keys and the fields
// of the English ones; what a field does not have there stays English.
//
//   src/core/texts/zh_terms.txt    [busbw]
//                                  meaning: ...
//   in_language("terms", "busbw", "meaning", entry.meaning)
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/builtin_file.h"

namespace comm_probe::core {

enum class Language { kEnglish, kChinese };

// Of this process, set by --lang before anything is said; English until then.
Language language();
void set_language(Language language);

// What the file of this language says; empty where it says nothing, and always for English.
std::string_view translation(Language language, std::string_view table, std::string_view key,
                             std::string_view field);
// In the language of this process.
std::string in_language(std::string_view table, std::string_view key, std::string_view field,
                        std::string_view english);

// All that the file of this language says in this table and field, by key.
std::map<std::string_view, std::string_view> translations(Language language, std::string_view table,
                                                          std::string_view field);

std::span<const BuiltinFile> builtin_files();  // "zh_terms.txt"

}  // namespace comm_probe::core
