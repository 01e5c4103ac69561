#include "core/host.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/number.h"

namespace comm_probe::core {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kLargestFile = 1 << 20;

std::string without_end(std::string content) {
  while (!content.empty() && (content.back() == '\n' || content.back() == '\0')) content.pop_back();
  return content;
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string content;
  std::array<char, 4096> block = {};  // most files of /sys are one line
  while (content.size() < kLargestFile && file) {
    file.read(block.data(), block.size());
    content.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) return std::nullopt;
  return without_end(std::move(content));
}

}  // namespace

Host Host::real() { return {}; }

Result<Host> Host::recorded(const std::string& root) {
  std::error_code error;
  if (!fs::is_directory(root, error)) {
    Error failure = input_error("is not a folder, expected a recorded machine (sys/, proc/)");
    failure.where.file = root;
    return failure;
  }
  Host host;
  host.root_ = root;
  host.name_ = root;
  std::ifstream environment(root + "/environment");
  host.read_environment(environment);
  return host;
}

Host Host::archived(std::string name, Archive archive) {
  Host host;
  host.name_ = std::move(name);
  std::istringstream environment(archive.read("environment").value_or(""));
  host.read_environment(environment);
  host.archive_ = std::make_shared<const Archive>(std::move(archive));
  return host;
}

void Host::read_environment(std::istream& lines) {
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) environment_[line.substr(0, equals)] = line.substr(equals + 1);
  }
}

std::string Host::name() const { return is_real() ? "this machine" : name_; }

std::string Host::place(const std::string& path) const {
  if (is_real()) return path;
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(root_ + path, error);
  const fs::path root = fs::canonical(root_, error);
  const auto [end, ignored] = std::mismatch(root.begin(), root.end(), whole.begin(), whole.end());
  return error || end != root.end() ? std::string() : whole.string();
}

std::optional<std::string> Host::read(const std::string& path) const {
  if (archive_) {
    auto content = archive_->read(path);
    if (!content) return std::nullopt;
    content->resize(std::min(content->size(), kLargestFile));
    return without_end(std::move(*content));
  }
  return read_file(place(path));
}

std::optional<std::int64_t> Host::read_integer(const std::string& path) const {
  const std::optional<std::string> text = read(path);
  return text ? whole_number<std::int64_t>(*text) : std::nullopt;
}

std::vector<std::string> Host::list(const std::string& path) const {
  if (archive_) return archive_->list(path);
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(place(path), error);
       !error && entry != fs::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool Host::exists(const std::string& path) const {
  if (archive_) return archive_->exists(path);
  std::error_code error;
  return fs::exists(place(path), error);
}

std::optional<std::string> Host::link_target(const std::string& path) const {
  if (archive_) return archive_->link_target(path);
  std::error_code error;
  const fs::path target = fs::read_symlink(root_ + path, error);
  if (error) return std::nullopt;
  return target.string();
}

std::optional<std::string> Host::environment(const std::string& name) const {
  if (is_real()) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }
  const auto found = environment_.find(name);
  return found == environment_.end() ? std::nullopt : std::optional<std::string>(found->second);
}

std::vector<std::string> Host::environment_names(const std::string& prefix) const {
  std::vector<std::string> names;
  if (is_real()) {
    for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      if (text.starts_with(prefix)) names.emplace_back(text.substr(0, text.find('=')));
    }
  } else {
    for (const auto& [name, value] : environment_)
      if (name.starts_with(prefix)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> Host::home(std::optional<unsigned> user) const {
  if (!is_real()) return environment("HOME");
  const passwd* entry = ::getpwuid(user.value_or(::getuid()));
  if (entry == nullptr || entry->pw_dir == nullptr) return std::nullopt;
  return entry->pw_dir;
}

std::optional<Duration> Host::time() const {
  if (is_real())
    return Duration::from_seconds(
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  const std::string text = read("/recorded_at").value_or("");
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || !(seconds > 0) || seconds > 1e11) return std::nullopt;
  return Duration::from_seconds(seconds);
}

std::optional<std::vector<int>> parse_cpu_list(const std::string& text) {
  constexpr std::int64_t kMost = 65536;
  std::vector<int> cpus;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t dash = item.find('-');
    const auto first = whole_number<std::int64_t>(item.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : whole_number<std::int64_t>(item.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMost) return std::nullopt;
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
    if (cpus.size() > static_cast<std::size_t>(kMost)) return std::nullopt;
  }
  return cpus;
}

}  // namespace comm_probe::core
