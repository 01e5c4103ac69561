#include "core/json.h"

#include <vector>

#include "core/parallel.h"
#include "report/envelope.h"

namespace comm_probe::report {
namespace {

using core::Json;

// Items of a long list that are made before they are written.
constexpr std::size_t kItemsAtOnce = 1024;

// input bytes that are not UTF-8 are replaced, never thrown upon
std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Behind all else, and on one line whatever the indent: lists of many short numbers.
std::string with_pictures(std::string envelope, const EnvelopeStyle& style) {
  if (style.pictures == nullptr || style.pictures->empty()) return envelope;
  const std::string_view end = style.indent < 0 ? "}" : "\n}";
  envelope.resize(envelope.size() - end.size());
  envelope += style.indent < 0 ? ",\"pictures\":" : ",\n  \"pictures\": ";
  return envelope + text_of(*style.pictures, -1) + std::string(end);
}

std::string envelope_text(const core::Document& document, Json result, const EnvelopeStyle& style) {
  Json inputs = Json::array();
  for (const core::InputRecord& input : document.inputs) {
    Json record = {{"path", input.path}, {"kind", input.kind}};
    if (input.rank) record["rank"] = *input.rank;
    inputs.push_back(std::move(record));
  }
  Json findings = Json::array();
  for (const core::Finding& finding : document.findings) findings.push_back(core::to_json(finding));
  Json caveats = Json::array();
  for (const core::Caveat& caveat : document.caveats) caveats.push_back(core::to_json(caveat));
  Json envelope = {{"comm_probe", kVersion},          {"command", document.command},
                   {"inputs", std::move(inputs)},     {"result", std::move(result)},
                   {"findings", std::move(findings)}, {"caveats", std::move(caveats)}};
  if (!document.verdict.empty()) envelope["verdict"] = document.verdict;
  return with_pictures(text_of(envelope, style.indent), style) + "\n";
}

void write_items(const core::LongList& list, const Write& write) {
  std::vector<std::string> items;
  for (std::size_t first = 0; first < list.size; first += kItemsAtOnce) {
    items.assign(std::min(kItemsAtOnce, list.size - first), "");
    core::for_each_index(items.size(),
                         [&](std::size_t i) { items[i] = text_of(list.item(first + i), -1); });
    for (std::size_t i = 0; i < items.size(); ++i) {
      write(first + i == 0 ? "\n" : ",\n");
      write(items[i]);
    }
  }
}

}  // namespace

void write_envelope(const core::Document& document, const EnvelopeStyle& style,
                    const Write& write) {
  if (!document.long_list) return write(envelope_text(document, document.result, style));
  const std::string hole = "\x01";
  Json result = document.result;
  result[document.long_list->key] = hole;
  const std::string envelope = envelope_text(document, std::move(result), style);
  const std::string quoted = text_of(Json(hole), -1);
  // a string that reads so would have its quotes escaped: only the key itself can stand there
  const std::string key =
      text_of(Json(document.long_list->key), -1) + (style.indent < 0 ? ":" : ": ");
  const std::size_t at = envelope.find(key + quoted) + key.size();
  write(std::string_view(envelope).substr(0, at));
  write("[");
  write_items(*document.long_list, write);
  write("\n]");
  write(std::string_view(envelope).substr(at + quoted.size()));
}

void write_json(const core::Document& document, const Write& write) {
  write_envelope(document, {}, write);
}

void write_json(const core::Document& document, const Json& pictures, const Write& write) {
  write_envelope(document, {.pictures = &pictures}, write);
}

std::string render_json(const core::Document& document) {
  std::string text;
  write_json(document, [&text](std::string_view part) { text += part; });
  return text;
}

}  // namespace comm_probe::report
