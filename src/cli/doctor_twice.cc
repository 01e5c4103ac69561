#include "cli/doctor_twice.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "core/input.h"

namespace comm_probe::cli {
namespace {

namespace fs = std::filesystem;

std::optional<std::uintmax_t> size_of(const std::string& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? std::nullopt : std::optional(size);
}

// Unpacked bytes, block by block of any size.
bool same_bytes(const std::string& a, const std::string& b) {
  auto first = core::Input::open(a);
  auto second = core::Input::open(b);
  if (!first || !second || first->head() != second->head()) return false;
  std::string_view left, right;
  while (true) {
    if (left.empty()) {
      const auto more = first->next();
      if (!more) return false;
      left = *more;
    }
    if (right.empty()) {
      const auto more = second->next();
      if (!more) return false;
      right = *more;
    }
    const std::size_t size = std::min(left.size(), right.size());
    if (size == 0) return left.empty() && right.empty();
    if (left.substr(0, size) != right.substr(0, size)) return false;
    left.remove_prefix(size);
    right.remove_prefix(size);
  }
}

// "t/logs.tar.gz" -> "t/logs"; nothing where the name does not say that it is packed.
std::optional<std::string> without_ending(std::string_view path) {
  constexpr std::array<std::string_view, 7> kEndings = {".tar.gz", ".tar.zst", ".tgz", ".tzst",
                                                        ".tar",    ".gz",      ".zst"};
  for (const std::string_view ending : kEndings)
    if (path.ends_with(ending) && path.size() > ending.size())
      return std::string(path.substr(0, path.size() - ending.size()));
  return std::nullopt;
}

// Where the file would be if what it is in had been unpacked beside: by each "/" of its name before
// which an archive may end.
std::vector<std::string> unpacked_places(const std::string& name) {
  std::vector<std::string> places;
  if (const auto text = without_ending(name)) places.push_back(*text);
  for (std::size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1)) {
    const std::string archive = name.substr(0, at);
    const auto stem = without_ending(archive);
    if (!stem) continue;
    const std::size_t slash = archive.rfind('/');
    const std::string folder = slash == archive.npos ? "" : archive.substr(0, slash + 1);
    places.push_back(folder + name.substr(at + 1));
    places.push_back(*stem + name.substr(at));
  }
  return places;
}

}  // namespace

bool is_one_of(const std::string& file, const std::vector<std::string>& others) {
  return std::any_of(others.begin(), others.end(), [&](const std::string& other) {
    return size_of(file) == size_of(other) && same_bytes(file, other);
  });
}

void drop_packed_twins(std::vector<std::string>& files,
                       const std::function<std::string(const std::string&)>& name) {
  std::map<std::string, std::string> by_name;
  for (const std::string& file : files)
    by_name.emplace(fs::path(name(file)).lexically_normal(), file);
  std::set<std::string> twins;
  for (const auto& [known, file] : by_name)
    for (const std::string& place : unpacked_places(known))
      if (const auto other = by_name.find(place);
          other != by_name.end() && other->second != file && same_bytes(file, other->second))
        twins.insert(file);
  std::erase_if(files, [&](const std::string& file) { return twins.contains(file); });
}

}  // namespace comm_probe::cli
