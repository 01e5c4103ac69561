#include "diagnose/gpu_acceptance.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "diagnose/gpu_links.h"

namespace comm_probe::diagnose {
namespace {

using measure::GpuLink;
using measure::GpuLinkKind;
using measure::GpuLinks;
using Outcome = Check::Outcome;

struct Line {
  const char* name;
  GpuLinkKind kind;
  double share;  // of the ceiling
};
constexpr Line kLines[] = {
    {"host to GPU, pinned", GpuLinkKind::kHostToDevice, kBelowSlot},
    {"GPU to host, pinned", GpuLinkKind::kDeviceToHost, kBelowSlot},
    {"between GPUs, one way", GpuLinkKind::kPeerWrite, kBelowLinks},
};

bool belongs(const GpuLink& link, const Line& line) {
  return link.kind == line.kind && link.mover == measure::Mover::kCopyEngine &&
         link.memory != measure::HostMemory::kPageable &&
         link.peer_mode != measure::PeerMode::kThroughHost && link.rate;
}

// The link that is furthest below what it carries.
struct Worst {
  const GpuLink* link = nullptr;
  GpuCeiling ceiling = {};
  double share = 0;
  core::Bandwidth most = {};
};

Worst worst_of(const Line& line, const GpuLinks& links,
               const std::optional<topology::Survey>& survey) {
  Worst worst;
  for (const GpuLink& link : links.links) {
    if (!belongs(link, line)) continue;
    const auto ceiling = ceiling_of(link, links, survey);
    if (!ceiling) continue;
    const double share = link.rate->value / ceiling->rate.value;
    worst.most = std::max(worst.most, link.rate->value);
    if (worst.link != nullptr && share >= worst.share) continue;
    worst.link = &link;
    worst.ceiling = *ceiling;
    worst.share = share;
  }
  return worst;
}

bool is_measured(const Line& line, const GpuLinks& links) {
  return std::any_of(links.links.begin(), links.links.end(),
                     [&line](const GpuLink& link) { return belongs(link, line); });
}

Check check_of(const Line& line, const GpuLinks& links,
               const std::optional<topology::Survey>& survey) {
  const bool is_pair = line.kind == GpuLinkKind::kPeerWrite;
  if (is_pair && links.devices.size() < 2)
    return {line.name, "at the rate of the links", "one GPU", Outcome::kNotHere};
  const Worst worst = worst_of(line, links, survey);
  if (worst.link == nullptr)
    return {line.name, "at the rate of the links",
            is_measured(line, links) ? "no rate of the link is known" : "not measured",
            Outcome::kUndecided, "comm-probe link --only pcie,p2p"};
  const std::string least = core::format_bandwidth(worst.link->rate->value);
  const std::string most = core::format_bandwidth(worst.most);
  Check check{line.name,
              fmt::format("at least {} ({} of {})",
                          core::format_bandwidth(worst.ceiling.rate.value * line.share),
                          core::format_percent(line.share, 2), worst.ceiling.name),
              least == most ? least : fmt::format("{} to {}", least, most),
              worst.share >= line.share ? Outcome::kPass : Outcome::kFail};
  if (check.outcome == Outcome::kFail) check.why = "slowest: " + worst.link->name();
  return check;
}

}  // namespace

std::vector<Check> gpu_acceptance(const GpuLinks& links,
                                  const std::optional<topology::Survey>& survey) {
  std::vector<Check> checks;
  for (const Line& line : kLines) checks.push_back(check_of(line, links, survey));
  return checks;
}

}  // namespace comm_probe::diagnose
