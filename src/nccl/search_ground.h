// SearchGround: the machine laid flat for the search: every path as a row of link numbers, and for
// each link what is left of its bandwidth while channels take their share (NCCL 2.28.9
// src/graph/search.cc, followPath). What is left carries over from one search to the next, with
// NCCL's rounding to 0.001 GB/s after each use.
//
//   take(way, 48) on a DGX H100: GPU 0 -> NVSwitch 370.8 -> 322.8 GB/s left, give puts it back
//
// An end of a path is a number: GPUs first, then nets, then the NVSwitch.
#pragma once

#include <cstdint>
#include <vector>

#include "nccl/reach.h"

namespace comm_probe::nccl {

// A path as the search walks it.
struct Way {
  std::int32_t first = -1;  // of its steps; -1: not laid out yet
  std::int16_t hops = 0;
  topology::PathType type = topology::PathType::kDis;
  bool is_inside = false;    // both ends are a GPU or the NVSwitch
  bool burdens_pci = false;  // GPU over the bridge of an Intel CPU: PCI links carry 6/5
};

class SearchGround {
 public:
  explicit SearchGround(const Reach& reach);

  const Reach& reach() const { return reach_; }
  int gpus() const { return gpus_; }
  int nets() const { return nets_; }
  bool has_nvswitch() const { return has_nvswitch_; }
  int end_of_net(int net) const { return gpus_ + net; }
  int end_of_nvswitch() const { return gpus_ + nets_; }

  const Way& way(int from, int to) {
    const Way& known = ways_[static_cast<std::size_t>(from) * ends_ + static_cast<std::size_t>(to)];
    return known.first >= 0 ? known : lay_out(from, to);
  }

  // All links of the way have `rate` left: takes it. Else nothing changes.
  bool take(const Way& way, float rate) { return walk(way, rate); }
  void give(const Way& way, float rate) { walk(way, -rate); }

  // What a GPU's PCI link and the way back leave at this moment, in whole GB/s; -1 without one.
  int pci_left(int gpu) const;

  // Offers collective offload. A job with offload on a machine whose nets say nothing of it: all.
  bool offloads(int net) const { return all_offload_ || reach_.net(net).coll; }

  // GB/s that a net can still start channels with.
  float net_left(int net) const { return net_left_[static_cast<std::size_t>(net)]; }
  // Of every net on the same port of the same card.
  void take_net(int net, int rate);

 private:
  struct Step {
    std::int32_t link = 0;
    std::int32_t back = 0;  // the reverse link
    bool is_pci = false;
    bool acks_eighth = false;  // a GPU before 8.0 answers with an eighth of the data
    bool acks_all = false;     // so does a POWER CPU over NVLink, with all of it
  };
  struct PciLinks {
    std::int32_t up = -1;
    std::int32_t down = -1;
  };

  const Way& lay_out(int from, int to);
  Step step_over(const topology::Hop& hop, bool starts_at_gpu) const;
  int node_of_end(int end) const;
  bool walk(const Way& way, float rate);
  void rewind(const Way& way, int hops, float rate);
  float back_rate(const Step& step, float rate) const;
  PciLinks pci_links(int gpu) const;

  const Reach& reach_;
  int gpus_ = 0;
  int nets_ = 0;
  bool has_nvswitch_ = false;
  bool all_offload_ = true;
  std::size_t ends_ = 0;
  std::vector<std::int32_t> first_link_ = {};  // per node, of its links
  std::vector<float> left_ = {};               // per link
  std::vector<float> net_left_ = {};
  std::vector<Way> ways_ = {};
  std::vector<Step> steps_ = {};
  std::vector<PciLinks> pci_links_ = {};
};

}  // namespace comm_probe::nccl
