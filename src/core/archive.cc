#include "core/archive.h"

#include <algorithm>

namespace comm_probe::core {
namespace {

constexpr int kMostLinks = 40;  // as the kernel follows

// The parts of a path without "." and empty ones.
std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    path.remove_prefix(std::min(path.size(), slash + 1));
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string path;
  for (const std::string& part : parts) path += (path.empty() ? "" : "/") + part;
  return path;
}

}  // namespace

std::string Archive::make_way(const std::string& path) {
  std::vector<std::string> parts;
  for (const std::string& part : parts_of(path)) {
    if (part != "..") parts.push_back(part);
    if (part == ".." && !parts.empty()) parts.pop_back();
  }
  const std::string whole = joined(parts);
  while (!parts.empty()) {
    const std::string name = parts.back();
    parts.pop_back();
    if (!folders_[joined(parts)].emplace(name, true).second) break;
  }
  return whole;
}

void Archive::add_file(const std::string& path, std::string content) {
  const std::string whole = make_way(path);
  if (!whole.empty()) entries_[whole] = {false, std::move(content)};
}

void Archive::add_link(const std::string& path, std::string target) {
  const std::string whole = make_way(path);
  if (!whole.empty()) entries_[whole] = {true, std::move(target)};
}

void Archive::add_folder(const std::string& path) { folders_[make_way(path)]; }

std::optional<std::string> Archive::resolve(const std::string& path, bool follow_last) const {
  std::vector<std::string> rest = parts_of(path);
  std::reverse(rest.begin(), rest.end());
  std::vector<std::string> done;
  for (int links = 0; !rest.empty();) {
    const std::string part = rest.back();
    rest.pop_back();
    if (part == "..") {
      if (!done.empty()) done.pop_back();
      continue;
    }
    done.push_back(part);
    const auto entry = entries_.find(joined(done));
    const bool is_link = entry != entries_.end() && entry->second.is_link;
    if (!is_link || (rest.empty() && !follow_last)) continue;
    if (++links > kMostLinks) return std::nullopt;
    const std::string& target = entry->second.content;
    done.pop_back();
    if (target.starts_with('/')) done.clear();
    const std::vector<std::string> parts = parts_of(target);
    rest.insert(rest.end(), parts.rbegin(), parts.rend());
  }
  return joined(done);
}

std::optional<std::string> Archive::read(const std::string& path) const {
  const auto place = resolve(path);
  const auto entry = place ? entries_.find(*place) : entries_.end();
  if (entry == entries_.end() || entry->second.is_link) return std::nullopt;
  return entry->second.content;
}

std::vector<std::string> Archive::list(const std::string& path) const {
  std::vector<std::string> names;
  const auto place = resolve(path);
  const auto folder = place ? folders_.find(*place) : folders_.end();
  if (folder == folders_.end()) return names;
  for (const auto& [name, ignored] : folder->second) names.push_back(name);
  return names;
}

bool Archive::exists(const std::string& path) const {
  const auto place = resolve(path);
  return place && (entries_.contains(*place) || folders_.contains(*place));
}

std::optional<std::string> Archive::link_target(const std::string& path) const {
  const auto place = resolve(path, false);
  const auto entry = place ? entries_.find(*place) : entries_.end();
  if (entry == entries_.end() || !entry->second.is_link) return std::nullopt;
  return entry->second.content;
}

}  // namespace comm_probe::core
