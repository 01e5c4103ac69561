#include <fmt/format.h>

#include "topology/net_counters.h"
#include "topology/readers/fact_reader.h"
#include "topology/readers/sysfs.h"

namespace comm_probe::topology {
namespace {

void read_folder(const core::Host& host, const std::string& folder, PortCounters& port) {
  for (const std::string& name : host.list(folder)) {
    if (name == "lifespan") continue;  // how long values are cached, in ms
    const auto value = host.read_integer(folder + name);
    if (value && *value >= 0) port.counters[name] = {static_cast<std::uint64_t>(*value), 0};
  }
}

// What `ethtool -S` of the port's interface adds.
void read_interface(const core::Host& host, const std::string& netdev, NetSnapshot& snapshot) {
  const std::vector<std::string> command = {"ethtool", "-S", netdev};
  const auto text = host.output(command);
  if (!text) return;
  core::Input input = core::Input::from_memory("ethtool -S " + netdev, *text);
  auto reading = read_net_counters(input, "ethtool -S " + netdev);
  if (!reading) return;
  for (NetSnapshot& part : reading->snapshots)
    for (PortCounters& port : part.ports) snapshot.ports.push_back(std::move(port));
}

}  // namespace

NetSnapshot read_net_counters(const core::Host& host) {
  NetSnapshot snapshot{
      .source = host.name(), .time = host.time(), .states = read_rdma_port_facts(host)};
  for (const std::string& device : host.list("/sys/class/infiniband")) {
    const std::string at = "/sys/class/infiniband/" + device;
    const auto netdevs = host.list(at + "/device/net");
    for (const std::string& number : host.list(at + "/ports")) {
      const auto port_number = small_number(number, 255);
      if (!port_number) continue;
      PortCounters port{.source = PortCounters::Source::kSysfs,
                        .device = device,
                        .port = *port_number,
                        .netdev = netdevs.empty() ? "" : netdevs.front()};
      const std::string folder = fmt::format("{}/ports/{}/", at, number);
      port.from = {folder, {}, "counters"};
      read_folder(host, folder + "counters/", port);
      read_folder(host, folder + "hw_counters/", port);
      if (!port.counters.empty()) snapshot.ports.push_back(std::move(port));
    }
    for (const std::string& netdev : netdevs) read_interface(host, netdev, snapshot);
  }
  for (PortCounters& port : snapshot.ports) port.time = snapshot.time;
  return snapshot;
}

}  // namespace comm_probe::topology
