#include "diagnose/links.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/finding_table.h"
#include "core/units.h"

namespace comm_probe::diagnose {
namespace {

using core::Basis;
using core::Confidence;
using core::Figure;
using core::Finding;

void judge_quota(const topology::HostTopology& host, LinkJudgement& judgement) {
  const auto allowed = static_cast<double>(host.allowed.size());
  if (!host.quota || *host.quota >= allowed) return;
  Finding finding = core::make_finding(
      "link.cpu-quota", fmt::format("the cgroup grants {} CPUs' worth of time, {} CPUs are allowed",
                                    core::format_number(*host.quota), host.allowed.size()));
  finding.expected = Figure{allowed, "CPUs", Basis::kRead, "/proc/self/status"};
  finding.observed = Figure{*host.quota, "CPUs", Basis::kRead, "cgroup quota"};
  finding.confidence = Confidence::kCertain;
  finding.next = {fmt::format("start at most {} ranks here, or raise the quota",
                              std::max(1, static_cast<int>(*host.quota)))};
  judgement.findings.push_back(std::move(finding));
}

void judge_single_cpu(const topology::HostTopology& host, LinkJudgement& judgement) {
  if (host.allowed.size() != 1) return;
  Finding finding = core::make_finding(
      "link.one-cpu",
      fmt::format("only CPU {} may be used: ranks take turns on it", host.allowed.front()));
  finding.observed = Figure{1, "CPUs", Basis::kRead, "/proc/self/status"};
  finding.confidence = Confidence::kCertain;
  finding.next = {"taskset -p $$"};
  judgement.findings.push_back(std::move(finding));
}

void judge_width(const topology::PciDevice& device, LinkJudgement& judgement) {
  const auto& now = device.current.width;
  const auto& most = device.maximum.width;
  if (!now || !most || *now == 0 || *now >= *most) return;
  const char* kind = device.kind == topology::PciDevice::Kind::kGpu ? "GPU" : "NIC";
  Finding finding = core::make_finding(
      "link.pci-width", fmt::format("{} {} ({}:{}) runs on {} of its {} PCIe lanes", kind,
                                    device.address, device.vendor, device.device, *now, *most));
  const std::string folder = "/sys/bus/pci/devices/" + device.address;
  finding.expected =
      Figure{static_cast<double>(*most), "lanes", Basis::kRead, folder + "/max_link_width"};
  finding.observed =
      Figure{static_cast<double>(*now), "lanes", Basis::kRead, folder + "/current_link_width"};
  finding.evidence = {{folder + "/current_link_width", 1, std::to_string(*now)}};
  finding.confidence = Confidence::kCertain;
  finding.next = {"lspci -vv -s " + device.address};
  judgement.findings.push_back(std::move(finding));
}

// "31 %"; beyond ten times the median a number says no more than "over 1000 %".
std::string spread_text(double spread) {
  constexpr double kBeyond = 10;
  return spread > kBeyond ? "over 1000 %" : core::format_percent(spread, 2);
}

// "copy L2 (31 %)", "2 CPUs write (25 %)"
std::string describe(const measure::HostLink& link) {
  const std::string name = link.kind == measure::LinkKind::kMemory
                               ? link.name
                               : fmt::format("{}{}{}", measure::link_kind_name(link.kind),
                                             link.level.empty() ? "" : " ", link.level);
  return fmt::format("{} ({})", name, spread_text(link.seconds.spread()));
}

void judge_spread(const measure::HostLinks& links, LinkJudgement& judgement) {
  std::vector<const measure::HostLink*> noisy;
  for (const measure::HostLink& link : links.links)
    if (is_noisy(link.seconds)) noisy.push_back(&link);
  if (noisy.empty()) return;
  std::sort(noisy.begin(), noisy.end(),
            [](const auto* a, const auto* b) { return a->seconds.spread() > b->seconds.spread(); });
  constexpr std::size_t kNamed = 4;
  std::string names;
  for (std::size_t i = 0; i < noisy.size() && i < kNamed; ++i)
    names += (i == 0 ? "" : ", ") + describe(*noisy[i]);
  if (noisy.size() > kNamed) names += fmt::format(" and {} more", noisy.size() - kNamed);
  judgement.caveats.push_back(core::make_caveat(
      "link.noisy",
      fmt::format("quiet measurement of {} of {} links: {}", noisy.size(), links.links.size(),
                  names),
      fmt::format("medians are shown, marked ~; two of them differ only where they are further "
                  "apart than their spreads (load {}, other tasks took the CPU {} times)",
                  core::format_number(links.context.load), links.context.preemptions),
      false));
}

void judge_state(const measure::HostLinks& links, LinkJudgement& judgement) {
  const double before = links.context.alpha_before.in_ns();
  const double after = links.context.alpha_after.in_ns();
  if (before <= 0 || after <= 0) return;
  if (std::max(before, after) < kChangedRatio * std::min(before, after)) return;
  judgement.caveats.push_back(core::make_caveat(
      "link.state-changed",
      fmt::format("a steady machine: flag latency {} ns at the start, {} ns at the end",
                  core::format_number(before, 3), core::format_number(after, 3)),
      "figures taken early and late belong to two different states", false));
}

}  // namespace

bool is_noisy(const measure::Summary& seconds) { return seconds.spread() > kNoisySpread; }

LinkJudgement judge_host(const topology::HostTopology& host) {
  LinkJudgement judgement;
  judgement.caveats = host.caveats;
  judge_quota(host, judgement);
  judge_single_cpu(host, judgement);
  for (const topology::PciDevice& device : host.devices) judge_width(device, judgement);
  return judgement;
}

LinkJudgement judge_links(const measure::HostLinks& links) {
  LinkJudgement judgement;
  judgement.caveats = links.caveats;
  judge_state(links, judgement);
  judge_spread(links, judgement);
  return judgement;
}

}  // namespace comm_probe::diagnose
