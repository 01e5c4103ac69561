#include "measure/link/link.h"

#include <fmt/format.h>

#include <array>
#include <memory>

#include "cli/host_view.h"
#include "cli/interrupt.h"
#include "cli/subcommands.h"
#include "core/spelling.h"
#include "diagnose/links.h"
#include "topology/topology.h"

namespace comm_probe::cli {
namespace {

struct LinkOptions {
  std::string only = "host";
  std::string peer = {};
  bool is_quick = false;
};

// Links of other kinds belong to later releases: what would be needed, said plainly.
core::Result<bool> check_kind(const std::string& kind, const topology::HostTopology& host) {
  if (kind == "host") return true;
  if (kind == "pcie" || kind == "p2p")
    return core::missing_error(
        fmt::format("link --only {}: {}, and this release measures no GPU links", kind,
                    host.gpus() == 0 ? "this machine has no GPU"
                                     : fmt::format("this machine has {} GPU(s)", host.gpus())),
        "measure it with nvbandwidth meanwhile; `link --only host` works here");
  if (kind == "net")
    return core::missing_error(
        fmt::format("link --only net: this machine has {} NIC(s) and {} RDMA port(s), and this "
                    "release measures no network links",
                    host.nics(), host.rdma_ports.size()),
        "measure it with ib_write_bw or iperf3 meanwhile; loopback tcp is part of --only host");
  constexpr std::array<std::string_view, 4> kKinds = {"host", "pcie", "p2p", "net"};
  const std::string near = core::nearest_word(kind, kKinds);
  return core::input_error(fmt::format("--only: '{}' is not one of host, pcie, p2p, net", kind),
                           near.empty() ? "" : "did you mean '" + near + "'?");
}

core::Result<bool> check_request(const LinkOptions& options, const topology::HostTopology& host) {
  for (const std::string& kind : CLI::detail::split(options.only, ',')) {
    const auto known = check_kind(kind, host);
    if (!known) return known;
  }
  if (!options.peer.empty())
    return core::missing_error(
        fmt::format("link --peer {}: this release measures links inside one machine only",
                    options.peer),
        "measure it with ib_write_bw or iperf3 meanwhile");
  return true;
}

core::Document document_of(const topology::HostTopology& host, const measure::HostLinks& links) {
  core::Document document{.command = "link"};
  document.result = {{"host", host_json(host)},
                     {"links", links_json(links)},
                     {"context", context_json(links.context)}};
  for (const auto& judgement : {diagnose::judge_host(host), diagnose::judge_links(links)}) {
    document.findings.insert(document.findings.end(), judgement.findings.begin(),
                             judgement.findings.end());
    document.caveats.insert(document.caveats.end(), judgement.caveats.begin(),
                            judgement.caveats.end());
  }
  document.body = {core::Heading{"This machine"},
                   host_summary(host),
                   core::Heading{"Links (one message of n bytes costs alpha + n / beta)"},
                   links_table(links),
                   core::Paragraph{context_line(links.context)},
                   core::Paragraph{"next: comm-probe run, or comm-probe explain alpha"}};
  return document;
}

int link(const Shell& shell, const LinkOptions& options) {
  const topology::HostTopology host = topology::read_host(core::Host::real());
  const auto possible = check_request(options, host);
  if (!possible) return shell.fail(possible.error());
  const InterruptNotice notice("link");
  const auto links =
      measure::measure_host_links(host, {.is_quick = options.is_quick},
                                  [&shell](const std::string& what) { shell.progress(what); });
  shell.end_progress();
  if (!links) return shell.fail(links.error());
  return shell.finish(document_of(host, *links));
}

}  // namespace

void add_link(CLI::App& root, Shell& shell) {
  CLI::App* app = root.add_subcommand("link", "alpha and beta of every link that this machine has")
                      ->group("Measure");
  auto options = std::make_shared<LinkOptions>();
  app->add_option("--only", options->only,
                  "host (memory, shared memory, loopback tcp); pcie, p2p "
                  "and net come with a later release")
      ->type_name("KIND,...")
      ->capture_default_str();
  app->add_option("--peer", options->peer, "another machine (a later release)")->type_name("HOST");
  app->add_flag(
      "--quick", options->is_quick,
      "fewer samples: 2 s instead of 6 s on a quiet machine, up to three times that where "
      "all CPUs are busy");
  app->footer(
      "Example:\n"
      "  comm-probe link --only host\n"
      "    flag   alpha 32 ns      a word from one CPU to another through shared memory\n"
      "    copy   beta 12 GB/s L2  through shared memory, one way, by working set");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, options] { shell.run([&shell, options] { return link(shell, *options); }); });
}

}  // namespace comm_probe::cli
