#include "cli/topo_source.h"

#include <filesystem>

namespace comm_probe::cli {
namespace {

// A folder that holds a recorded machine, not files of several kinds.
bool is_recording(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path + "/sys", error);
}

core::Result<topology::Survey> load_file(const std::string& path) {
  auto input = core::Input::open(path);
  if (!input) return input.error();
  auto survey = topology::read_survey(*input);
  if (!survey && survey.error().where.file.empty()) {
    core::Error error = survey.error();
    error.where.file = input->name();
    return error;
  }
  return survey;
}

}  // namespace

core::Result<topology::Survey> load_survey(const std::vector<std::string>& from) {
  if (from.empty()) return topology::survey_of(core::Host::real());
  if (!is_recording(from.front())) return load_file(from.front());
  const auto host = core::Host::recorded(from.front());
  if (!host) return host.error();
  return topology::survey_of(*host);
}

}  // namespace comm_probe::cli
