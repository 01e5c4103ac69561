#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/explain_pages.h"
#include "model/rdma.h"

namespace comm_probe::cli {
namespace {

// What a line of a log with this status is called (docs/findings.md).
struct FindingOfStatus {
  int code;
  std::string_view id;
};
constexpr std::array kFindings = {
    FindingOfStatus{4, "log.ib-local-protection"}, FindingOfStatus{9, "log.ib-remote-operation"},
    FindingOfStatus{10, "log.ib-remote-access"},   FindingOfStatus{11, "log.ib-remote-operation"},
    FindingOfStatus{12, "log.ib-no-answer"},       FindingOfStatus{13, "log.ib-receiver-not-ready"},
    FindingOfStatus{19, "log.ib-device-fault"}};

std::string_view finding_of(int code) {
  const auto* found = std::find_if(kFindings.begin(), kFindings.end(),
                                   [code](const auto& known) { return known.code == code; });
  return found == kFindings.end() ? "log.ib-error" : found->id;
}

// "status 12", "status=12", "completion status 12", "RETRY_EXC_ERR", "IBV_WC_RETRY_EXC_ERR"
const model::CompletionStatus* status_of(std::string word) {
  for (const std::string_view prefix : {"completion ", "Failed ", "failed ", "IBV_WC_"})
    if (word.starts_with(prefix)) word = word.substr(prefix.size());
  for (const model::CompletionStatus& status : model::completion_statuses())
    if (word == status.name || word == fmt::format("status {}", status.code) ||
        word == fmt::format("status={}", status.code))
      return &status;
  return nullptr;
}

}  // namespace

std::optional<core::Document> explain_status(const std::string& word) {
  const model::CompletionStatus* status = status_of(word);
  if (status == nullptr) return std::nullopt;
  const std::string finding(finding_of(status->code));
  core::Document document{.command = "explain"};
  document.result = {{"status", status->code},
                     {"name", status->name},
                     {"meaning", status->meaning},
                     {"finding", finding}};
  document.body.emplace_back(
      core::KeyValues{{{"completion status", fmt::format("{}", status->code)},
                       {"name", fmt::format("IBV_WC_{}", status->name)},
                       {"meaning", std::string(status->meaning)},
                       {"cause and cure", "comm-probe explain " + finding}}});
  return document;
}

}  // namespace comm_probe::cli
