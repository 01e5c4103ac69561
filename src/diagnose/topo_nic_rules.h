// Rules on NICs and the GPUs they serve. A NIC counts where NCCL may use it beside the others:
// where RDMA ports are known, an interface without one, and the network device of a virtual
// machine, do not.
#pragma once

#include <map>
#include <vector>

#include "diagnose/topo_rules.h"

namespace comm_probe::diagnose {

RuleAnswer nic_reached(const topology::Survey& survey);
RuleAnswer nic_near(const topology::Survey& survey);
RuleAnswer nic_shared(const topology::Survey& survey);
// A place with fewer NICs than the others, which have one for each of their GPUs.
RuleAnswer nics_complete(const topology::Survey& survey);
RuleAnswer nic_fits_slot(const topology::Survey& survey);

// What the source shows of the port itself; null without.
const topology::RdmaPortFacts* port_facts(const topology::Survey& survey,
                                          const topology::SurveyDevice& nic);

// Over the nearest of these NICs; kDis where no way to any is known.
topology::PathType nearest_path(const topology::Survey& survey, int from,
                                const std::vector<int>& nics);

// The NICs that count.
std::vector<int> usable_nics(const topology::Survey& survey);

// The NICs at PXB or nearer to a GPU, each with its GPUs; neither virtio nor, where others do RDMA,
// plain ones.
std::map<int, std::vector<int>> nics_beside_gpus(const topology::Survey& survey);

// The NICs that can do RDMA as far as the source shows it. A machine that was read itself shows its
// RDMA ports; in a text every NIC counts that is not virtio or an interface (eth0, ens5).
std::vector<int> rdma_nics(const topology::Survey& survey);

}  // namespace comm_probe::diagnose
