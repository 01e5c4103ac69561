#include "cli/doctor_bundle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <variant>

#include "cli/doctor_twice.h"
#include "cli/doctor_unpack.h"
#include "core/finding_table.h"
#include "core/input.h"
#include "core/untar.h"
#include "topology/archive_walk.h"

namespace comm_probe::cli {
namespace {

namespace fs = std::filesystem;

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

bool copy_all(int descriptor, const std::string& path) {
  const int out = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (out < 0) return false;
  std::vector<char> block(1 << 20);
  ssize_t got = 0;
  bool is_whole = true;
  while (is_whole && (got = ::read(descriptor, block.data(), block.size())) != 0) {
    if (got < 0 && errno == EINTR) continue;
    is_whole = got > 0;
    for (ssize_t done = 0; is_whole && done < got;) {
      const ssize_t put = ::write(out, block.data() + done, static_cast<std::size_t>(got - done));
      is_whole = put > 0;
      done += put;
    }
  }
  return ::close(out) == 0 && is_whole;
}

bool looks_like_tar(const std::string& path) {
  auto input = core::Input::open(path);
  return input && core::Archive::looks_like_tar(input->head());
}

}  // namespace

bool BundleFolder::make_root() {
  if (folder_) return true;
  auto made = core::TemporaryFolder::make("comm-probe");
  if (!made) return false;
  folder_.emplace(std::move(*made));
  keeper_.emplace(folder_->path());
  root_ = folder_->path() + "/";
  return true;
}

core::Result<std::string> BundleFolder::kept(const std::string& stream) {
  const int descriptor =
      stream == "-" ? STDIN_FILENO : ::open(stream.c_str(), O_RDONLY | O_CLOEXEC);
  const auto failed = [&](const std::string& what) {
    core::Error error = core::input_error(fmt::format("{}: {}", what, std::strerror(errno)));
    error.where.file = stream == "-" ? "standard input" : stream;
    return error;
  };
  if (descriptor < 0) return failed("cannot open");
  if (!make_root()) return failed("cannot make a temporary folder for what it gives");
  // Without a digit, which might be taken for the number of a rank.
  const std::string place = fmt::format("{}stream{}", root_, std::string(places_.size() + 1, '+'));
  const bool is_copied = copy_all(descriptor, place);
  const auto error = failed("cannot put what it gives into a temporary file");
  if (stream != "-") ::close(descriptor);
  if (!is_copied) return error;
  places_.emplace_back(place, stream == "-" ? "standard input" : stream);
  return place;
}

bool BundleFolder::unpack(const std::string& path, std::string& place) {
  auto input = core::Input::open(path);
  if (!input) return false;
  const auto bundle = topology::open_bundle(*input);
  if (!bundle) return false;
  if (!make_root()) return false;
  place = new_place(path);
  const std::string name = given_name(path);
  places_.emplace_back(place, name);
  const std::string host = as_part(bundle->host.substr(0, bundle->host.find('.')));
  for (topology::NetSnapshot& snapshot : topology::counters_of(*bundle, host))
    counters_.push_back(std::move(snapshot));
  places_.emplace_back(place + "/" + host + "/machine.tar", name);  // --from takes the bundle
  inside_.push_back({place + "/" + host + "/", name});
  const topology::ArchivePaths paths = topology::paths_below(bundle->archive, "");
  bool is_whole =
      write(place + "/" + host + "/machine.tar", machine_of(bundle->archive, paths).tar());
  std::size_t own = 0;
  for (const std::string& inside : paths.files)
    if (is_own_file(bundle->archive, inside) && ++own <= kMostOwnFiles)
      is_whole =
          write(place + "/" + host + "/" + inside, bundle->archive.read(inside).value_or("")) &&
          is_whole;
  if (own > kMostOwnFiles)
    caveats_.push_back(core::make_caveat(
        "job.bundle-cut",
        fmt::format("{} of the {} files below files/ of {} were left out", own - kMostOwnFiles, own,
                    name),
        "the others were used; unpack the bundle and give the folders that matter"));
  return is_whole;
}

std::string BundleFolder::new_place(const std::string& path) {
  const std::string file = as_part(fs::path(path).filename().string());
  std::string place = root_ + file;
  if (fs::exists(place)) place = fmt::format("{}{}-{}", root_, file, places_.size());
  return place;
}

// The name under which the user knows a file: of one that was unpacked within the archive's.
std::string BundleFolder::given_name(const std::string& path) const {
  for (const auto& [place, name] : places_)
    if (path == place) return name;
  for (const auto& [place, name] : places_)
    if (path.starts_with(place + "/")) return name + path.substr(place.size());
  return path;
}

void BundleFolder::add_caveats(const TarToFolder& files, const std::string& name) {
  if (files.left_out() > 0)
    caveats_.push_back(
        core::make_caveat("job.bundle-cut",
                          fmt::format("{} of the {} files of {} were left out", files.left_out(),
                                      files.count(), name),
                          "the others were used; unpack it and give the folders that matter"));
  if (!files.is_written())
    caveats_.push_back(core::make_caveat(
        "input.unreadable",
        name + ": not every file of it could be written into the temporary folder",
        "the others were used; unpack it and give the folders that matter"));
}

// A pile that somebody packed: `tar -czf ticket.tgz logs/`.
bool BundleFolder::unpack_pile(const std::string& path, bool with_machine, std::string& place) {
  auto input = core::Input::open(path);
  if (!input || !make_root()) return false;
  place = new_place(path);
  const std::string name = given_name(path);
  places_.emplace_back(place, name);
  inside_.push_back({place + "/", name});
  TarToFolder files(place, with_machine);
  const auto count = core::walk_tar(*input, files);
  if (!count) {
    core::Error error = count.error();
    error.where.file = name;
    caveats_.push_back(core::make_caveat("input.unreadable", error.one_line(),
                                         "the files that stand before the damage were used"));
  }
  for (const auto& [moved, inside] : files.moved())
    places_.emplace_back(moved, fmt::format("{}/{}", name, inside));
  add_caveats(files, name);
  return fs::exists(place);
}

void BundleFolder::add_tar(const std::string& file, int depth, std::vector<std::string>& all) {
  constexpr int kDeepest = 4;  // a tar of tars of bundles
  const TarNames names = names_in(file);
  std::string place;
  bool is_unpacked = false;
  if (names.is_bundle) {
    is_unpacked = depth < kDeepest && unpack(file, place);
  } else if (names.has_pile) {
    if (depth == kDeepest)
      return caveats_.push_back(
          core::make_caveat("job.bundle-cut",
                            fmt::format("{}: a tar within {} others, expected {} at most",
                                        given_name(file), kDeepest, kDeepest - 1),
                            "it was left out; unpack it and give its files"));
    is_unpacked = unpack_pile(file, !names.has_machine, place);
    if (is_unpacked && names.has_machine) all.push_back(file);
  }
  const auto inside = is_unpacked ? core::expand_paths({place}) : core::input_error("");
  if (!inside) return all.push_back(file);
  for (const std::string& each : *inside)
    each.ends_with("/machine.tar") ? all.push_back(each) : add_unpacked(each, depth + 1, all);
}

void BundleFolder::add_unpacked(const std::string& file, int depth, std::vector<std::string>& all) {
  if (!looks_like_tar(file)) return all.push_back(file);
  if (depth == 0 && is_one_of(file, tars_)) return;  // a copy
  if (depth == 0) tars_.push_back(file);
  add_tar(file, depth, all);
}

core::Result<std::vector<std::string>> BundleFolder::unpacked(
    const std::vector<std::string>& files) {
  std::vector<std::string> all;
  for (const std::string& file : files) add_unpacked(file, 0, all);
  drop_packed_twins(all, [&](const std::string& file) { return given_name(file); });
  if (all.empty() && !caveats_.empty())
    return core::input_error(caveats_.front().missing, caveats_.front().effect);
  return all;
}

namespace {

class Renaming {
 public:
  // The longest first: the name of one may begin with that of another.
  explicit Renaming(std::vector<std::pair<std::string, std::string>> places)
      : places_(std::move(places)) {
    std::sort(places_.begin(), places_.end(),
              [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  }

  void in(std::string& text) const {
    for (const auto& [place, name] : places_)
      for (std::size_t at = text.find(place); at != std::string::npos;
           at = text.find(place, at + name.size()))
        text.replace(at, place.size(), name);
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
  std::vector<std::pair<std::string, std::string>> places_;
};

}  // namespace

core::Error BundleFolder::named_as_given(core::Error error) const {
  const Renaming rename(places_);
  rename.in(error.message);
  rename.in(error.where.file);
  for (const core::Caveat& caveat : caveats_) error.message += "; " + caveat.missing;
  return error;
}

// A command takes no file within a bundle: it is unpacked first.
// "comm-probe hang /tmp/x/b.tar/node1/files/a.log" -> "tar -xf b.tar; comm-probe hang files/a.log"
void BundleFolder::name_packed_files(std::string& command) const {
  for (const auto& [folder, bundle] : inside_) {
    const std::string machine = folder + "machine.tar";
    bool has_file = false;
    for (std::size_t at = command.find(folder); at != std::string::npos;
         at = command.find(folder, at)) {
      if (command.compare(at, machine.size(), machine) == 0) {
        at += machine.size();
        continue;
      }
      command.erase(at, folder.size());
      has_file = true;
    }
    if (has_file) command = fmt::format("tar -xf {}; {}", bundle, command);
  }
}

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
    for (std::string& next : finding.next) {
      name_packed_files(next);
      rename.in(next);
    }
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

void BundleFolder::name_as_given(core::Json& pictures) const {
  if (!root_.empty()) Renaming(places_).in(pictures);
}

}  // namespace comm_probe::cli
