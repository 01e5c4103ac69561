#include "nccl/setting_sources.h"

#include <fmt/format.h>

#include <map>

#include "nccl/setting_catalog.h"

namespace comm_probe::nccl {
namespace {

using topology::NcclVersion;

constexpr std::string_view kPrefix = "NCCL_";
constexpr NcclVersion kConfFileFrom = {2, 23, 0};

SettingsFile read_file(const core::Host& host, SettingsFile::Role role, const std::string& path) {
  SettingsFile file{role, SettingsFile::State::kAbsent, path, {}};
  if (const auto text = host.read(path)) {
    file.state = SettingsFile::State::kRead;
    file.content = read_conf_file(*text);
  } else if (host.exists(path)) {
    file.state = SettingsFile::State::kUnreadable;
  }
  return file;
}

std::vector<SettingsFile> read_files(const core::Host& host, const Environment& environment,
                                     const std::optional<std::string>& home, NcclVersion version) {
  std::vector<SettingsFile> files;
  const std::string given =
      version >= kConfFileFrom ? setting_text(environment, "NCCL_CONF_FILE") : std::string();
  if (!given.empty()) files.push_back(read_file(host, SettingsFile::Role::kConfFile, given));
  if (home) {
    const std::string path = *home + "/.nccl.conf";
    if (given.empty())
      files.push_back(read_file(host, SettingsFile::Role::kHome, path));
    else
      files.push_back({SettingsFile::Role::kHome, SettingsFile::State::kPassedOver, path, {}});
  }
  files.push_back(read_file(host, SettingsFile::Role::kSystem, "/etc/nccl.conf"));
  return files;
}

// Of NCCL, or meant to be.
bool is_nccl_name(std::string_view name) {
  return name.starts_with(kPrefix) || !nearest_setting(name).empty();
}

// NAME=VALUE pieces with a separator.
Environment parse_block(std::string_view text, char separator) {
  Environment environment;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view piece = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    const std::size_t equals = piece.find('=');
    if (equals != std::string_view::npos && is_nccl_name(piece.substr(0, equals)))
      environment.emplace(piece.substr(0, equals), piece.substr(equals + 1));
  }
  return environment;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  while (!text.empty() && kBlanks.find(text.front()) != std::string_view::npos)
    text.remove_prefix(1);
  while (!text.empty() && kBlanks.find(text.back()) != std::string_view::npos)
    text.remove_suffix(1);
  return text;
}

// As a shell would take it: `export X="1"`.
std::string_view without_shell(std::string_view line) {
  line = trimmed(line);
  for (const std::string_view word : {"export ", "declare -x ", "-x ", "ENV ", "- "})
    if (line.starts_with(word)) line = trimmed(line.substr(word.size()));
  return line;
}
std::string_view unquoted(std::string_view value) {
  if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0])
    return value.substr(1, value.size() - 2);
  return value;
}

// The user of a process, from /proc/PID/status.
std::optional<unsigned> user_of(const core::Host& host, int process) {
  const auto status = host.read(fmt::format("/proc/{}/status", process));
  if (!status) return std::nullopt;
  const std::size_t at = status->find("\nUid:");
  if (at == std::string::npos) return std::nullopt;
  return static_cast<unsigned>(std::strtoul(status->c_str() + at + 5, nullptr, 10));
}

}  // namespace

std::string SettingOrigin::text() const {
  return line ? fmt::format("{}:{}", source, *line) : source;
}

std::vector<SettingInForce> settings_in_force(const SettingSources& sources) {
  std::map<std::string, SettingInForce> by_name;
  const auto apply = [&](const std::string& name, const std::string& value,
                         const SettingOrigin& origin) {
    const auto [found, is_new] = by_name.try_emplace(name);
    if (is_new)
      found->second = {name, value, origin, {}};
    else
      found->second.shadowed.push_back({value, origin});
  };
  for (const auto& [name, value] : sources.environment)
    apply(name, value, {sources.environment_name, {}});
  for (const SettingsFile& file : sources.files)
    for (const ConfSetting& setting : file.content.settings)
      apply(setting.name, setting.value, {file.path, setting.line});
  std::vector<SettingInForce> all;
  for (auto& [name, setting] : by_name) all.push_back(std::move(setting));
  return all;
}

Environment effective_environment(const std::vector<SettingInForce>& settings) {
  Environment environment;
  for (const SettingInForce& setting : settings) environment[setting.name] = setting.value;
  return environment;
}

SettingSources read_setting_sources(const core::Host& host, NcclVersion version) {
  SettingSources sources;
  for (const std::string& name : host.environment_names(""))
    if (is_nccl_name(name)) sources.environment[name] = host.environment(name).value_or("");
  sources.files = read_files(host, sources.environment, host.home({}), version);
  return sources;
}

core::Result<SettingSources> read_process_sources(const core::Host& host, int process,
                                                  NcclVersion version) {
  const auto block = host.read(fmt::format("/proc/{}/environ", process));
  if (!block)
    return core::missing_error(fmt::format("the environment of process {} cannot be read", process),
                               host.exists(fmt::format("/proc/{}", process))
                                   ? "run as its user or as root"
                                   : "there is no such process");
  SettingSources sources;
  sources.environment_name = fmt::format("environment of process {}", process);
  sources.environment = parse_block(*block, '\0');
  const auto user = user_of(host, process);
  sources.files =
      read_files(host, sources.environment, user ? host.home(user) : std::nullopt, version);
  return sources;
}

SettingSources parse_environment_listing(const std::string& name, std::string_view text) {
  SettingSources sources;
  sources.environment_name = name;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = without_shell(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view setting = line.substr(0, equals);
    if (trimmed(setting).find_first_of(" \t") != std::string_view::npos) continue;  // prose
    if (!is_nccl_name(setting)) continue;
    sources.environment[std::string(setting)] = std::string(unquoted(line.substr(equals + 1)));
  }
  return sources;
}

}  // namespace comm_probe::nccl
