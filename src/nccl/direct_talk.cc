#include "nccl/direct_talk.h"

#include <fmt/format.h>

#include <algorithm>

namespace comm_probe::nccl {
namespace {

using topology::HostFacts;
using topology::PathType;

Hindrance acs_of(const HostFacts& facts) {
  const topology::Redirects redirects = redirects_of(facts);
  const int asked = redirects.asked;
  const int redirecting = redirects.redirecting();
  if (asked == 0)
    return {"PCIe ACS", Passage::kUnknown,
            "the source shows no ACSCtl of a switch (root only: lspci -vvv, topo record)"};
  if (redirecting == 0)
    return {"PCIe ACS", Passage::kClear,
            fmt::format("none of {} bridges redirects peer traffic", asked)};
  return {
      "PCIe ACS", Passage::kHindered,
      fmt::format("{} of {} bridges redirect peer traffic: what passes {} and should stay below "
                  "a switch goes up to the root complex",
                  redirecting, asked, redirecting == 1 ? "it" : "them"),
      redirecting == asked ? "" : fmt::format("{} of {} bridges", redirecting, asked)};
}

Hindrance iommu_of(const HostFacts& facts) {
  if (!facts.iommu)
    return {"IOMMU", Passage::kUnknown, "the source shows no mode (/sys/kernel/iommu_groups)"};
  if (facts.iommu->value == topology::IommuMode::kTranslated)
    return {"IOMMU", Passage::kHindered,
            "it translates addresses: P2P and GPUDirect RDMA over PCIe are slow, wrong or hang"};
  return {"IOMMU", Passage::kClear, iommu_mode_name(facts.iommu->value)};
}

Hindrance container_of(const HostFacts& facts) {
  if (!facts.container)
    return {"container", Passage::kUnknown, "the source does not say whether this is one"};
  if (!facts.container->value) return {"container", Passage::kClear, "none"};
  return {"container", Passage::kUnknown,
          "ranks in one container talk directly; ranks in several need the same /dev/shm and host "
          "name (--ipc=host, --uts=host), else NCCL takes them for different hosts"};
}

bool is_below_a_switch(PathType distance) {
  return distance == PathType::kPix || distance == PathType::kPxb || distance == PathType::kPxn;
}

bool is_over_pcie(PathType distance) {
  return is_below_a_switch(distance) || distance == PathType::kPhb || distance == PathType::kSys ||
         distance == PathType::kP2c;
}

}  // namespace

const char* passage_name(Passage passage) {
  switch (passage) {
    case Passage::kClear:
      return "clear";
    case Passage::kHindered:
      return "hindered";
    case Passage::kUnknown:
      return "not known";
  }
  return "";
}

Passage DirectTalk::passage(PathType distance) const {
  if (!is_over_pcie(distance)) return Passage::kClear;
  const Passage of_pair = acs.partly.empty() ? acs.passage : Passage::kUnknown;
  const Passage by_acs = is_below_a_switch(distance) ? of_pair : Passage::kClear;
  for (const Passage worst : {Passage::kHindered, Passage::kUnknown})
    if (by_acs == worst || iommu.passage == worst) return worst;
  return Passage::kClear;
}

std::string DirectTalk::clause(PathType distance) const {
  const Passage whole = passage(distance);
  if (whole == Passage::kClear) return "";
  if (whole == Passage::kUnknown && is_below_a_switch(distance) && !acs.partly.empty())
    return fmt::format("ACS stands in the way of what passes {}", acs.partly);
  std::string names;
  if (is_below_a_switch(distance) && acs.passage == whole) names = "ACS";
  if (iommu.passage == whole) names += names.empty() ? "IOMMU" : ", IOMMU";
  return whole == Passage::kHindered
             ? fmt::format("but {} stands in the way", names)
             : fmt::format("not known whether PCIe lets it pass: {} not read", names);
}

DirectTalk direct_talk(const HostFacts& facts) {
  return {acs_of(facts), iommu_of(facts), container_of(facts)};
}

std::set<std::pair<int, int>> refused_pairs(const HostFacts& facts) {
  std::set<std::pair<int, int>> refused;
  for (const topology::PeerStatus& peer : facts.peers)
    if ((peer.capability == 'r' || peer.capability == 'w') && peer.status != "OK")
      refused.emplace(std::min(peer.from, peer.to), std::max(peer.from, peer.to));
  return refused;
}

}  // namespace comm_probe::nccl
