#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "core/units.h"
#include "topology/cgroup.h"
#include "topology/host_readers.h"

namespace comm_probe::topology {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// The value of the first "name : value" line.
std::string field(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && trimmed(line.substr(0, colon)) == name)
      return trimmed(line.substr(colon + 1));
  }
  return {};
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::optional<int> small_number(std::string_view text) {
  const auto value = whole_number(text);
  if (!value || *value < 0 || *value > 1'000'000) return std::nullopt;
  return static_cast<int>(*value);
}

std::vector<int> cpu_list(const core::Host& host, const std::string& path) {
  const auto text = host.read(path);
  if (!text || text->empty()) return {};
  return core::parse_cpu_list(*text).value_or(std::vector<int>{});
}

// "24683652 kB" in /proc/meminfo and below node*/meminfo.
std::optional<core::Bytes> kilobytes(const std::string& text) {
  const auto value = whole_number(text);
  if (!value || *value < 0 || *value > (std::int64_t{1} << 42)) return std::nullopt;
  return core::Bytes::of(static_cast<double>(*value) * 1024);
}

// The quota of one cgroup: "400000 100000" (v2) or two files (v1); "max" and -1 grant everything.
std::optional<double> quota_of(std::int64_t granted, std::int64_t period) {
  if (granted <= 0 || period <= 0) return std::nullopt;
  return static_cast<double>(granted) / static_cast<double>(period);
}

std::optional<double> quota_v2(const core::Host& host, const std::string& folder) {
  const auto text = host.read(folder + "/cpu.max");
  if (!text) return std::nullopt;
  const std::size_t space = text->find(' ');
  if (space == std::string::npos) return std::nullopt;
  return quota_of(whole_number(*text).value_or(0),
                  whole_number(std::string_view(*text).substr(space + 1)).value_or(0));
}

std::optional<double> quota_v1(const core::Host& host, const std::string& folder) {
  return quota_of(host.read_integer(folder + "/cpu.cfs_quota_us").value_or(0),
                  host.read_integer(folder + "/cpu.cfs_period_us").value_or(0));
}

}  // namespace

std::vector<int> read_cpus(const core::Host& host) {
  return cpu_list(host, "/sys/devices/system/cpu/online");
}

std::vector<int> read_allowed(const core::Host& host) {
  const std::string list = field(host.read("/proc/self/status").value_or(""), "Cpus_allowed_list");
  return list.empty() ? std::vector<int>{}
                      : core::parse_cpu_list(list).value_or(std::vector<int>{});
}

std::optional<double> read_quota(const core::Host& host) {
  std::optional<double> smallest;
  for (const CgroupPlace& place : cgroups_of(host))
    for (const std::string& folder : place.folders_up())
      if (const auto quota = place.is_v2 ? quota_v2(host, folder) : quota_v1(host, folder))
        smallest = smallest ? std::min(*smallest, *quota) : quota;
  return smallest;
}

Processor read_processor(const core::Host& host, const std::vector<int>& cpus) {
  Processor p;
  const std::string info = host.read("/proc/cpuinfo").value_or("");
  p.vendor = field(info, "vendor_id");
  if (p.vendor.empty()) p.vendor = field(info, "CPU implementer");  // arm64: "0x41"
  p.model_name = field(info, "model name");
  p.family = small_number(field(info, "cpu family"));
  p.model = small_number(field(info, "model"));
  p.is_virtual = (" " + field(info, "flags") + " ").find(" hypervisor ") != std::string::npos;
  p.governor =
      host.read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").value_or(std::string());
  std::set<std::int64_t> sockets;
  std::set<std::pair<std::int64_t, std::int64_t>> cores;
  for (const int cpu : cpus) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
    const auto socket = host.read_integer(folder + "physical_package_id");
    const auto core = host.read_integer(folder + "core_id");
    if (socket) sockets.insert(*socket);
    if (socket && core) cores.emplace(*socket, *core);
  }
  if (!sockets.empty()) p.sockets = static_cast<int>(sockets.size());
  if (!cores.empty()) p.cores = static_cast<int>(cores.size());
  return p;
}

std::vector<Cache> read_caches(const core::Host& host, const std::vector<int>& cpus) {
  std::vector<Cache> caches;
  for (const int cpu : cpus) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache", cpu);
    for (const std::string& index : host.list(folder)) {
      if (!index.starts_with("index")) continue;
      const std::string at = folder + "/" + index + "/";
      const auto level = host.read_integer(at + "level");
      const auto size = core::parse_bytes(host.read(at + "size").value_or(""));
      if (!level || *level < 1 || *level > 9 || !size.ok()) continue;
      Cache cache{static_cast<int>(*level), host.read(at + "type").value_or("") != "Instruction",
                  *size, cpu_list(host, at + "shared_cpu_list")};
      if (cache.cpus.empty()) cache.cpus = {cpu};
      if (cache.cpus.front() == cpu) caches.push_back(std::move(cache));
    }
  }
  return caches;
}

std::vector<NumaNode> read_nodes(const core::Host& host) {
  std::vector<NumaNode> nodes;
  const std::string folder = "/sys/devices/system/node";
  for (const std::string& name : host.list(folder)) {
    const auto id = name.starts_with("node") ? small_number(name.substr(4)) : std::nullopt;
    if (!id) continue;
    const std::string at = folder + "/" + name + "/";
    NumaNode node;
    node.id = *id;
    node.cpus = cpu_list(host, at + "cpulist");
    const std::string info = host.read(at + "meminfo").value_or("");
    const std::size_t total = info.find("MemTotal:");
    if (total != std::string::npos) node.memory = kilobytes(trimmed(info.substr(total + 9, 40)));
    std::istringstream distances(host.read(at + "distance").value_or(""));
    for (int distance = 0; distances >> distance;) node.distances.push_back(distance);
    nodes.push_back(std::move(node));
  }
  std::sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return nodes;
}

std::optional<core::Bytes> read_memory(const core::Host& host) {
  return kilobytes(field(host.read("/proc/meminfo").value_or(""), "MemTotal"));
}

}  // namespace comm_probe::topology
