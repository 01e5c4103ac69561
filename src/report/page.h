// The page for the browser: one self-contained file. What it looks like and does stands in web/
// (TypeScript, built to web/prebuilt/page.html and embedded); here the document goes into it, as
// the JSON of --json. Its key "pictures" has what only pictures show; it stands in --json too, so
// that `report` draws the same out of it.
//
// Nothing that a document says can end the element around it, begin another one or run:
//   script_safe("</script>") == "\\u003c/script\\u003e"
// and the page lets the browser run its own program only (Content-Security-Policy with a hash).
#pragma once

#include <string>
#include <string_view>

#include "core/json.h"
#include "report/report.h"

namespace comm_probe::report {

// An empty object of pictures is left out.
void write_page(const core::Document& document, const core::Json& pictures, const Write& write);

// The page of `serve` to drop files on (web/drop.html); `facts` stand where a document would.
void write_drop_page(const core::Json& facts, const Write& write);

// JSON text of the same meaning in which no '<', '>' or '&' stands (in JSON they stand in strings
// only), and none of the two line ends of Unicode that JavaScript knows.
std::string script_safe(std::string_view json);

// The documents in a page, as they went into it; nothing where the text is no page of ours.
std::optional<std::string_view> document_of_page(std::string_view page);

}  // namespace comm_probe::report
