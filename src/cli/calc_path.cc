// `calc path`: TCP, RDMA and RDMA with GPUDirect between one GPU and one NIC.
#include <fmt/format.h>

#include <cmath>

#include "catalog/catalog.h"
#include "cli/calc.h"
#include "cli/calc_path_rdma.h"
#include "cli/catalog_option.h"
#include "cli/nic_choice.h"
#include "core/units.h"
#include "model/rdma_paths.h"

namespace comm_probe::cli {
namespace {

using core::Document;
using core::format_bandwidth;
using core::format_number;
using core::format_percent;
using core::Json;
using core::json_number;
using model::PathLedger;
using model::PathMachine;
using Align = core::Column::Align;

struct PathFlags {
  CatalogOption catalog = {};
  std::string gpu = {};
  std::string nic = {};
  std::optional<int> pcie = {};
  core::Bytes mps = core::Bytes::of(256);
  core::Bytes mtu = core::Bytes::of(4096);
  core::Bandwidth host_memory = {};
  CLI::Option* host_memory_option = nullptr;
  int pairs = 8;
  int pairs_per_uplink = 1;
  bool both_ways = false;
  int cores = 64;
  core::Bandwidth per_core = core::Bandwidth::from_Gbps(15);
  QueuePairFlags queue_pair = {};
};

// Rates by which a core drives TCP, for "15 to 40 cores"; 400 Gb/s / 26.7 and / 10 (golden G3-06).
const core::Bandwidth kFastCore = core::Bandwidth::from_Gbps(400.0 / 15);
const core::Bandwidth kSlowCore = core::Bandwidth::from_Gbps(10);

struct Subject {
  std::string gpu = {};
  NicChoice nic = {};
  PathMachine machine = {};
};

core::Result<Subject> subject_of(PathFlags& flags) {
  const auto catalog = flags.catalog.load();
  if (!catalog) return catalog.error();
  const auto gpu = (*catalog)->gpu(flags.gpu);
  if (!gpu) return gpu.error();
  const auto nic = choose_nic(**catalog, flags.nic);
  if (!nic) return nic.error();
  const auto links = path_machine(**gpu, *nic, flags.pcie);
  if (!links) return links.error();
  PathMachine machine = *links;
  machine.mtu = flags.mtu;
  machine.max_payload = flags.mps;
  if (flags.host_memory_option->count() > 0)
    machine.host_memory = {flags.host_memory, core::Basis::kAssumed, "given on the command line"};
  machine.pairs = flags.pairs;
  machine.pairs_per_uplink = flags.pairs_per_uplink;
  machine.directions = flags.both_ways ? 2 : 1;
  machine.cores = flags.cores;
  machine.per_core = flags.per_core;
  return Subject{(*gpu)->name, *nic, machine};
}

Json path_json(const PathLedger& ledger, const PathMachine& machine) {
  const model::PathCounts& counts = ledger.counts;
  Json json = {
      {"path", data_path_name(counts.path)},
      {"copies", counts.copies},
      {"host_memory_accesses_per_byte", counts.memory_accesses},
      {"pcie_crossings",
       {{"gpu", counts.gpu_crossings},
        {"uplink", counts.uplink_crossings},
        {"nic", counts.nic_crossings}}},
      {"ceiling_nominal_GBps", json_number(ledger.nominal.in_GBps())},
      {"ceiling_GBps", json_number(ledger.effective().in_GBps())},
      {"limited_by", ledger.limit().name},
      {"total_GBps", json_number(ledger.effective().in_GBps() * machine.pairs)},
      {"nic_share_wasted", json_number(model::wasted_share(ledger.effective(), machine.nic))},
      {"host_memory_traffic_GBps", json_number(ledger.memory_traffic.in_GBps())},
      {"cores_needed", json_number(ledger.cores_needed)},
      {"latency_us",
       {json_number(ledger.latency.low.in_us()), json_number(ledger.latency.high.in_us())}},
      {"steps", counts.steps},
      {"basis", "computed"}};
  json["ceilings"] = Json::array();
  for (const model::Ceiling& ceiling : ledger.ceilings)
    json["ceilings"].push_back(
        {{"name", ceiling.name}, {"GBps", json_number(ceiling.rate.in_GBps())}});
  return json;
}

Json subject_json(const Subject& subject) {
  const PathMachine& machine = subject.machine;
  const core::Bandwidth per_nic = machine.nic;
  return {{"gpu", subject.gpu},
          {"nic_GBps", json_number(machine.nic.in_GBps())},
          {"nic_source", subject.nic.source},
          {"pcie_gpu", machine.gpu_link.name()},
          {"pcie_nic", machine.nic_link.name()},
          {"max_payload_bytes", core::json_bytes(machine.max_payload)},
          {"mtu_bytes", core::json_bytes(machine.mtu)},
          {"pairs", machine.pairs},
          {"pairs_per_uplink", machine.pairs_per_uplink},
          {"direction", machine.directions == 1 ? "one way" : "both ways"},
          {"nic_over_pcie", json_number(machine.nic / machine.nic_link.nominal().value)},
          {"host_memory",
           {{"value", json_number(machine.host_memory.value.in_GBps())},
            {"unit", "GB/s"},
            {"basis", basis_name(machine.host_memory.basis)},
            {"source", machine.host_memory.source}}},
          {"per_core_Gbps", json_number(machine.per_core.in_Gbps())},
          {"cores", machine.cores},
          {"tcp_cores_per_nic",
           {json_number(model::cores_to_fill(per_nic, kFastCore)),
            json_number(model::cores_to_fill(per_nic, kSlowCore))}}};
}

// What is done to every byte on one end.
core::Table counts_table(const std::vector<PathLedger>& ledgers) {
  core::Table table{{{"path", Align::kLeft},
                     {"copies"},
                     {"memory accesses"},
                     {"PCIe crossings"},
                     {"which", Align::kLeft}},
                    {}};
  for (const PathLedger& ledger : ledgers) {
    const model::PathCounts& counts = ledger.counts;
    table.rows.push_back(
        {data_path_name(counts.path), std::to_string(counts.copies),
         std::to_string(counts.memory_accesses),
         std::to_string(counts.gpu_crossings + counts.uplink_crossings + counts.nic_crossings),
         fmt::format("GPU link {}, uplink to the CPU {}, NIC link {}", counts.gpu_crossings,
                     counts.uplink_crossings, counts.nic_crossings)});
  }
  return table;
}

core::Table paths_table(const std::vector<PathLedger>& ledgers) {
  core::Table table{{{"path", Align::kLeft},
                     {"nominal"},
                     {"really at most"},
                     {"limited by", Align::kLeft},
                     {"latency"},
                     {"cores at line rate"}},
                    {}};
  for (const PathLedger& ledger : ledgers)
    table.rows.push_back({data_path_name(ledger.counts.path), format_bandwidth(ledger.nominal),
                          format_bandwidth(ledger.effective()), ledger.limit().name,
                          fmt::format("{}-{} us", format_number(ledger.latency.low.in_us()),
                                      format_number(ledger.latency.high.in_us())),
                          format_number(std::ceil(ledger.cores_needed))});
  return table;
}

core::Table ceilings_table(const std::vector<PathLedger>& ledgers) {
  core::Table table{{{"path", Align::kLeft}, {"ceiling", Align::kLeft}, {"one pair"}}, {}};
  for (const PathLedger& ledger : ledgers)
    for (const model::Ceiling& ceiling : ledger.ceilings)
      table.rows.push_back(
          {data_path_name(ledger.counts.path), ceiling.name, format_bandwidth(ceiling.rate)});
  return table;
}

core::KeyValues inputs(const Subject& subject, const std::vector<PathLedger>& ledgers) {
  const PathMachine& machine = subject.machine;
  core::KeyValues pairs;
  pairs.rows = {
      {"NIC", fmt::format("{} ({}), {} of its PCIe link {}", format_bandwidth(machine.nic),
                          subject.nic.source,
                          format_percent(machine.nic / machine.nic_link.nominal().value),
                          machine.nic_link.name())},
      {"pairs", fmt::format("{} GPU-NIC pairs at work, {} behind one uplink, {}", machine.pairs,
                            machine.pairs_per_uplink,
                            machine.directions == 1 ? "one way" : "both ways at once")},
      {"host memory",
       fmt::format("{} ({}), {} of it usable", format_bandwidth(machine.host_memory.value),
                   machine.host_memory.source, format_percent(machine.usable_memory))},
      {"memory traffic", fmt::format("at line rate: tcp {}, rdma {}, rdma-gdr 0",
                                     format_bandwidth(ledgers[0].memory_traffic),
                                     format_bandwidth(ledgers[1].memory_traffic))},
      {"tcp cores",
       fmt::format("{} to {} fill one NIC (at 26.7 to 10 Gb/s per core)",
                   format_number(std::ceil(model::cores_to_fill(machine.nic, kFastCore) - 1e-9)),
                   format_number(std::ceil(model::cores_to_fill(machine.nic, kSlowCore) - 1e-9)))}};
  return pairs;
}

std::string sentence(const Subject& subject, const PathLedger& direct) {
  std::string text =
      fmt::format("{} with a NIC of {}: at most {} per GPU with GPUDirect RDMA, limited by the {}",
                  subject.gpu, format_bandwidth(subject.machine.nic),
                  format_bandwidth(direct.effective()), direct.limit().name);
  if (direct.nominal < subject.machine.nic)
    text +=
        fmt::format("; {} of the NIC cannot be used",
                    format_percent(model::wasted_share(direct.effective(), subject.machine.nic)));
  return text;
}

int calc_path(const Shell& shell, PathFlags& flags) {
  const auto subject = subject_of(flags);
  if (!subject) return shell.fail(subject.error());
  std::vector<PathLedger> ledgers;
  for (const model::PathCounts& counts : model::path_counts()) {
    auto ledger = model::price_path(counts.path, subject->machine);
    if (!ledger) return shell.fail(ledger.error());
    ledgers.push_back(std::move(ledger).value());
  }
  Document document{.command = "calc"};
  if (const auto input = flags.catalog.input()) document.inputs = {*input};
  document.result = subject_json(*subject);
  document.result["paths"] = Json::array();
  // The three paths of the contract; GPUDirect RDMA past the switch stands beside them.
  for (const PathLedger& ledger : ledgers) {
    Json json = path_json(ledger, subject->machine);
    if (ledger.counts.path == model::DataPath::kRdmaAcross)
      document.result["gdr_through_cpu"] = std::move(json);
    else
      document.result["paths"].push_back(std::move(json));
  }
  const auto queue_pair = queue_pair_timers(flags.queue_pair);
  if (!queue_pair) return shell.fail(queue_pair.error());
  document.result["rdma"] = rdma_json(*queue_pair);
  document.verdict = sentence(*subject, ledgers[2]);
  document.body = {paths_table(ledgers), core::Heading{"Per byte, on one end"},
                   counts_table(ledgers), core::Heading{"Inputs"}, inputs(*subject, ledgers)};
  document.body.insert(
      document.body.begin() + 1,
      core::Paragraph{"rdma-gdr-cpu is a ceiling: many CPUs pass half of it or less between PCIe "
                      "devices (an A30 across sockets got 11 GB/s); measure it."});
  document.body.emplace_back(core::Heading{"A peer that stops answering"});
  document.body.emplace_back(timers_table(*queue_pair));
  document.details = {core::Heading{"Every ceiling"}, ceilings_table(ledgers)};
  for (core::Block& block : rdma_blocks()) document.details.push_back(std::move(block));
  return shell.finish(document);
}

void add_machine_flags(CLI::App& app, PathFlags& flags) {
  add_bytes(app, "--mps", flags.mps, "largest PCIe payload (MaxPayload of lspci -vv)")
      ->default_str("256");
  add_bytes(app, "--mtu", flags.mtu, "MTU of the network packets")->default_str("4096");
  flags.host_memory_option =
      add_bandwidth(app, "--host-memory", flags.host_memory,
                    "bandwidth of all host memory (default: assumed from the generation)");
  app.add_option("--pairs", flags.pairs, "GPU-NIC pairs at work on one host")
      ->capture_default_str();
  app.add_option("--pairs-per-uplink", flags.pairs_per_uplink,
                 "pairs that share one PCIe switch uplink")
      ->capture_default_str();
  app.add_flag("--both-ways", flags.both_ways, "sending and receiving at the same time");
  app.add_option("--cores", flags.cores, "CPU cores of the host")->capture_default_str();
  add_bandwidth(app, "--per-core", flags.per_core, "TCP that one core can drive")
      ->default_str("15Gb/s");
  app.add_option("--ib-timeout", flags.queue_pair.timeout,
                 "NCCL_IB_TIMEOUT (default: that of each NCCL release)")
      ->type_name("T");
  app.add_option("--ib-retry", flags.queue_pair.retries,
                 "NCCL_IB_RETRY_CNT (default: 7, as every NCCL release has it)")
      ->type_name("N");
}

}  // namespace

void add_calc_path(CLI::App& calc, Shell& shell) {
  CLI::App* app =
      calc.add_subcommand("path", "TCP, RDMA, RDMA with GPUDirect: what each can reach");
  auto flags = std::make_shared<PathFlags>();
  app->add_option("--gpu", flags->gpu, "GPU of the catalog: A100, H100, B200")
      ->required()
      ->type_name("GPU");
  app->add_option("--nic", flags->nic, "port rate (HDR, NDR, XDR, 400GbE), NIC, or bandwidth")
      ->required()
      ->type_name("NIC");
  app->add_option("--pcie", flags->pcie, "PCIe generation of every link (default: the GPU's)")
      ->type_name("GEN");
  add_machine_flags(*app, *flags);
  flags->catalog.add_to(*app);
  app->footer("Example:\n  comm-probe calc path --gpu A100 --nic NDR --pcie 4");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, flags] { shell.run([&shell, flags] { return calc_path(shell, *flags); }); });
}

}  // namespace comm_probe::cli
