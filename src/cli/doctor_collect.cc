#include "cli/doctor_collect.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/waiting.h"
#include "core/pack.h"
#include "core/units.h"
#include "topology/bundle.h"

namespace comm_probe::cli {
namespace {

using core::Json;

bool write_file(const std::string& path, const std::string& bytes) {
  std::FILE* out = std::fopen(path.c_str(), "wb");
  if (out == nullptr) return false;
  const bool is_written = std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
  return std::fclose(out) == 0 && is_written;
}

std::string default_name(const Json& manifest, bool is_masked) {
  const std::string host = manifest.value("host", "");
  if (is_masked || host.empty() || host.find('/') != std::string::npos)
    return "comm-probe-node.tar.zst";
  return "comm-probe-" + host + ".tar.zst";
}

void wait_quietly(core::Duration time) {
  wait_for(time, [](core::Duration) {});
}

// "nvidia-smi -q, lspci -vv (not installed); dmesg (failed, ...)": by reason.
std::vector<std::pair<std::string, std::string>> missing_rows(const Json& manifest) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Json& entry : manifest.at("missing")) {
    const std::string why = entry.at("why");
    const std::string what = entry.at("what");
    bool is_known = false;
    for (auto& [reason, names] : rows)
      if (reason == why) {
        names += ", " + what;
        is_known = true;
      }
    if (!is_known) rows.emplace_back(why, what);
  }
  return rows;
}

std::string what_is_in_it(bool is_masked) {
  return is_masked
             ? "Host and user names, domains, IP, MAC and GUID addresses, UUIDs, serial numbers "
               "and "
               "secrets are masked, the same name by the same mask in the bundles of all nodes; "
               "who "
               "guesses a name can check it, unless COMM_PROBE_MASK_KEY is one secret word on all "
               "nodes. Packed and binary files other than pickles are left out, as nothing can be "
               "masked in them. Look through it before you send it."
             : "It holds host names, addresses and the files as they are; values of secret "
               "variables are not in it. --mask takes names and addresses out.";
}

}  // namespace

int collect(const Shell& shell, const CollectRequest& request) {
  if (request.output == "-")
    return shell.fail(core::input_error("a bundle is not written to standard output",
                                        "give the name of a file, as in node7.tar.zst"));
  shell.progress("gathering (read-only commands, at most some minutes)");
  const auto gathered = topology::gather_node(core::Host::real(),
                                              {.paths = request.paths,
                                               .mask = request.mask,
                                               .between_counters = request.between_counters,
                                               .version = report::kVersion},
                                              wait_quietly);
  shell.end_progress();
  if (!gathered) return shell.fail(gathered.error());
  const auto packed = core::zstd_packed(gathered->archive.tar());
  if (!packed) return shell.fail(packed.error());
  const Json& manifest = gathered->manifest;
  const std::string path =
      request.output.empty() ? default_name(manifest, request.mask) : request.output;
  if (!write_file(path, *packed)) return shell.fail(cannot_write(path));
  core::Document document{.command = "doctor"};
  document.result = {{"file", path},
                     {"bytes", packed->size()},
                     {"files", gathered->archive.files()},
                     {"manifest", manifest}};
  document.verdict =
      fmt::format("collected this node: {} files, {} in {}", gathered->archive.files(),
                  core::format_bytes(core::Bytes::of(packed->size())), path);
  if (const auto rows = missing_rows(manifest); !rows.empty()) {
    document.body.emplace_back(core::Heading{"Not in it"});
    document.body.emplace_back(core::KeyValues{rows});
  }
  document.body.emplace_back(core::Paragraph{what_is_in_it(request.mask) +
                                             " next: comm-probe doctor " + path +
                                             " (with those of the "
                                             "other nodes)"});
  return shell.finish(document);
}

}  // namespace comm_probe::cli
