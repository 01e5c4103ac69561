// Puts a Machine together link by link, in NCCL's order (NCCL 2.28.9 src/graph/topo.cc): a link to
// the same node of the same type adds up; links stand widest first, equal ones in the order of
// their coming. finish() merges two-level Broadcom switches, joins the CPUs and sorts.
#pragma once

#include "topology/machine.h"
#include "topology/nccl_link_rates.h"

namespace comm_probe::topology {

class MachineBuilder {
 public:
  explicit MachineBuilder(NcclVersion version) : version_(version) {}

  int add(Node node) { return machine_.add(std::move(node)); }
  Machine& machine() { return machine_; }

  // One direction.
  void connect(int from, Link link);
  // `link` from `one` to `other`, then the same back.
  void join(int one, int other, Link link);

  // The link of a PCI function to what stands above it, function first.
  void join_pci(int function, int above);
  void join_net(int nic, int net);
  // NVLinks of a GPU to the target node; a target that is no GPU gets the reverse too.
  void join_nvlinks(int gpu, int target, int count);
  // `count` chip-to-chip links of `each` to the GPU's own CPU.
  void join_c2c(int gpu, int cpu, int count, core::Bandwidth each);

  // The one NVSwitch node, made on first use.
  int nvswitch();
  // The CPU above a node, going up PCI links; nothing where there is none.
  std::optional<int> cpu_above(int node) const;

  Machine finish();

 private:
  void flatten_broadcom();
  bool flatten_once();
  void merge_switches(int parent, const std::vector<int>& below);
  void join_cpus();
  void sort_from(int node, std::optional<int> above);

  Machine machine_;
  NcclVersion version_;
};

}  // namespace comm_probe::topology
