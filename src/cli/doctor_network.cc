#include "cli/doctor_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "cli/net_source.h"
#include "core/input.h"
#include "diagnose/host_state.h"
#include "diagnose/net_state.h"

namespace comm_probe::cli {
namespace {

using topology::NetSnapshot;
namespace fs = std::filesystem;

// A long file that holds none of these words is not looked at further.
bool may_hold_counters(std::string_view head) {
  constexpr std::array<std::string_view, 5> kWords = {"NIC statistics:", "ounters: Lid", "/ports/",
                                                      "_requests ", "_requests\""};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return head.find(word) != head.npos; });
}

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// The longest of the hosts that stands in the path as a whole word.
std::string host_in(const std::string& path, const std::vector<std::string>& hosts) {
  std::string best;
  for (const std::string& host : hosts)
    for (std::size_t at = path.find(host); host.size() > 1 && at != std::string::npos;
         at = path.find(host, at + 1)) {
      const std::size_t end = at + host.size();
      if ((at == 0 || !is_word_char(path[at - 1])) &&
          (end == path.size() || !is_word_char(path[end])) && host.size() > best.size())
        best = host;
    }
  return best;
}

}  // namespace

PileCounters read_pile_counters(const std::vector<std::string>& paths) {
  PileCounters counters;
  std::vector<std::string> files;
  for (const std::string& path : paths)
    if (path != "-")
      if (const auto below = core::expand_paths({path}))
        files.insert(files.end(), below->begin(), below->end());
  for (const std::string& file : files) {
    auto input = core::Input::open(file);
    if (!input || !may_hold_counters(input->head()) ||
        !topology::looks_like_net_counters(input->head()))
      continue;
    auto reading = topology::read_net_counters(*input);
    if (!reading) continue;
    counters.files.push_back(file);
    for (NetSnapshot& snapshot : reading->snapshots)
      counters.snapshots.push_back(std::move(snapshot));
    for (core::Caveat& caveat : reading->caveats) counters.caveats.push_back(std::move(caveat));
  }
  return counters;
}

NetworkJudgement judge_pile_counters(PileCounters counters,
                                     const std::vector<diagnose::JobMachine>& machines,
                                     const std::vector<std::string>& hosts) {
  NetworkJudgement judgement;
  if (counters.snapshots.empty()) return judgement;
  judgement.said.caveats = std::move(counters.caveats);
  for (NetSnapshot& snapshot : counters.snapshots)
    for (topology::PortCounters& port : snapshot.ports) {
      if (port.host.empty()) port.host = host_in(snapshot.source, hosts);
    }
  std::vector<topology::RdmaPortFacts> known;
  for (const diagnose::JobMachine& machine : machines)
    for (const topology::RdmaPortFacts& port : machine.survey.facts.rdma_ports)
      known.push_back(port);
  const topology::NetEnds ends = topology::ends_of(std::move(counters.snapshots));
  diagnose::NetJudgement net;
  if (ends.first.ports.empty()) {
    net.caveats = diagnose::judge_network(ends.last).caveats;
  } else {
    const topology::NetChange change = topology::change_between(ends.first, ends.last, known);
    judgement.watched_ports = change.ports.size();
    net = diagnose::judge_network(change);
  }
  for (core::Caveat& caveat : net.caveats) caveat.limits = false;  // the rest of the pile stands
  judgement.said.add({std::move(net.findings), std::move(net.caveats)});
  return judgement;
}

std::vector<core::Finding> judge_pile_hosts(const std::vector<std::string>& paths) {
  std::vector<core::Finding> findings;
  for (const std::string& path : paths) {
    const auto below = path == "-" ? core::Result<std::vector<std::string>>(core::input_error(""))
                                   : core::expand_paths({path});
    for (const std::string& file : below ? *below : std::vector<std::string>{}) {
      const auto host = recorded_host(file);
      if (!host) continue;
      for (core::Finding& finding :
           diagnose::judge_host_state(topology::read_host_state(*host)).findings) {
        if (finding.severity == core::Severity::kInfo) continue;
        const fs::path place(file);
        const std::string name = place.filename() == "machine.tar"
                                     ? place.parent_path().filename().string()
                                     : place.filename().string();
        finding.summary = name + ": " + finding.summary;
        findings.push_back(std::move(finding));
      }
    }
  }
  return findings;
}

}  // namespace comm_probe::cli
