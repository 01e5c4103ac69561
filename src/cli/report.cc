// `report A.json B.html ... --output report.html`: several documents of comm-probe on one page.
#include <fmt/format.h>

#include <algorithm>

#include "cli/subcommands.h"
#include "core/finding_table.h"
#include "core/input.h"
#include "core/language.h"
#include "report/page.h"
#include "report/words.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using core::Result;

constexpr std::uint64_t kLargestFile = 512ULL << 20U;
// Deeper than any document of ours: what reads it back recurses.
constexpr int kDeepest = 64;
constexpr const char* kExpected =
    "expected what a command of comm-probe wrote with --json or --html";

core::Error not_ours(const std::string& file, std::string_view why) {
  core::Error error =
      core::input_error(fmt::format("no document of comm-probe: {}", why), kExpected);
  error.where.file = file;
  return error;
}

bool is_envelope(const Json& document) {
  const auto has = [&](const char* key, auto test) {
    const auto found = document.find(key);
    return found != document.end() && test(*found);
  };
  const auto is_list = [](const Json& value) { return value.is_array(); };
  const auto is_text = [](const Json& value) { return value.is_string(); };
  return document.is_object() && has("comm_probe", is_text) && has("command", is_text) &&
         has("result", [](const Json& value) { return value.is_object(); }) &&
         has("inputs", is_list) && has("findings", is_list) && has("caveats", is_list);
}

// Those of a report; null where the document is of another command.
const Json* documents_of(const Json& document) {
  if (!document.is_object() || document.value("command", Json()) != "report") return nullptr;
  const auto result = document.find("result");
  if (result == document.end() || !result->is_object()) return nullptr;
  const auto documents = result->find("documents");
  return documents != result->end() && documents->is_array() ? &*documents : nullptr;
}

// The document of one file, be it JSON or a page that holds it.
Result<Json> read_document(const std::string& file) {
  auto input = core::Input::open(file);
  if (!input) return input.error();
  const auto text = input->read_all(kLargestFile);
  if (!text) return text.error();
  const auto in_page = report::document_of_page(*text);
  bool is_deep = false;
  Json document = Json::parse(
      in_page.value_or(*text),
      [&](int depth, Json::parse_event_t, Json&) {
        is_deep = is_deep || depth > kDeepest;
        return !is_deep;
      },
      false);
  if (is_deep) return not_ours(file, fmt::format("lists within lists, more than {}", kDeepest));
  if (document.is_discarded())
    return not_ours(file, "found " +
                              core::describe_content(std::string_view(*text).substr(0, 4096)) +
                              " that is not JSON, or is cut");
  const Json* inner = documents_of(document);
  const bool is_whole =
      is_envelope(document) &&
      (inner == nullptr || std::all_of(inner->begin(), inner->end(), is_envelope));
  if (!is_whole)
    return not_ours(file, "found JSON without the keys comm_probe, command, result, findings");
  return document;
}

// Of a report of reports, its documents.
void add_document(Json document, const std::string& file, Json& documents) {
  if (const Json* inner = documents_of(document)) {
    documents.insert(documents.end(), inner->begin(), inner->end());
    return;
  }
  if (!document.contains("file")) document["file"] = file;
  documents.push_back(std::move(document));
}

// In the language of this call, whatever that of the command was.
void add_words(Json& documents) {
  if (core::language() == core::Language::kEnglish) return;
  for (Json& document : documents) {
    Json& pictures = document["pictures"];
    if (!pictures.is_object()) pictures = Json::object();
    pictures["words"] = report::words_of_envelope(document);
  }
}

constexpr std::size_t kMostNamed = 8;

// Another version may write what this one does not know, or leave out what a picture needs.
std::optional<core::Caveat> other_versions(const Json& documents) {
  std::string named;
  std::size_t others = 0;
  for (const Json& document : documents) {
    const auto version = document.at("comm_probe").get<std::string>();
    if (version == report::kVersion || ++others > kMostNamed) continue;
    const auto file = document.find("file");
    named += fmt::format(
        "{}{} (comm-probe {})", named.empty() ? "" : ", ",
        file != document.end() && file->is_string() ? file->get<std::string>() : "a document",
        version.substr(0, 40));
  }
  if (others == 0) return std::nullopt;
  if (others > kMostNamed) named += fmt::format(" and {} more", others - kMostNamed);
  return core::make_caveat(
      "input.other-version", fmt::format("written by another version: {}", named),
      fmt::format(
          "this is comm-probe {}: what it does not know stands in \"All figures\" only, and a "
          "picture whose figures are not there is left out",
          report::kVersion),
      false);
}

std::size_t warnings_in(const Json& document) {
  std::size_t count = 0;
  for (const Json& finding : document.at("findings")) {
    const Json severity = finding.is_object() ? finding.value("severity", Json()) : Json();
    if (severity == "error" || severity == "warning") ++count;
  }
  return count;
}

// As that of a command: a finding of any document counts, then what limits any of them.
int status_of(const Json& documents) {
  const auto limits = [](const Json& caveat) {
    return caveat.is_object() && caveat.value("limits", Json(true)) != Json(false);
  };
  const auto is_limited = [&](const Json& document) {
    const Json& caveats = document.at("caveats");
    return std::any_of(caveats.begin(), caveats.end(), limits);
  };
  const auto has_warnings = [](const Json& document) { return warnings_in(document) > 0; };
  if (std::any_of(documents.begin(), documents.end(), has_warnings)) return 1;
  return std::any_of(documents.begin(), documents.end(), is_limited) ? 5 : 0;
}

core::Table table_of(const Json& documents) {
  core::Table table;
  table.columns = {{"file", core::Column::Align::kLeft},
                   {"command", core::Column::Align::kLeft},
                   {"findings"},
                   {"verdict", core::Column::Align::kLeft}};
  for (const Json& document : documents) {
    const auto word = [&](const char* key) {
      const auto found = document.find(key);
      return found != document.end() && found->is_string() ? found->get<std::string>() : "";
    };
    table.rows.push_back(
        {word("file"), word("command"), std::to_string(warnings_in(document)), word("verdict")});
  }
  return table;
}

int join(const Shell& shell, const std::vector<std::string>& files) {
  core::Document document{.command = "report"};
  Json documents = Json::array();
  for (const std::string& file : files) {
    auto one = read_document(file);
    if (!one) return shell.fail(one.error());
    add_document(std::move(*one), file, documents);
    document.inputs.push_back({file, "comm-probe"});
  }
  if (!shell.wants_page() && !shell.json())
    return shell.fail(core::input_error("report writes a page, and no file is named for it",
                                        "expected --output FILE, as in report.html"));
  document.body.emplace_back(table_of(documents));
  document.verdict =
      fmt::format("{} document{} on one page", documents.size(), documents.size() == 1 ? "" : "s");
  add_words(documents);
  if (auto caveat = other_versions(documents)) document.caveats.push_back(std::move(*caveat));
  const int found = status_of(documents);
  document.result["documents"] = std::move(documents);
  const int status = shell.finish(document);
  return status == 0 ? found : status;
}

}  // namespace

void add_report(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("report", "results of several commands on one page")->group("Compare");
  auto files = std::make_shared<std::vector<std::string>>();
  app->add_option("FILE", *files,
                  "what commands wrote with --json, or pages that they wrote with "
                  "--html; - is standard input")
      ->required();
  app->footer("Example:\n  comm-probe report topo.json curve.json --output report.html");
  shell.add_common_flags(*app, Shell::Output::kPage);
  app->callback([&shell, files] { shell.run([&shell, files] { return join(shell, *files); }); });
}

}  // namespace comm_probe::cli
