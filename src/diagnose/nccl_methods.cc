#include "diagnose/nccl_methods.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using nccl::Algorithm;
using nccl::Allowed;
using nccl::Call;
using nccl::Function;
using nccl::MethodLists;
using nccl::Tuning;

// "NCCL_ALGO=Tree NCCL_PROTO=LL"
std::string settings_of(const MethodLists& lists) {
  std::string text;
  if (!lists.algorithm_text.empty()) text = "NCCL_ALGO=" + lists.algorithm_text;
  if (!lists.protocol_text.empty())
    text += (text.empty() ? "" : " ") + ("NCCL_PROTO=" + lists.protocol_text);
  return text;
}

std::vector<std::string> ways_out(const MethodLists& lists) {
  std::vector<std::string> ways;
  if (!lists.algorithm_text.empty()) ways.emplace_back("unset NCCL_ALGO");
  if (!lists.protocol_text.empty()) ways.emplace_back("unset NCCL_PROTO");
  const bool is_flat = lists.algorithm_text.find(':') == std::string::npos;
  if (!lists.algorithm_text.empty() && is_flat)
    ways.push_back("or for one function: NCCL_ALGO=allreduce:" + lists.algorithm_text);
  return ways;
}

void add_function(std::vector<std::string>& names, Function function) {
  const std::string name = function_name(function);
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

void judge_refusals(const Tuning& tuning, const std::vector<Call>& calls,
                    std::vector<Finding>& findings) {
  std::vector<std::string> functions;
  std::string words;
  for (const Call& call : calls) {
    const auto choice = choose(tuning, call);
    if (choice.ok()) continue;
    if (*nccl::type_refusal(tuning, call) != '\0') {
      findings.push_back(
          core::make_finding("nccl.call-refused",
                             fmt::format("{} of {} is refused: '{}'", function_name(call.function),
                                         data_type_name(call.type), choice.error().message)));
      findings.back().confidence = core::Confidence::kCertain;
      return;
    }
    if (words.empty()) words = choice.error().message;
    add_function(functions, call.function);
  }
  if (functions.empty()) return;
  const MethodLists& lists = tuning.job.settings.lists;
  const std::string cause = settings_of(lists);
  Finding finding = core::make_finding(
      "nccl.env-nothing-left",
      fmt::format("{} leaves nothing for {}: the first such call ends with '{}'",
                  cause.empty() ? "this machine" : cause, fmt::join(functions, ", "), words));
  finding.confidence = core::Confidence::kCertain;
  finding.next = ways_out(lists);
  findings.push_back(std::move(finding));
}

// The same job, where LL128 is NCCL's own decision again.
Tuning with_automatic_ll128(const Tuning& tuning) {
  nccl::TuningJob job = tuning.job;
  job.settings.lists = nccl::default_method_lists();
  return tune(job);
}

void judge_ll128(const Tuning& tuning, const std::vector<Call>& calls,
                 std::vector<Finding>& findings) {
  const MethodLists& lists = tuning.job.settings.lists;
  if (lists.protocol_text.empty()) return;
  const Tuning automatic = with_automatic_ll128(tuning);
  for (const Call& call : calls) {
    const auto choice = choose(tuning, call);
    if (!choice || choice->taken.protocol != nccl::Protocol::kLl128) continue;
    const nccl::MethodCost& safe =
        automatic.cost(call.function, choice->taken.algorithm, nccl::Protocol::kLl128);
    if (safe.refusal != nccl::Refusal::kLl128Path && safe.refusal != nccl::Refusal::kLl128Chip)
      continue;
    Finding finding = core::make_finding(
        "nccl.env-ll128-forced",
        fmt::format("NCCL_PROTO={} makes {} use LL128 (from {}) where NCCL itself switches it off: "
                    "{}; wrong results are possible, however fast it looks",
                    lists.protocol_text, function_name(call.function),
                    core::format_bytes(core::Bytes::of(call.bytes(tuning.job.agreement.ranks))),
                    refusal_text(safe.refusal)));
    finding.confidence = core::Confidence::kLikely;
    finding.next = {"unset NCCL_PROTO", "or exclude LL128 too: NCCL_PROTO=^LL,LL128"};
    findings.push_back(std::move(finding));
    return;
  }
}

// Releases before 2.24 ignore words and take Ring where nothing is left, without a word.
void judge_old_lists(const Tuning& tuning, const std::vector<Call>& calls,
                     std::vector<Finding>& findings) {
  const MethodLists& used = tuning.job.settings.lists;
  const topology::NcclVersion version = tuning.job.settings.version;
  const auto asked = nccl::parse_method_lists(used.algorithm_text, used.protocol_text, version);
  if (!asked) return;
  for (const std::string& word : asked->ignored) {
    findings.push_back(core::make_finding(
        "nccl.env-word-unknown",
        fmt::format(
            "{}: '{}' is no such name; NCCL 2.{} ignores it without a word (from 2.24 it is "
            "an error)",
            settings_of(used), word, version.minor)));
    findings.back().confidence = core::Confidence::kCertain;
  }
  std::vector<std::string> functions;
  for (const Call& call : calls)
    if (asked->of(call.function, Algorithm::kRing) == Allowed::kNo &&
        used.of(call.function, Algorithm::kRing) != Allowed::kNo)
      add_function(functions, call.function);
  if (functions.empty()) return;
  Finding finding = core::make_finding(
      "nccl.env-falls-back",
      fmt::format("{} leaves nothing for {}; NCCL 2.{} takes Ring there without a word (from 2.24 "
                  "the call fails)",
                  settings_of(used), fmt::join(functions, ", "), version.minor));
  finding.confidence = core::Confidence::kLikely;
  finding.next = ways_out(used);
  findings.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> judge_methods(const Tuning& tuning, const std::vector<Call>& calls) {
  std::vector<Finding> findings;
  if (tuning.job.agreement.ranks <= 1) return findings;
  judge_refusals(tuning, calls, findings);
  judge_ll128(tuning, calls, findings);
  judge_old_lists(tuning, calls, findings);
  return findings;
}

}  // namespace comm_probe::diagnose
