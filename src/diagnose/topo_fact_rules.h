// Rules on what kernel and driver say beside the graph: links that trained down, settings that keep
// devices from talking directly, ports that are not ready. Where the source does not say it, the
// rule says how to find out.
#pragma once

#include "diagnose/topo_rules.h"

namespace comm_probe::diagnose {

// Current width below what both ends can do; speed too, but not of GPUs, which lower it when idle.
RuleAnswer links_at_full(const topology::Survey& survey);
// Request or completion redirect, or upstream forwarding, on the ports of a switch.
RuleAnswer switches_pass_peers(const topology::Survey& survey);
RuleAnswer iommu_passes(const topology::Survey& survey);
RuleAnswer driver_allows_peers(const topology::Survey& survey);
// Some NVLinks of a GPU are active, others are not.
RuleAnswer nvlinks_active(const topology::Survey& survey);
RuleAnswer ports_ready(const topology::Survey& survey);
// Flow control by priority or congestion marks on RoCE ports.
RuleAnswer roce_protected(const topology::Survey& survey);
RuleAnswer gid_usable(const topology::Survey& survey);
RuleAnswer memory_lockable(const topology::Survey& survey);

}  // namespace comm_probe::diagnose
