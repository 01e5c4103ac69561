#include "cli/doctor_unpack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/input.h"

namespace comm_probe::cli {
namespace {

namespace fs = std::filesystem;

// What `topo record` writes; of a folder pile_files.cc knows them.
bool is_of_machine(const std::string& inside) {
  constexpr std::array<std::string_view, 6> kOwn = {"sys/",        "proc/",       "commands/",
                                                    "environment", "recorded_at", "nvml.json"};
  return std::any_of(kOwn.begin(), kOwn.end(), [&](std::string_view own) {
    return own.ends_with('/') ? inside.starts_with(own) : inside == own;
  });
}

bool is_of_device(const std::string& inside) {
  return inside.starts_with("sys/class/") || inside.starts_with("sys/bus/") ||
         inside.starts_with("sys/devices/");
}

class NamesVisitor : public core::TarVisitor {
 public:
  bool wants(const std::string& path, std::uint64_t size) override {
    constexpr std::uint64_t kLargestManifest = 16 << 20;
    const std::string inside = inside_path(path);
    const bool is_manifest = inside == "manifest.json" && size <= kLargestManifest;
    names.has_machine = names.has_machine || is_of_device(inside);
    names.has_pile = names.has_pile || !is_of_machine(inside);
    if (is_manifest) manifest_.clear();
    return is_manifest;
  }
  void take(std::string_view bytes) override { manifest_ += bytes; }
  // docker save, OCI images and browsers' extensions have a manifest.json of their own.
  void end() override {
    names.is_bundle = manifest_.find("\"comm_probe_bundle\"") != std::string::npos;
  }

  TarNames names = {};

 private:
  std::string manifest_ = {};
};

}  // namespace

std::string as_part(const std::string& name) {
  std::string part;
  for (const char c : name.substr(0, 200)) part += c == '/' || c == '\0' ? '_' : c;
  return part.empty() || part == "." || part == ".." ? "node" : part;
}

std::string inside_path(const std::string& path) {
  fs::path inside;
  for (const fs::path& part : fs::path(path).relative_path())
    if (part == "..")
      inside = inside.parent_path();
    else if (part != ".")
      inside /= as_part(part.string());
  return inside.string();
}

TarNames names_in(const std::string& path) {
  NamesVisitor visitor;
  if (auto input = core::Input::open(path); input) (void)core::walk_tar(*input, visitor);
  return visitor.names;
}

bool TarToFolder::wants(const std::string& path, std::uint64_t size) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{8} << 30;
  const std::string inside = inside_path(path);
  if (!with_machine_ && is_of_machine(inside)) return false;
  if (++count_ > kMostOwnFiles || bytes_ + size > kMostBytes) {
    ++left_out_;
    return false;
  }
  bytes_ += size;
  if (open(folder_ + "/" + inside)) return true;
  const std::string other = fmt::format("{}/{}", folder_, std::string(moved_.size() + 1, '+'));
  moved_.emplace_back(other, inside);
  if (!open(other)) is_written_ = false;
  return true;
}

void TarToFolder::take(std::string_view bytes) {
  out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void TarToFolder::end() {
  out_.close();
  if (out_.fail()) is_written_ = false;
  out_.clear();
}

bool TarToFolder::open(const std::string& place) {
  std::error_code error;
  fs::create_directories(fs::path(place).parent_path(), error);
  out_.clear();
  out_.open(place, std::ios::binary | std::ios::trunc);
  return out_.is_open();
}

}  // namespace comm_probe::cli
