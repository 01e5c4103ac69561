#include "topology/bundle.h"

#include <fmt/format.h>

#include <cmath>

#include "topology/archive_walk.h"
#include "topology/net_counters.h"

namespace comm_probe::topology {
std::vector<std::string> Bundle::paths() const {
  std::vector<std::string> paths;
  for (const char* folder : {"commands", "config", "counters", "files"})
    for (std::string& path : paths_below(archive, folder).files) paths.push_back(std::move(path));
  return paths;
}

core::Input Bundle::input(const std::string& path) const {
  return core::Input::from_memory(name + ":" + path, archive.read(path).value_or(""));
}

std::optional<Bundle> bundle_of(std::string name, core::Archive archive) {
  const auto text = archive.read("manifest.json");
  if (!text) return std::nullopt;
  Bundle bundle{.name = std::move(name)};
  bundle.manifest = core::Json::parse(*text, nullptr, false);
  const auto& manifest = bundle.manifest;
  if (!manifest.is_object() || !manifest.contains("comm_probe_bundle")) return std::nullopt;
  if (const auto host = manifest.find("host"); host != manifest.end() && host->is_string())
    bundle.host = host->get<std::string>().substr(0, 256);
  if (const auto time = manifest.find("time"); time != manifest.end() && time->is_number()) {
    const double seconds = time->get<double>();
    if (std::isfinite(seconds) && seconds > 0 && seconds < 1e11)
      bundle.time = core::Duration::from_seconds(seconds);
  }
  if (const auto mask = manifest.find("masked"); mask != manifest.end() && mask->is_boolean())
    bundle.is_masked = mask->get<bool>();
  bundle.archive = std::move(archive);
  return bundle;
}

core::Result<Bundle> open_bundle(core::Input& input) {
  const std::string name = input.name();
  auto archive = core::Archive::read_tar(input);
  if (!archive) return archive.error();
  auto bundle = bundle_of(name, std::move(*archive));
  if (bundle) return std::move(*bundle);
  core::Error error = core::input_error("a tar without the manifest.json of a bundle",
                                        "`comm-probe doctor --collect` makes one");
  error.where.file = name;
  return error;
}

std::vector<NetSnapshot> counters_of(const Bundle& bundle, const std::string& host) {
  std::vector<NetSnapshot> snapshots;
  for (const char* name : {"counters/first.txt", "counters/second.txt"}) {
    if (!bundle.archive.read(name)) continue;
    core::Input text = bundle.input(name);
    auto reading = read_net_counters(text);
    if (!reading) continue;
    for (NetSnapshot& snapshot : reading->snapshots) {
      for (PortCounters& port : snapshot.ports)
        if (port.host.empty()) port.host = host;
      snapshots.push_back(std::move(snapshot));
    }
  }
  return snapshots;
}

std::string counters_text(const NetSnapshot& snapshot) {
  std::string text;
  if (snapshot.time) text += fmt::format("{:.3f}\n", snapshot.time->in_seconds());
  for (const PortCounters& port : snapshot.ports) {
    if (port.source == PortCounters::Source::kEthtool)
      text += fmt::format("$ ethtool -S {}\nNIC statistics:\n", port.netdev);
    for (const auto& [counter, value] : port.counters)
      text += port.source == PortCounters::Source::kEthtool
                  ? fmt::format("     {}: {}\n", counter, value.value)
                  : fmt::format("/sys/class/infiniband/{}/ports/{}/{}/{}:{}\n", port.device,
                                port.port, is_port_counter(counter) ? "counters" : "hw_counters",
                                counter, value.value);
  }
  return text;
}

}  // namespace comm_probe::topology
