#include "report/page.h"

#include <algorithm>

#include "core/check.h"
#include "core/language.h"
#include "report/builtin_files.h"
#include "report/envelope.h"
#include "report/words.h"

namespace comm_probe::report {
namespace {

// web/page.html holds them around the place of the document.
constexpr std::string_view kOpen = "<script type=\"application/json\" id=\"document\">";
constexpr std::string_view kClose = "</script>";

struct Escape {
  std::string_view text;
  std::string_view json;
};
constexpr Escape kEscapes[] = {{"<", "\\u003c"},
                               {">", "\\u003e"},
                               {"&", "\\u0026"},
                               {"\xe2\x80\xa8", "\\u2028"},
                               {"\xe2\x80\xa9", "\\u2029"}};

const Escape* escape_at(std::string_view text) {
  for (const Escape& escape : kEscapes)
    if (text.starts_with(escape.text)) return &escape;
  return nullptr;
}

std::string_view page_template(std::string_view name) {
  const auto files = builtin_files();
  const auto found = std::find_if(files.begin(), files.end(),
                                  [name](const BuiltinFile& file) { return file.name == name; });
  COMM_PROBE_CHECK(found != files.end(), "the template is embedded");
  return found->text;
}

// What `content` writes goes into the place of the document.
template <class Content>
void write_into(std::string_view page, const Write& write, Content content) {
  const std::size_t open = page.find(kOpen);
  COMM_PROBE_CHECK(open != page.npos, "the template has a place for the document");
  const std::size_t at = open + kOpen.size();
  write(page.substr(0, at));
  content();
  write(page.substr(at));
}

}  // namespace

std::string script_safe(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  while (!json.empty()) {
    const std::size_t plain = std::min(json.find_first_of("<>&\xe2"), json.size());
    safe += json.substr(0, plain);
    json.remove_prefix(plain);
    if (json.empty()) break;
    const Escape* escape = escape_at(json);
    safe += escape != nullptr ? escape->json : json.substr(0, 1);
    json.remove_prefix(escape != nullptr ? escape->text.size() : 1);
  }
  return safe;
}

void write_page(const core::Document& document, const core::Json& pictures, const Write& write) {
  core::Json all;
  if (core::language() != core::Language::kEnglish) {
    all = pictures;
    all["words"] = words_of_page(document);
  }
  const core::Json& shown = all.empty() ? pictures : all;
  const EnvelopeStyle style{.indent = -1, .pictures = shown.empty() ? nullptr : &shown};
  write_into(page_template("page.html"), write, [&] {
    write_envelope(document, style, [&](std::string_view part) { write(script_safe(part)); });
  });
}

void write_drop_page(const core::Json& facts, const Write& write) {
  write_into(page_template("drop.html"), write, [&] { write(script_safe(facts.dump())); });
}

std::optional<std::string_view> document_of_page(std::string_view page) {
  const std::size_t open = page.find(kOpen);
  if (open == page.npos) return std::nullopt;
  const std::size_t at = open + kOpen.size();
  const std::size_t close = page.find(kClose, at);
  if (close == page.npos) return std::nullopt;
  return page.substr(at, close - at);
}

}  // namespace comm_probe::report
