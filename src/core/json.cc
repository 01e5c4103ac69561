#include "core/json.h"

#include <fmt/format.h>

#include <charconv>

namespace comm_probe::core {

Json json_number(double value) {
  if (!std::isfinite(value)) return nullptr;
  const std::string text = fmt::format("{:.12g}", value);
  double rounded = value;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded == 0 ? 0.0 : rounded;  // no "-0.0"
}

Json json_bytes(Bytes bytes) {
  if (bytes.count() >= 9007199254740992.0) return bytes.count();
  return bytes.whole();
}

Json to_json(const Figure& figure) {
  Json json = {{"value", json_number(figure.value)},
               {"unit", figure.unit},
               {"basis", basis_name(figure.basis)}};
  if (!figure.source.empty()) json["source"] = figure.source;
  return json;
}

Json to_json(const Evidence& evidence) {
  Json json = {{"source", evidence.source}};
  if (evidence.line) json["line"] = *evidence.line;
  json["text"] = evidence.text;
  return json;
}

Json to_json(const Finding& finding) {
  Json json = {{"id", finding.id},
               {"severity", severity_name(finding.severity)},
               {"layer", layer_name(finding.layer)},
               {"summary", finding.summary},
               {"ranks", finding.ranks}};
  if (finding.expected) json["expected"] = to_json(*finding.expected);
  if (finding.observed) json["observed"] = to_json(*finding.observed);
  if (finding.explains) json["explains"] = to_json(*finding.explains);
  json["evidence"] = Json::array();
  for (const Evidence& evidence : finding.evidence) json["evidence"].push_back(to_json(evidence));
  json["confidence"] = confidence_name(finding.confidence);
  json["next"] = finding.next;
  return json;
}

Json to_json(const Caveat& caveat) {
  return {{"id", caveat.id},
          {"missing", caveat.missing},
          {"effect", caveat.effect},
          {"limits", caveat.limits}};
}

}  // namespace comm_probe::core
