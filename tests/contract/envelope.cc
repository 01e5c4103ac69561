#include "envelope.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/finding_table.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
using Words = std::set<std::string>;

class Rules {
 public:
  void check(const json& document, const std::string& command) {
    const bool has_all = has_keys(
        document, {"comm_probe", "command", "inputs", "result", "findings", "caveats"}, "document");
    if (!has_all) return;
    require(document["comm_probe"].is_string(), "comm_probe is a version");
    require(document["command"] == command, "command is " + command);
    require(document["result"].is_object(), "result is an object");
    for (const json& input : list_of(document["inputs"], "inputs")) check_input(input);
    for (const json& finding : list_of(document["findings"], "findings")) check_finding(finding);
    for (const json& caveat : list_of(document["caveats"], "caveats")) check_caveat(caveat);
    check_numbers(document, "");
  }
  std::vector<std::string> take() { return std::move(broken_); }

 private:
  void require(bool kept, const std::string& rule) {
    if (!kept) broken_.push_back(rule);
  }
  bool has_keys(const json& object, const Words& keys, const std::string& where) {
    const std::size_t before = broken_.size();
    for (const std::string& key : keys) require(object.contains(key), where + " has " + key);
    return broken_.size() == before;
  }
  const json& list_of(const json& value, const std::string& where) {
    static const json none = json::array();
    require(value.is_array(), where + " is a list");
    return value.is_array() ? value : none;
  }
  void one_of(const json& value, const Words& words, const std::string& where) {
    require(value.is_string() && words.contains(value),
            where + " is a known word: " + value.dump());
  }
  void text(const json& value, const std::string& where) {
    require(value.is_string() && !value.get<std::string>().empty(), where + " says something");
  }

  void check_input(const json& input) {
    if (!has_keys(input, {"path", "kind"}, "input")) return;
    text(input["path"], "input path");
    text(input["kind"], "input kind");
    if (input.contains("rank"))
      require(input["rank"].is_number_integer(), "input rank is a number");
  }
  void check_finding(const json& finding) {
    if (!has_keys(finding, {"id", "severity", "layer", "summary", "evidence", "confidence", "next"},
                  "finding"))
      return;
    const std::string id = finding["id"].get<std::string>();
    require(core::find_finding(id) != nullptr, id + " stands in the table");
    one_of(finding["severity"], {"error", "warning", "info"}, id + " severity");
    one_of(finding["layer"], {"hardware", "topology", "rdma", "nccl", "framework", "application"},
           id + " layer");
    one_of(finding["confidence"], {"certain", "likely", "possible"}, id + " confidence");
    text(finding["summary"], id + " summary");
    for (const json& rank : finding.value("ranks", json::array()))
      require(rank.is_number_integer(), id + " ranks are numbers");
    for (const char* side : {"expected", "observed", "explains"})
      if (finding.contains(side)) check_figure(finding[side], id + " " + side);
    for (const json& evidence : list_of(finding["evidence"], id + " evidence"))
      check_evidence(evidence, id);
    for (const json& next : list_of(finding["next"], id + " next")) text(next, id + " next");
  }
  void check_figure(const json& figure, const std::string& where) {
    if (!has_keys(figure, {"value", "unit"}, where)) return;
    require(figure["value"].is_number(), where + " value is a number");
    require(figure["unit"].is_string(), where + " unit is a word");
    if (figure.contains("basis"))
      one_of(figure["basis"], {"measured", "read", "computed", "catalog", "assumed"},
             where + " basis");
    require(figure.contains("basis") || where.find("expected") == std::string::npos,
            where + " has a basis");
  }
  void check_evidence(const json& evidence, const std::string& id) {
    if (!has_keys(evidence, {"source", "text"}, id + " evidence")) return;
    require(evidence["source"].is_string() && evidence["text"].is_string(), id + " evidence texts");
    if (evidence.contains("line"))
      require(evidence["line"].is_number_unsigned() && evidence["line"] > 0,
              id + " evidence lines count from 1");
  }
  void check_caveat(const json& caveat) {
    if (!has_keys(caveat, {"id", "missing", "effect"}, "caveat")) return;
    const std::string id = caveat["id"].get<std::string>();
    require(core::find_caveat(id) != nullptr, id + " stands in the table");
    text(caveat["missing"], id + " missing");
    text(caveat["effect"], id + " effect");
  }
  // A key that names a unit holds a number, or null where there is none; never a text.
  void check_numbers(const json& value, const std::string& key) {
    if (value.is_object())
      for (const auto& [name, inner] : value.items()) check_numbers(inner, name);
    if (value.is_array())
      for (const json& inner : value) check_numbers(inner, key);
    for (const char* unit : {"_us", "_ns", "_GBps", "_bytes", "_pct"})
      if (key.ends_with(unit) && value.is_primitive())
        require(value.is_number() || value.is_null(), key + " is a number: " + value.dump());
  }

  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> broken_rules(const json& document, const std::string& command) {
  Rules rules;
  rules.check(document, command);
  return rules.take();
}

int demanded_status(const json& document) {
  const auto& findings = document.at("findings");
  const auto& caveats = document.at("caveats");
  if (std::any_of(findings.begin(), findings.end(),
                  [](const json& finding) { return finding.at("severity") != "info"; }))
    return 1;
  const bool limited = std::any_of(caveats.begin(), caveats.end(),
                                   [](const json& caveat) { return caveat.value("limits", true); });
  return limited ? 5 : 0;
}

}  // namespace comm_probe::test
