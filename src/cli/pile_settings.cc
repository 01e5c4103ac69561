#include "cli/pile_settings.h"

#include <array>

namespace comm_probe::cli {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"NCCL_IB_DISABLE", "NCCL_NET"};
constexpr std::array<std::string_view, 4> kShellWords = {"export ", "declare -x ", "-x ", "set "};

std::string_view trimmed(std::string_view text, std::string_view what) {
  const std::size_t first = text.find_first_not_of(what);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(what) - first + 1);
}

}  // namespace

std::optional<diagnose::StatedSetting> setting_of_line(const core::Line& line,
                                                       const std::string& file) {
  std::string_view text = trimmed(line.text, " \t");
  for (const std::string_view word : kShellWords)
    if (text.starts_with(word)) text = trimmed(text.substr(word.size()), " \t");
  if (!text.starts_with("NCCL_")) return std::nullopt;
  const std::size_t equals = text.find('=');
  if (equals == text.npos) return std::nullopt;
  for (const std::string_view name : kNames) {
    if (text.substr(0, equals) != name) continue;
    const std::string_view rest = text.substr(equals + 1);
    const std::string_view value = rest.substr(0, rest.find_first_of(" \t;#\\"));
    return diagnose::StatedSetting{std::string(name),
                                   std::string(trimmed(value, "\"'")),
                                   {file, line.number, std::string(text.substr(0, 200))}};
  }
  return std::nullopt;
}

std::vector<diagnose::StatedSetting> settings_of(const core::Host& host, const std::string& file) {
  std::vector<diagnose::StatedSetting> settings;
  for (const std::string_view name : kNames)
    if (const auto value = host.environment(std::string(name)))
      settings.push_back({std::string(name), *value, {file, {}, std::string(name) + "=" + *value}});
  return settings;
}

}  // namespace comm_probe::cli
