#include "report/timeline_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "report/svg.h"
#include "report/timeline_script.h"

namespace comm_probe::report {
namespace {

using core::Json;
using core::TimelineState;

constexpr std::size_t kStates = 5;

Json spans_json(const std::vector<core::TimelineSpan>& spans) {
  Json list = Json::array();
  for (const core::TimelineSpan& span : spans) list.push_back({span.start, span.end, span.name});
  return list;
}

Json row_json(const core::TimelineRow& row) {
  Json pieces = Json::array();
  std::int64_t exposed = 0;
  for (const core::TimelinePiece& piece : row.pieces) {
    pieces.push_back(static_cast<int>(piece.state));
    pieces.push_back(piece.length);
    if (piece.state == TimelineState::kExposed) exposed += piece.length;
  }
  return {{"name", row.name},
          {"about", row.about},
          {"start", row.start},
          {"summed", row.summed},
          {"exposed", exposed},
          {"pieces", std::move(pieces)},
          {"steps", spans_json(row.steps)},
          {"calls", spans_json(row.calls)},
          {"marks", spans_json(row.marks)}};
}

// JSON in which no "<" stands: it cannot end the element around it, nor begin a comment.
std::string data_of(const core::Timeline& timeline) {
  Json data = {{"names", timeline.names}, {"rows", Json::array()}};
  for (const core::TimelineRow& row : timeline.rows) data["rows"].push_back(row_json(row));
  const std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char letter : text)
    if (letter == '<')
      safe += "\\u003c";
    else
      safe += letter;
  return safe;
}

std::string finding_html(const core::Finding& finding) {
  std::string html =
      fmt::format("<div class=\"finding {}\"><b>{}</b> {}", core::severity_name(finding.severity),
                  escape_xml(finding.id), escape_xml(finding.summary));
  for (const std::string& next : finding.next)
    html += "<div class=\"next\">" + escape_xml(next) + "</div>";
  return html + "</div>\n";
}

// What limits the page, above everything that it says.
std::string caveats_html(const core::Document& document) {
  std::string html;
  for (const core::Caveat& caveat : document.caveats)
    if (caveat.limits)
      html +=
          fmt::format("<p class=\"note\"><b>{}</b> missing: {}; {}</p>\n", escape_xml(caveat.id),
                      escape_xml(caveat.missing), escape_xml(caveat.effect));
  return html;
}

// Warnings in full, information behind one line.
std::string findings_html(const core::Document& document) {
  std::string shown;
  std::string notes;
  std::size_t count = 0;
  for (const core::Finding& finding : document.findings) {
    const bool is_note = finding.severity == core::Severity::kInfo;
    (is_note ? notes : shown) += finding_html(finding);
    count += is_note ? 1 : 0;
  }
  if (count > 0)
    shown += fmt::format("<details><summary>{} note{}</summary>{}</details>\n", count,
                         count == 1 ? "" : "s", notes);
  return shown;
}

std::string legend() {
  constexpr const char* kKeys[kStates][2] = {{"#4c78a8", "compute"},
                                             {"#72b7b2", "communication behind compute"},
                                             {"#de3c38", "exposed communication"},
                                             {"#c4a43e", "copies"},
                                             {"#eef0f3", "idle"}};
  std::string html;
  for (const auto& [color, name] : kKeys)
    html +=
        fmt::format("<span class=\"key\"><i style=\"background:{}\"></i>{}</span>", color, name);
  return html +
         "<span class=\"key\"><i style=\"background:#6b2fb3;height:4px\"></i>of a finding</span>";
}

}  // namespace

std::string render_timeline_page(const core::Document& document, const core::Timeline& timeline) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n";
  page += fmt::format("<title>{}</title>\n<style>{}</style></head>\n<body>\n",
                      escape_xml(timeline.title), timeline_style());
  page +=
      fmt::format("<h1>{}</h1>\n{}<p class=\"verdict\">{}</p>\n{}", escape_xml(timeline.title),
                  caveats_html(document), escape_xml(document.verdict), findings_html(document));
  page += "<div class=\"bar\">" + legend() +
          "<button id=\"in\">+</button><button id=\"out\">&#8722;</button>"
          "<button id=\"all\">all</button><button id=\"sort\" data-by=\"exposed\">"
          "sort by exposed</button></div>\n"
          "<canvas id=\"line\" tabindex=\"0\" aria-label=\"time line of the ranks\"></canvas>\n";
  for (const std::string& note : timeline.notes)
    page += "<p class=\"note\">" + escape_xml(note) + "</p>\n";
  page += "<div id=\"tip\"></div>\n<script type=\"application/json\" id=\"data\">";
  page += data_of(timeline);
  page += fmt::format("</script>\n<script>{}</script>\n</body></html>\n", timeline_script());
  return page;
}

}  // namespace comm_probe::report
