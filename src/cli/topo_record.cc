#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/topo_verbs.h"
#include "topology/record.h"

namespace comm_probe::cli {
namespace {

bool write_file(const std::string& path, const std::string& bytes) {
  std::FILE* out = std::fopen(path.c_str(), "wb");
  if (out == nullptr) return false;
  const bool is_written = std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
  return std::fclose(out) == 0 && is_written;
}

std::string listed(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

int record(const Shell& shell, const std::string& path) {
  if (path == "-")
    return shell.fail(core::input_error("a recording is not written to standard output",
                                        "give the name of a file, as in node7.tar"));
  const topology::Recording recording = topology::record_machine(core::Host::real());
  const std::string tar = recording.archive.tar();
  if (!write_file(path, tar)) return shell.fail(cannot_write(path));
  core::Document document{.command = "topo"};
  document.result = {{"file", path},
                     {"bytes", tar.size()},
                     {"files", recording.archive.files()},
                     {"commands", recording.commands},
                     {"commands_missing", recording.missing}};
  document.verdict =
      fmt::format("recorded this machine: {} files in {}", recording.archive.files(), path);
  document.body = {
      core::KeyValues{{{"commands", listed(recording.commands)},
                       {"not here, or failed", listed(recording.missing)}}},
      core::Paragraph{
          "It holds GUIDs and GIDs (IP addresses) of this host, no MAC addresses and no "
          "serial numbers. next: comm-probe topo check --from " +
          path}};
  return shell.finish(document);
}

}  // namespace

void add_topo_record(CLI::App& topo, Shell& shell) {
  CLI::App* app = topo.add_subcommand(
      "record", "this machine as a tar: /sys, the driver's answers, outputs of commands");
  auto path = std::make_shared<std::string>();
  app->add_option("FILE", *path, "the tar to write")->type_name("")->required();
  app->footer(
      "Run it as root where possible: PCIe ACS can be read by root only.\n"
      "Example:\n"
      "  comm-probe topo record node7.tar\n"
      "  comm-probe topo check --from node7.tar");
  shell.add_common_flags(*app);
  app->callback([&shell, path] { shell.run([&shell, path] { return record(shell, *path); }); });
}

}  // namespace comm_probe::cli
