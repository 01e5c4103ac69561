#include "core/json.h"

#include "report/report.h"

namespace comm_probe::report {

std::string render_json(const core::Document& document) {
  core::Json inputs = core::Json::array();
  for (const core::InputRecord& input : document.inputs) {
    core::Json record = {{"path", input.path}, {"kind", input.kind}};
    if (input.rank) record["rank"] = *input.rank;
    inputs.push_back(std::move(record));
  }
  core::Json findings = core::Json::array();
  for (const core::Finding& finding : document.findings) findings.push_back(core::to_json(finding));
  core::Json caveats = core::Json::array();
  for (const core::Caveat& caveat : document.caveats) caveats.push_back(core::to_json(caveat));
  core::Json envelope = {{"comm_probe", kVersion},          {"command", document.command},
                         {"inputs", std::move(inputs)},     {"result", document.result},
                         {"findings", std::move(findings)}, {"caveats", std::move(caveats)}};
  if (!document.verdict.empty()) envelope["verdict"] = document.verdict;
  // input bytes that are not UTF-8 are replaced, never thrown upon
  return envelope.dump(2, ' ', false, core::Json::error_handler_t::replace) + "\n";
}

}  // namespace comm_probe::report
