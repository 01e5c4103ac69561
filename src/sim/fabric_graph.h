// A fabric with its links and ways: which links does a message cross? Every link is one direction.
//
//   inside a node     NVLink port out of the sender, NVLink port into the receiver
//   between nodes     NIC port out, [leaf to spine, [spine to core, core to spine,] spine to leaf,]
//                     NIC port in; dragonfly: [local link,] [global link,] [local link]
//
// A message that may be spread over all ways out of its node (rings and trees: NCCL's channels)
// takes every NIC with an equal part, where the machine says how many there are. Where several ways
// are equal, a hash of NICs, communicator and seed chooses one (ECMP), or the links count as one of
// their summed rate (spread). Worked example (tests/unit/sim/fabric_graph_test.cc):
// fat-tree:nodes_per_leaf=2,oversubscription=2 with nodes of one GPU at 50 GB/s: 4 ranks have 2
// leaves with one uplink each; 0 to 2 crosses 4 links, and 0 to 2 beside 1 to 3 get 25 GB/s each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/fabric.h"
#include "model/flow_play.h"
#include "model/network.h"
#include "sim/fabric_shape.h"

namespace comm_probe::sim {

enum class LinkKind { kNvlink, kNic, kLeafUp, kLeafDown, kPodUp, kPodDown, kLocal, kGlobal, kPair };
const char* link_kind_name(LinkKind kind);  // "NVLink port" | "NIC port" | "leaf uplink" ...

class FabricGraph : public model::Routes {
 public:
  struct Build {
    FabricShape shape = {};
    model::Fabric links = {};
    int ranks = 0;  // at least as many GPUs are wired
    std::uint64_t seed = 0;
    std::vector<model::SlowLink> slow = {};
  };
  // Refuses a mesh or bridge inside the nodes, more ranks than nodes hold, more than 2^24 links,
  // and a dragonfly of one group that has global links.
  static core::Result<std::unique_ptr<FabricGraph>> create(const Build& build);

  std::span<const core::Bandwidth> capacities() const override { return capacities_; }
  void find(const Ask& ask, std::vector<model::Route>& routes) const override;

  int gpus() const { return nodes_ * per_node_; }
  int nodes() const { return nodes_; }
  int gpus_per_node() const { return per_node_; }
  int nics_per_node() const { return nics_; }
  int leaves() const { return leaves_; }
  std::size_t links() const { return capacities_.size(); }
  LinkKind kind(model::LinkId link) const;
  // "uplink 3 of leaf 12", "port of NIC 2 of node 7, out"
  std::string name(model::LinkId link) const;
  // How many links from here on a hash chooses among; 1: there is no choice. Asked of the first.
  std::uint32_t choices(model::LinkId link) const;
  // No message can ever take it: the place of a group's link to itself.
  bool is_idle(model::LinkId link) const;
  core::Bandwidth nvlink() const { return inside_.beta; }
  // What leaves this rank (by NVLink and NICs at once), this node at most.
  core::Bandwidth rank_out(int rank) const;
  core::Bandwidth node_out(int node) const;
  core::Duration smallest_alpha() const;

 private:
  // Links of one kind stand together: `first`, then `per` for each of `count` things.
  struct Group {
    LinkKind kind = LinkKind::kNvlink;
    bool is_in = false;
    model::LinkId first = 0;
    std::uint32_t count = 0, per = 1;
    model::LinkId at(int thing, int which = 0) const {
      return first + static_cast<model::LinkId>(thing) * per + static_cast<model::LinkId>(which);
    }
  };
  FabricGraph() = default;
  core::Result<bool> build(const Build& build);
  core::Result<bool> place_nodes(const Build& build);
  core::Result<bool> wire_tree();
  core::Result<bool> wire_dragonfly();
  void slow_down(const model::SlowLink& link);
  core::Result<bool> add(Group& group, LinkKind kind, int count, int per, core::Bandwidth rate);
  int nic_of(int rank) const;
  int leaf_of(int node, int nic) const;
  void cross(int from_nic, int to_nic, std::uint64_t flow, model::Route& route) const;
  void climb(int from_leaf, int to_leaf, std::uint64_t hash, model::Route& route) const;
  void fly(int from_switch, int to_switch, std::uint64_t hash, model::Route& route) const;
  void hop_local(int from_switch, int to_switch, model::Route& route) const;
  void add_pair(const Ask& ask, std::vector<model::Route>& routes) const;
  std::uint64_t hash(int from_nic, int to_nic, std::uint64_t flow) const;

  FabricShape shape_ = {};
  model::Link inside_ = {}, nic_ = {};
  std::uint64_t seed_ = 0;
  bool takes_all_ = false;  // a ring or a tree takes all NICs of a node at once
  int nodes_ = 0, per_node_ = 1, nics_ = 1, leaves_ = 0, uplinks_ = 0, pods_ = 1, cores_ = 0;
  int switches_ = 0, groups_ = 0, global_ = 0;
  Group gpu_out_ = {}, gpu_in_ = {}, nic_out_ = {}, nic_in_ = {}, leaf_up_ = {}, leaf_down_ = {},
        pod_up_ = {}, pod_down_ = {}, local_ = {}, far_ = {}, pair_ = {};
  std::vector<const Group*> all_ = {};
  std::vector<core::Bandwidth> capacities_ = {};
  std::vector<model::SlowLink> pairs_ = {};
};

}  // namespace comm_probe::sim
