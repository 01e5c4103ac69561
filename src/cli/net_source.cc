#include "cli/net_source.h"

#include <algorithm>
#include <filesystem>

#include "cli/topo_source.h"
#include "topology/bundle.h"

namespace comm_probe::cli {
namespace {

using core::Result;
using topology::NetReading;
using topology::NetSnapshot;
using topology::PortCounters;
namespace fs = std::filesystem;

NetReading reading_of(const core::Host& host) {
  NetSnapshot snapshot = topology::read_net_counters(host);
  if (snapshot.ports.empty()) return {};
  NetReading reading;
  reading.snapshots.push_back(std::move(snapshot));
  return reading;
}

Result<NetReading> read_file(const std::string& path) {
  auto input = core::Input::open(path);
  if (!input) return input.error();
  return topology::read_net_counters(*input);
}

bool has_same_port(const NetSnapshot& a, const NetSnapshot& b) {
  return std::any_of(a.ports.begin(), a.ports.end(), [&](const PortCounters& port) {
    return std::any_of(b.ports.begin(), b.ports.end(),
                       [&](const PortCounters& other) { return other.is_same(port); });
  });
}

// The files of a folder, each with its own snapshots: where two show the same port they are of two
// hosts, which are called by their files.
NetReading joined(std::vector<std::pair<std::string, NetReading>> files) {
  bool are_hosts = false;
  for (std::size_t a = 0; a < files.size() && !are_hosts; ++a)
    for (std::size_t b = a + 1; b < files.size() && !are_hosts; ++b)
      are_hosts =
          has_same_port(files[a].second.snapshots.front(), files[b].second.snapshots.front());
  NetReading all;
  for (auto& [path, reading] : files) {
    const std::string host = fs::path(path).stem().string();
    for (NetSnapshot& snapshot : reading.snapshots) {
      for (PortCounters& port : snapshot.ports)
        if (are_hosts && port.host.empty()) port.host = host;
      all.snapshots.push_back(std::move(snapshot));
    }
    all.caveats.insert(all.caveats.end(), reading.caveats.begin(), reading.caveats.end());
  }
  return all;
}

Result<PathCounters> load_folder(const std::string& path) {
  const auto files = core::expand_paths({path});
  if (!files) return files.error();
  std::vector<std::pair<std::string, NetReading>> readings;
  for (const std::string& file : *files) {
    auto reading = read_file(file);
    if (reading && !reading->snapshots.empty()) readings.emplace_back(file, std::move(*reading));
  }
  if (!readings.empty()) return PathCounters{.reading = joined(std::move(readings))};
  core::Error error = core::input_error("no file below it shows counters of a network port");
  error.where.file = path;
  return PathCounters{.why = std::move(error)};
}

// A bundle of `doctor --collect` holds two snapshots of its own.
NetReading reading_of_bundle(const std::string& path) {
  auto input = core::Input::open(path);
  if (!input || !core::Archive::looks_like_tar(input->head())) return {};
  const auto bundle = topology::open_bundle(*input);
  if (!bundle) return {};
  return {.snapshots = topology::counters_of(*bundle, bundle->host)};
}

}  // namespace

std::optional<core::Host> recorded_host(const std::string& path) {
  if (path == "-") return std::nullopt;  // read once
  if (is_recording(path)) {
    auto host = core::Host::recorded(path);
    return host ? std::optional(std::move(*host)) : std::nullopt;
  }
  auto input = core::Input::open(path);
  if (!input || !core::Archive::looks_like_tar(input->head())) return std::nullopt;
  auto archive = core::Archive::read_tar(*input);
  if (!archive) return std::nullopt;
  return core::Host::archived(input->name(), std::move(*archive));
}

Result<PathCounters> load_counters(const std::string& path) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  if (is_folder && !is_recording(path)) return load_folder(path);
  if (path != "-" && !is_folder)
    if (NetReading reading = reading_of_bundle(path); !reading.snapshots.empty())
      return PathCounters{.reading = std::move(reading)};
  const auto host = recorded_host(path);
  auto reading = host ? Result<NetReading>(reading_of(*host)) : read_file(path);
  if (!reading) return PathCounters{.why = reading.error()};
  return PathCounters{.reading = std::move(*reading)};
}

}  // namespace comm_probe::cli
