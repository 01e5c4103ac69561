#include "measure/link/link.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>

#include "cli/gpu_links_view.h"
#include "cli/host_view.h"
#include "cli/interrupt.h"
#include "cli/rdma_links_view.h"
#include "cli/subcommands.h"
#include "core/finding_table.h"
#include "core/spelling.h"
#include "diagnose/gpu_links.h"
#include "diagnose/links.h"
#include "measure/link/gpu_links.h"
#include "topology/survey.h"
#include "topology/topology.h"

namespace comm_probe::cli {
namespace {

struct LinkOptions {
  std::string only = {};
  std::string peer = {};
  bool is_quick = false;
};

// Which kinds of links are measured.
struct Kinds {
  bool host = false;
  bool pcie = false;
  bool p2p = false;
  bool net = false;
  bool is_chosen = true;  // by the user; false: whatever the machine has
  bool gpus() const { return pcie || p2p; }
};

core::Result<bool> add_kind(const std::string& kind, Kinds& kinds) {
  bool* const known = kind == "host"   ? &kinds.host
                      : kind == "pcie" ? &kinds.pcie
                      : kind == "p2p"  ? &kinds.p2p
                      : kind == "net"  ? &kinds.net
                                       : nullptr;
  if (known != nullptr) return *known = true;
  constexpr std::array<std::string_view, 4> kKinds = {"host", "pcie", "p2p", "net"};
  const std::string near = core::nearest_word(kind, kKinds);
  return core::input_error(fmt::format("--only: '{}' is not one of host, pcie, p2p, net", kind),
                           near.empty() ? "" : "did you mean '" + near + "'?");
}

core::Result<Kinds> kinds_of(const LinkOptions& options, const topology::HostTopology& host) {
  if (!options.peer.empty())
    return core::missing_error(
        fmt::format("link --peer {}: this release measures links inside one machine only",
                    options.peer),
        fmt::format("mpirun -np 2 --host HERE,{} comm-probe bench send_recv --backend mpi measures "
                    "alpha and beta between two",
                    options.peer));
  Kinds kinds;
  if (options.only.empty()) {
    const bool has_gpu = measure::has_nvidia_gpu(host);
    return Kinds{.host = true, .pcie = has_gpu, .p2p = has_gpu, .is_chosen = false};
  }
  for (const std::string& kind : CLI::detail::split(options.only, ',')) {
    const auto known = add_kind(kind, kinds);
    if (!known) return known.error();
  }
  return kinds;
}

struct Measured {
  std::optional<measure::HostLinks> host = {};
  std::optional<measure::GpuLinks> gpus = {};
  std::optional<measure::verbs::RdmaLinks> net = {};
  std::optional<topology::Survey> survey = {};  // what the links of the GPUs are
  std::vector<core::Caveat> caveats = {};
};

core::Result<Measured> measure_kinds(const Kinds& kinds, const LinkOptions& options,
                                     const topology::HostTopology& host, const Shell& shell) {
  const auto progress = [&shell](const std::string& what) { shell.progress(what); };
  Measured measured;
  // GPUs first where they alone may be missing; they fork before CUDA is used.
  if (kinds.gpus()) {
    measure::GpuPlan plan{
        .is_quick = options.is_quick, .with_host = kinds.pcie, .with_peers = kinds.p2p};
    auto gpus = measure::measure_gpu_links(host, plan, progress);
    if (!gpus && kinds.is_chosen)
      return core::missing_error(
          fmt::format("link --only {}: {}", options.only, gpus.error().message), gpus.error().hint);
    if (!gpus)
      measured.caveats.push_back(core::make_caveat("link.gpu-part-unmeasured", "links of the GPUs",
                                                   gpus.error().one_line(), false));
    if (gpus) {
      measured.gpus = std::move(*gpus);
      if (auto survey = topology::survey_of(core::Host::real()))
        measured.survey = std::move(*survey);
    }
  }
  if (kinds.net) {
    auto net = measure::verbs::measure_rdma({.is_quick = options.is_quick},
                                            static_cast<int>(host.rdma_ports.size()));
    if (!net)
      return core::missing_error(fmt::format("link --only net: {}", net.error().message),
                                 net.error().hint);
    measured.net = std::move(*net);
  }
  if (!kinds.host) return measured;
  auto links = measure::measure_host_links(host, {.is_quick = options.is_quick}, progress);
  if (!links) return links.error();
  measured.host = std::move(*links);
  return measured;
}

void add_judgement(const diagnose::LinkJudgement& judgement, core::Document& document) {
  document.findings.insert(document.findings.end(), judgement.findings.begin(),
                           judgement.findings.end());
  document.caveats.insert(document.caveats.end(), judgement.caveats.begin(),
                          judgement.caveats.end());
}

void add_host(const measure::HostLinks& links, core::Document& document) {
  for (auto& item : links_json(links)) document.result["links"].push_back(std::move(item));
  document.result["context"] = context_json(links.context);
  add_judgement(diagnose::judge_links(links), document);
  document.body.emplace_back(
      core::Heading{"Links (one message of n bytes costs alpha + n / beta)"});
  document.body.emplace_back(links_table(links));
  document.body.emplace_back(core::Paragraph{context_line(links.context)});
}

void add_gpus(const Measured& measured, core::Document& document) {
  const measure::GpuLinks& gpus = *measured.gpus;
  for (auto& item : gpu_links_json(gpus, measured.survey))
    document.result["links"].push_back(std::move(item));
  document.result["gpus"] = gpus_json(gpus);
  add_judgement(diagnose::judge_gpu_links(gpus, measured.survey), document);
  for (auto& block : gpu_link_blocks(gpus, measured.survey))
    document.body.push_back(std::move(block));
  for (auto& block : gpu_link_details(gpus, measured.survey))
    document.details.push_back(std::move(block));
}

core::Document document_of(const topology::HostTopology& host, const Measured& measured) {
  core::Document document{.command = "link"};
  document.result = {{"host", host_json(host)}, {"links", core::Json::array()}};
  document.caveats = measured.caveats;
  add_judgement(diagnose::judge_host(host), document);
  document.body = {core::Heading{"This machine"}, host_summary(host)};
  if (measured.host) add_host(*measured.host, document);
  if (measured.gpus) add_gpus(measured, document);
  if (measured.net) {
    document.result["net"] = rdma_json(*measured.net);
    for (auto& block : rdma_blocks(*measured.net)) document.body.push_back(std::move(block));
  }
  document.body.emplace_back(core::Paragraph{"next: comm-probe run, or comm-probe explain alpha"});
  return document;
}

int link(const Shell& shell, const LinkOptions& options) {
  const topology::HostTopology host = topology::read_host(core::Host::real());
  const auto kinds = kinds_of(options, host);
  if (!kinds) return shell.fail(kinds.error());
  const InterruptNotice notice("link");
  const auto measured = measure_kinds(*kinds, options, host, shell);
  shell.end_progress();
  if (!measured) return shell.fail(measured.error());
  return shell.finish(document_of(host, *measured));
}

}  // namespace

void add_link(CLI::App& root, Shell& shell) {
  CLI::App* app = root.add_subcommand("link", "alpha and beta of every link that this machine has")
                      ->group("Measure");
  auto options = std::make_shared<LinkOptions>();
  app->add_option("--only", options->only,
                  "host (memory, shared memory, loopback tcp), pcie (host and GPU, launches), p2p "
                  "(inside GPUs and between them), net (RDMA write and read through this machine's "
                  "first device)  [host, and pcie,p2p where there is an NVIDIA GPU]")
      ->type_name("KIND,...");
  app->add_option("--peer", options->peer, "another machine (a later release)")->type_name("HOST");
  app->add_flag(
      "--quick", options->is_quick,
      "fewer samples: 2 s instead of 6 s on a quiet machine (each GPU 4 s instead of 9), up to "
      "three times that where all CPUs are busy");
  app->footer(
      "Example:\n"
      "  comm-probe link --only host\n"
      "    flag   alpha 32 ns      a word from one CPU to another through shared memory\n"
      "    copy   beta 12 GB/s L2  through shared memory, one way, by working set\n"
      "  comm-probe link --only pcie,p2p\n"
      "    host -> GPU 0  pinned  alpha 7.4 us  rate 55.4 GB/s  carries 56.4 GB/s  98 %");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, options] { shell.run([&shell, options] { return link(shell, *options); }); });
}

}  // namespace comm_probe::cli
