#include "cli/topo_source.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/finding_table.h"
#include "topology/merge.h"

namespace comm_probe::cli {
namespace {

using core::Result;
using topology::Source;

Result<Source> load_file(const std::string& path) {
  auto input = core::Input::open(path);
  if (!input) return input.error();
  auto source = topology::read_source(*input);
  if (!source && source.error().where.file.empty()) {
    core::Error error = source.error();
    error.where.file = input->name();
    return error;
  }
  return source;
}

// Every file below a folder that can be read; a caveat names the others.
Result<std::vector<Source>> load_folder(const std::string& path) {
  const auto files = core::expand_paths({path});
  if (!files) return files.error();
  std::vector<Source> sources;
  std::vector<core::Caveat> skipped;
  for (const std::string& file : *files) {
    auto source = load_file(file);
    if (source)
      sources.push_back(std::move(*source));
    else
      skipped.push_back(core::make_caveat("input.unreadable", source.error().one_line(),
                                          "what this file shows is not known", false));
  }
  if (sources.empty()) {
    core::Error error = core::input_error("no file below it is a topology or a command's output");
    error.where.file = path;
    return error;
  }
  auto& caveats = sources.front().facts.caveats;
  caveats.insert(caveats.end(), skipped.begin(), skipped.end());
  return sources;
}

Result<std::vector<Source>> load(const std::string& path) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  if (is_folder && !is_recording(path)) return load_folder(path);
  Result<Source> source = core::input_error("");
  if (is_folder) {
    const auto host = core::Host::recorded(path);
    if (!host) return host.error();
    source = topology::read_source(*host);
  } else {
    source = load_file(path);
  }
  if (!source) return source.error();
  std::vector<Source> one;
  one.push_back(std::move(*source));
  return one;
}

}  // namespace

bool is_recording(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path + "/sys", error);
}

Result<topology::Survey> load_survey(const std::vector<std::string>& from) {
  std::vector<Source> sources;
  for (const std::string& path : from) {
    auto more = load(path);
    if (!more) return more.error();
    for (Source& source : *more) sources.push_back(std::move(source));
  }
  if (from.empty()) {
    auto here = topology::read_source(core::Host::real());
    if (!here) return here.error();
    sources.push_back(std::move(*here));
  }
  return topology::combine(std::move(sources));
}

}  // namespace comm_probe::cli
