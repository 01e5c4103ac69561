// How long do all paths of a machine take? Median of several runs, CPU time of this thread.
//   bar: 16 GPUs and 16 NICs < 1 ms; an NVLink domain of 576 GPUs in 144 hosts < 100 ms
// "paths" is every path of the graph; "plan" also decides peers, GPUDirect RDMA, PXN and NICs.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "cpu_time.h"
#include "nccl/nccl.h"
#include "topology/readers/nccl_xml.h"

namespace comm_probe {
namespace {

std::string gpu_xml(const std::string& bus_id, int dev, int rank) {
  return fmt::format(
      "<pci busid=\"{}\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu "
      "dev=\"{}\" sm=\"100\" rank=\"{}\" gdr=\"1\"><nvlink target=\"f\" count=\"18\" "
      "tclass=\"0x068000\"/></gpu></pci>",
      bus_id, dev, rank);
}

std::string nic_xml(const std::string& bus_id, int dev) {
  return fmt::format(
      "<pci busid=\"{}\" class=\"0x020700\" link_speed=\"32.0 GT/s PCIe\" "
      "link_width=\"16\"><nic><net name=\"mlx5_{}\" dev=\"{}\" speed=\"400000\" guid=\"{:x}\" "
      "gdr=\"1\"/></nic></pci>",
      bus_id, dev, dev, dev + 1);
}

// Hosts with two CPUs; every GPU shares a switch with one NIC.
std::string machine_xml(int hosts, int gpus_per_host) {
  std::string text = "<system version=\"1\">";
  int rank = 0;
  for (int host = 0; host < hosts; ++host)
    for (int cpu = 0; cpu < 2; ++cpu) {
      text += fmt::format(
          "<cpu host_hash=\"{:x}\" numaid=\"{}\" arch=\"x86_64\" vendor=\"GenuineIntel\" "
          "familyid=\"6\" modelid=\"207\">",
          host + 1, cpu);
      for (int i = 0; i < gpus_per_host / 2; ++i) {
        const int dev = cpu * gpus_per_host / 2 + i;
        text += fmt::format(
            "<pci busid=\"0000:{:02x}:00.0\" class=\"0x060400\" link_speed=\"32.0 "
            "GT/s PCIe\" link_width=\"16\">",
            16 + dev * 4);
        text += gpu_xml(fmt::format("0000:{:02x}:00.0", 17 + dev * 4), dev, rank++);
        text += nic_xml(fmt::format("0000:{:02x}:00.0", 18 + dev * 4), dev) + "</pci>";
      }
      text += "</cpu>";
    }
  return text + "</system>";
}

bool report(const std::string& what, double ms, double bar) {
  fmt::print("{:44} {:9.3f} ms   bar {:5g} ms   {}\n", what, ms, bar, ms < bar ? "ok" : "MISSED");
  return ms < bar;
}

bool measure(const std::string& name, const std::string& xml, double bar) {
  const auto reading = topology::read_nccl_xml(name, xml);
  if (!reading) {
    fmt::print("{}\n", reading.error().one_line());
    return false;
  }
  const topology::Machine& machine = reading->machine;
  nccl::Job job = nccl::implied_job(machine);
  job.nodes = 2;
  const bool paths = report(
      name + ": paths", median_ms(11, [&] { (void)topology::Paths::between(machine).ok(); }), bar);
  const bool plan = report(
      name + ": plan",
      median_ms(5, [&] { (void)nccl::reach_of_job(machine, nccl::read_settings({}), job).ok(); }),
      bar);
  return paths && plan;
}

}  // namespace
}  // namespace comm_probe

int main() {
  using namespace comm_probe;
  bool ok = measure("16 GPUs, 16 NICs, one host", machine_xml(1, 16), 1);
  ok = measure("576 GPUs, 576 NICs, 144 hosts, one domain", machine_xml(144, 4), 100) && ok;
  return ok ? 0 : 1;
}
