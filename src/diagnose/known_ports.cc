#include "diagnose/known_ports.h"

#include <algorithm>
#include <cmath>

#include "topology/standard_links.h"

namespace comm_probe::diagnose {
namespace {

using topology::SurveyDevice;

constexpr double kSameRate = 0.03;  // FDR is 54.5 Gb/s of data, NCCL writes 56

bool is_sold(core::Bandwidth rate) {
  const auto rates = catalog::network_rates();
  return std::any_of(rates.begin(), rates.end(), [rate](const catalog::NetworkRate& known) {
    return std::abs(rate / known.data - 1) <= kSameRate;
  });
}

// "mlx5_0", port 1; "mlx5_0:2", port 2
KnownPort named(const std::string& name) {
  KnownPort port;
  const std::size_t colon = name.rfind(':');
  port.device = name.substr(0, colon);
  if (colon != std::string::npos && colon + 2 == name.size() && name[colon + 1] >= '1' &&
      name[colon + 1] <= '9')
    port.port = name[colon + 1] - '0';
  return port;
}

bool is_same(const KnownPort& a, const KnownPort& b) {
  return a.device == b.device && a.port == b.port;
}

}  // namespace

std::vector<KnownPort> known_ports(const topology::Survey& survey) {
  std::vector<KnownPort> ports;
  for (const topology::RdmaPortFacts& facts : survey.facts.rdma_ports)
    if (facts.is_active() && facts.rate)
      ports.push_back({facts.device, facts.port, *facts.rate, {}, facts.from.source});
  for (const SurveyDevice& device : survey.devices) {
    if (device.kind != SurveyDevice::Kind::kNic || !device.port || !is_sold(*device.port)) continue;
    KnownPort port = named(device.name);
    port.rate = *device.port;
    port.slot = topology::standard_pcie(device.slot);
    port.source = survey.source;
    const auto known = std::find_if(ports.begin(), ports.end(),
                                    [&](const KnownPort& other) { return is_same(other, port); });
    if (known == ports.end())
      ports.push_back(std::move(port));
    else if (!known->slot)
      known->slot = port.slot;
  }
  return ports;
}

}  // namespace comm_probe::diagnose
