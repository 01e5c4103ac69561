#include "cli/doctor_bundle.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <variant>

#include "core/input.h"
#include "topology/archive_walk.h"

namespace comm_probe::cli {
namespace {

namespace fs = std::filesystem;

// A name as a part of a path: nothing that leads elsewhere, not longer than a file system takes.
std::string as_part(const std::string& name) {
  std::string part;
  for (const char c : name.substr(0, 200)) part += c == '/' || c == '\0' ? '_' : c;
  return part.empty() || part == "." || part == ".." ? "node" : part;
}

bool write(const std::string& path, const std::string& content) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  std::ofstream out(path, std::ios::binary);
  out << content;
  return out.good();
}

// What the user put beside the machine itself, and the kernel's log where it tells of trouble.
bool is_own_file(const core::Archive& archive, const std::string& path) {
  if (path.starts_with("files/")) return true;
  if (path != "commands/dmesg.txt") return false;
  const std::string log = archive.read(path).value_or("");
  return log.find("NVRM: Xid") != std::string::npos ||
         log.find("Out of memory") != std::string::npos;
}

core::Archive machine_of(const core::Archive& all, const topology::ArchivePaths& paths) {
  core::Archive machine;
  for (const std::string& path : paths.files)
    if (!is_own_file(all, path)) machine.add_file(path, all.read(path).value_or(""));
  for (const std::string& path : paths.links)
    machine.add_link(path, all.link_target(path).value_or(""));
  for (const std::string& path : paths.folders) machine.add_folder(path);
  return machine;
}

bool looks_like_bundle(const std::string& path) {
  auto input = core::Input::open(path);
  return input && core::Archive::looks_like_tar(input->head());
}

}  // namespace

BundleFolder::~BundleFolder() {
  std::error_code ignored;
  if (!root_.empty()) fs::remove_all(root_, ignored);
}

void BundleFolder::take_counters(const topology::Bundle& bundle, const std::string& host) {
  for (const char* name : {"counters/first.txt", "counters/second.txt"}) {
    if (!bundle.archive.read(name)) continue;
    core::Input text = bundle.input(name);
    auto reading = topology::read_net_counters(text);
    if (!reading) continue;
    for (topology::NetSnapshot& snapshot : reading->snapshots) {
      for (topology::PortCounters& port : snapshot.ports)
        if (port.host.empty()) port.host = host;
      counters_.push_back(std::move(snapshot));
    }
  }
}

bool BundleFolder::unpack(const std::string& path, std::string& place) {
  auto input = core::Input::open(path);
  if (!input) return false;
  const auto bundle = topology::open_bundle(*input);
  if (!bundle) return false;
  if (root_.empty()) {
    std::error_code error;
    std::string pattern = (fs::temp_directory_path(error) / "comm-probe-XXXXXX").string();
    if (error || ::mkdtemp(pattern.data()) == nullptr) return false;
    root_ = pattern + "/";
  }
  const std::string file = as_part(fs::path(path).filename().string());
  place = root_ + file;
  if (fs::exists(place)) place = fmt::format("{}{}-{}", root_, file, places_.size());
  places_.emplace_back(place, path);
  const std::string host = as_part(bundle->host.substr(0, bundle->host.find('.')));
  take_counters(*bundle, host);
  const topology::ArchivePaths paths = topology::paths_below(bundle->archive, "");
  bool is_whole =
      write(place + "/" + host + "/machine.tar", machine_of(bundle->archive, paths).tar());
  for (const std::string& inside : paths.files)
    if (is_own_file(bundle->archive, inside))
      is_whole =
          write(place + "/" + host + "/" + inside, bundle->archive.read(inside).value_or("")) &&
          is_whole;
  return is_whole;
}

std::vector<std::string> BundleFolder::unpacked(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    const auto below = path == "-" ? core::Result<std::vector<std::string>>(core::input_error(""))
                                   : core::expand_paths({path});
    std::vector<std::string> replaced;
    bool has_bundle = false;
    for (const std::string& file : below ? *below : std::vector<std::string>{}) {
      std::string place;
      const bool is_bundle = looks_like_bundle(file) && unpack(file, place);
      has_bundle = has_bundle || is_bundle;
      replaced.push_back(is_bundle ? place : file);
    }
    if (has_bundle)
      all.insert(all.end(), replaced.begin(), replaced.end());
    else
      all.push_back(path);
  }
  return all;
}

namespace {

class Renaming {
 public:
  explicit Renaming(const std::vector<std::pair<std::string, std::string>>& places)
      : places_(places) {}

  void in(std::string& text) const {
    for (const auto& [folder, bundle] : places_)
      for (std::size_t at = text.find(folder + "/"); at != std::string::npos;
           at = text.find(folder + "/", at + bundle.size()))
        text.replace(at, folder.size(), bundle);
  }
  void in(core::Json& json) const {
    if (json.is_string()) in(json.get_ref<std::string&>());
    if (json.is_structured())
      for (core::Json& child : json) in(child);
  }
  void in(core::Block& block) const {
    if (auto* heading = std::get_if<core::Heading>(&block)) in(heading->text);
    if (auto* paragraph = std::get_if<core::Paragraph>(&block)) in(paragraph->text);
    if (auto* plain = std::get_if<core::Preformatted>(&block)) in(plain->text);
    if (auto* rows = std::get_if<core::KeyValues>(&block))
      for (auto& [name, value] : rows->rows) {
        in(name);
        in(value);
      }
    if (auto* table = std::get_if<core::Table>(&block))
      for (auto& row : table->rows)
        for (std::string& cell : row) in(cell);
  }

 private:
  const std::vector<std::pair<std::string, std::string>>& places_;
};

}  // namespace

void BundleFolder::name_as_given(core::Document& document) const {
  if (root_.empty()) return;
  const Renaming rename(places_);
  for (core::InputRecord& input : document.inputs) rename.in(input.path);
  rename.in(document.result);
  rename.in(document.verdict);
  for (core::Finding& finding : document.findings) {
    rename.in(finding.summary);
    for (core::Evidence& evidence : finding.evidence) {
      rename.in(evidence.source);
      rename.in(evidence.text);
    }
    for (std::string& next : finding.next) rename.in(next);
    for (auto* figure : {&finding.expected, &finding.observed})
      if (*figure) rename.in((*figure)->source);
  }
  for (core::Caveat& caveat : document.caveats) {
    rename.in(caveat.missing);
    rename.in(caveat.effect);
  }
  for (core::Block& block : document.body) rename.in(block);
  for (core::Block& block : document.details) rename.in(block);
}

}  // namespace comm_probe::cli
