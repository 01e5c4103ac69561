#include "core/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <filesystem>

namespace comm_probe::core {
namespace {

std::string file_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr)
    return name;
  return *map->l_name == '\0' ? name : map->l_name;
}

std::vector<std::string> plugin_places(const std::string& file) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const auto folder = program.parent_path();
  return {folder / file, folder / "../lib/comm-probe" / file};
}

}  // namespace

Result<SharedLibrary> SharedLibrary::open(const std::vector<std::string>& names, bool is_global) {
  std::string why;
  for (const std::string& name : names) {
    void* handle = dlopen(name.c_str(), RTLD_NOW | (is_global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (handle != nullptr) return SharedLibrary(handle, file_of(handle, name));
    const char* reason = dlerror();
    why += (why.empty() ? "" : "; ") + std::string(reason != nullptr ? reason : name);
  }
  return missing_error(
      fmt::format("{} does not load: {}", names.empty() ? "" : names.front(), why));
}

Result<SharedLibrary> SharedLibrary::open_plugin(const std::string& file, bool is_global) {
  std::vector<std::string> there;
  for (const std::string& place : plugin_places(file))
    if (std::filesystem::exists(place)) there.push_back(place);
  if (there.empty()) return missing_error(fmt::format("{} is not beside the program", file));
  return open(there, is_global);
}

void* SharedLibrary::address(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace comm_probe::core
