#include "cli/nccl_env_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/nccl_job.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using diagnose::EnvFacts;
using nccl::SettingEntry;
using nccl::SettingInForce;
using nccl::SettingsFile;

const char* state_word(SettingsFile::State state) {
  switch (state) {
    case SettingsFile::State::kRead:
      return "read";
    case SettingsFile::State::kAbsent:
      return "absent";
    case SettingsFile::State::kUnreadable:
      return "unreadable";
    case SettingsFile::State::kPassedOver:
      return "passed over";
  }
  return "";
}

// What NCCL makes of the text.
std::string effective_of(const SettingInForce& setting) {
  const SettingEntry* entry = nccl::find_setting(setting.name);
  if (entry == nullptr) return "";
  if (setting.value.empty()) return std::string(entry->fallback);
  return nccl::read_setting(*entry, setting.value).effective;
}

Json origin_json(const nccl::SettingOrigin& origin) {
  Json json = {{"source", origin.source}};
  if (origin.line) json["line"] = *origin.line;
  return json;
}

Json setting_json(const SettingInForce& setting) {
  const SettingEntry* entry = nccl::find_setting(setting.name);
  Json json = {{"name", setting.name},
               {"value", setting.value},
               {"origin", origin_json(setting.origin)},
               {"known", entry != nullptr}};
  if (entry != nullptr) {
    json["effective"] = effective_of(setting);
    json["default"] = entry->fallback;
    json["equal_on_all_ranks"] = entry->is_shared;
  }
  Json shadowed = Json::array();
  for (const nccl::ShadowedValue& other : setting.shadowed)
    shadowed.push_back({{"value", other.value}, {"origin", origin_json(other.origin)}});
  json["shadowed"] = shadowed;
  return json;
}

// By NCCL or by a plugin.
bool is_read(const SettingInForce& setting) {
  return nccl::find_setting(setting.name) != nullptr || nccl::is_foreign_setting(setting.name);
}

std::string verdict_of(const EnvFacts& facts, const std::vector<core::Finding>& findings) {
  const auto wrong = std::count_if(findings.begin(), findings.end(), [](const auto& finding) {
    return finding.severity != core::Severity::kInfo;
  });
  const auto known = std::count_if(facts.settings.begin(), facts.settings.end(), is_read);
  const auto others = static_cast<std::ptrdiff_t>(facts.settings.size()) - known;
  std::string settings = fmt::format("{} NCCL setting{} in force", known, known == 1 ? "" : "s");
  if (others > 0)
    settings += fmt::format(", {} name{} that NCCL does not know", others, others == 1 ? "" : "s");
  return wrong == 0 ? settings + ", nothing wrong found"
                    : fmt::format("{}, {} to look at", settings, wrong);
}

core::Table settings_table(const EnvFacts& facts) {
  using Align = core::Column::Align;
  core::Table table{{{"setting", Align::kLeft},
                     {"value", Align::kLeft},
                     {"read as", Align::kLeft, 6},
                     {"default", Align::kLeft, 5},
                     {"all ranks alike", Align::kLeft, 3},
                     {"from", Align::kLeft, 8}},
                    {}};
  for (const SettingInForce& setting : facts.settings) {
    const SettingEntry* entry = nccl::find_setting(setting.name);
    const std::string effective = effective_of(setting);
    table.rows.push_back(
        {setting.name, setting.value, effective == setting.value ? std::string() : effective,
         entry != nullptr ? std::string(entry->fallback) : "not known",
         entry != nullptr && entry->is_shared ? "yes" : "", setting.origin.text()});
  }
  return table;
}

core::KeyValues file_rows(const EnvFacts& facts) {
  core::KeyValues rows;
  for (const SettingsFile& file : facts.sources.files) {
    std::string what = state_word(file.state);
    if (file.state == SettingsFile::State::kRead)
      what = fmt::format("read, {} settings", file.content.settings.size());
    if (file.state == SettingsFile::State::kUnreadable)
      what = "cannot be read: a folder, or no right to read it";
    if (file.state == SettingsFile::State::kPassedOver)
      what = "passed over: NCCL_CONF_FILE takes its place";
    rows.rows.emplace_back(file.path, what);
  }
  return rows;
}

Json files_json(const EnvFacts& facts) {
  Json files = Json::array();
  for (const SettingsFile& file : facts.sources.files)
    files.push_back({{"path", file.path},
                     {"state", state_word(file.state)},
                     {"settings", file.content.settings.size()}});
  return files;
}

core::KeyValues explained_rows(const SettingEntry& entry, const SettingInForce* setting) {
  core::KeyValues rows;
  const auto add = [&](const char* what, std::string_view text) {
    if (!text.empty()) rows.rows.emplace_back(what, text);
  };
  add("meaning", entry.meaning);
  const char* what = entry.fallback == "-2" ? " (automatic)" : "";
  if (entry.fallback == "-1") what = " (not set)";
  add("default", std::string(entry.fallback) + what);
  add("accepts", entry.legal);
  add("history", entry.history);
  add("beware", entry.misuse);
  add("instead", entry.instead);
  if (entry.is_internal)
    add("note", "a knob of NCCL's developers; comm-probe knows it by name");
  else if (entry.instead.empty())
    add("ranks", entry.is_shared ? "must be equal on all ranks" : "may differ between ranks");
  add("in force", setting == nullptr
                      ? std::string("not set")
                      : fmt::format("{} ({})", setting->value, setting->origin.text()));
  if (setting != nullptr)
    if (const std::string effective = effective_of(*setting); effective != setting->value)
      add("read as", effective);
  return rows;
}

Json explained_json(const SettingEntry& entry, const SettingInForce* setting) {
  Json json = {{"name", entry.name},        {"meaning", entry.meaning},
               {"default", entry.fallback}, {"accepts", entry.legal},
               {"history", entry.history},  {"beware", entry.misuse},
               {"instead", entry.instead},  {"equal_on_all_ranks", entry.is_shared}};
  json["in_force"] = setting != nullptr ? setting_json(*setting) : Json();
  return json;
}

}  // namespace

core::Document settings_document(const EnvFacts& facts, std::vector<core::Finding> findings) {
  core::Document document{.command = "nccl"};
  Json settings = Json::array();
  for (const SettingInForce& setting : facts.settings) settings.push_back(setting_json(setting));
  document.result = {{"nccl_version", nccl_version_text(facts.version)},
                     {"settings", settings},
                     {"files", files_json(facts)}};
  document.verdict = verdict_of(facts, findings);
  document.findings = std::move(findings);
  if (!facts.settings.empty()) {
    document.body.emplace_back(core::Heading{"Settings"});
    document.body.emplace_back(settings_table(facts));
  }
  if (!facts.sources.files.empty()) {
    document.body.emplace_back(core::Heading{"Files, in the order in which they count"});
    document.body.emplace_back(file_rows(facts));
  }
  return document;
}

core::Document explained_settings(const EnvFacts& facts,
                                  const std::vector<const SettingEntry*>& entries) {
  core::Document document{.command = "nccl"};
  Json explained = Json::array();
  for (const SettingEntry* entry : entries) {
    const auto found =
        std::find_if(facts.settings.begin(), facts.settings.end(),
                     [&](const SettingInForce& setting) { return setting.name == entry->name; });
    const SettingInForce* setting = found == facts.settings.end() ? nullptr : &*found;
    explained.push_back(explained_json(*entry, setting));
    document.body.emplace_back(core::Heading{std::string(entry->name)});
    document.body.emplace_back(explained_rows(*entry, setting));
  }
  document.result = {{"nccl_version", nccl_version_text(facts.version)}, {"explained", explained}};
  return document;
}

}  // namespace comm_probe::cli
