// Survey: what one source says of a machine, in the same form whatever the source: its GPUs, NICs
// and CPUs, and the road between every two of them. A tree (NCCL XML) gives bandwidths and hops; a
// matrix (`nvidia-smi topo -m`) gives words only. What the source does not say is absent.
//
//   DGX H100: GPU0 -> mlx5_0 is PIX over "switch 0000:10:00.0", "nic 0000:11:00.0", "mlx5_0"; 48
//   GB/s for NCCL, 50 GB/s nominal (the port is narrower than the slot), 3 hops.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/input.h"
#include "topology/device_matrix.h"
#include "topology/host_facts.h"
#include "topology/paths.h"

namespace comm_probe::topology {

struct SurveyDevice {
  enum class Kind { kGpu, kNic, kCpu };
  Kind kind = Kind::kGpu;
  std::string name = {};    // "GPU0", "mlx5_0", "CPU1"
  int host = 0;             // in a domain of several hosts
  std::string bus_id = {};  // empty where not known
  PciSlot slot = {};
  std::optional<int> rank = {};
  std::optional<int> sm = {};
  std::optional<bool> gdr = {};
  std::optional<int> numa = {};
  std::string cpu_affinity = {};
  std::optional<core::Bandwidth> port = {};  // of a NIC
  // What the slot and the switches above carry at most, after protocol overhead.
  std::optional<core::Bandwidth> slot_effective = {};
  std::optional<std::uint64_t> line = {};  // in the source
  // A PCI function right under the CPU, without a switch or root port in between.
  bool is_on_root = false;
  std::string model = {};        // "NVIDIA H200"
  std::string port_state = {};   // of a NIC: "ACTIVE", "DOWN"; of an interface "up", "down"
  std::string link_layer = {};   // "InfiniBand", "Ethernet"
  std::string interface = {};    // of an RDMA device: "ens1f0np0"
  PciLink trained = {};          // what the slot runs at now; `slot` is what it can do
  std::optional<int> node = {};  // of Survey::machine
  int nvlinks = 0;               // of a GPU, to all others together
  std::optional<int> nvlink_generation = {};  // 4 = H100
  std::string root_port = {};                 // bus id of the PCIe root port above
};

struct Road {
  int from = 0;  // indices of devices
  int to = 0;
  std::string printed = {};  // in the source's own words: "NV18", "NODE"; NCCL's for a tree
  PathType type = PathType::kDis;
  int nvlinks = 0;  // of the narrowest NVLink step; 0 without
  std::optional<core::Bandwidth> nccl = {};
  std::optional<core::Bandwidth> nominal = {};    // of the narrowest link by the standard
  std::optional<core::Bandwidth> effective = {};  // after protocol overhead
  std::vector<std::string> hops = {};             // every device after `from`
};

struct Survey {
  std::string source = {};  // file name; of several that of the one which shows devices and paths
  std::string kind = {};    // "nccl-topology", "nvidia-smi-topo", "this-machine", ...
  std::vector<SurveyDevice> devices = {};
  std::vector<Road> roads = {};  // between GPUs, NICs and from those to CPUs; known ones only
  HostFacts facts = {};
  std::vector<std::string> beside = {};  // further sources, of which the facts come
  std::vector<core::Caveat> caveats = {};
  std::optional<Machine> machine = {};  // where the source shows a graph

  // A reading of the machine itself, here or recorded, and not a text that may show a part of it.
  bool is_whole_machine() const { return kind.ends_with("-machine"); }
  // A topology file without gpu elements, as clouds ship them: its GPUs are known by their PCI
  // class alone, and whether they have NVLink is not.
  bool is_template() const;
  // All devices must be known before the first road.
  void add(Road road);
  // Puts another road in the place of the one that this pair has.
  void replace(Road road);
  void forget_roads();
  // Null where the source says nothing of this pair.
  const Road* road(int from, int to) const;
  std::vector<int> of(SurveyDevice::Kind kind) const;
  const SurveyDevice& device(int index) const { return devices[static_cast<std::size_t>(index)]; }
  // Keeps the facts and puts what they say of single devices there.
  void add_facts(HostFacts known);

 private:
  std::size_t place(int from, int to) const {
    return static_cast<std::size_t>(from) * devices.size() + static_cast<std::size_t>(to);
  }
  std::vector<int> road_at_ = {};  // by pair, -1 for none
};

core::Result<Survey> survey_of(const Machine& machine);
Survey survey_of(const DeviceMatrix& matrix);

// This machine or a recorded one, by /sys, /proc and the NVIDIA driver.
core::Result<Survey> survey_of(const core::Host& host);

// Reads a file of any known kind, recognised by its content.
core::Result<Survey> read_survey(core::Input& input);

}  // namespace comm_probe::topology
