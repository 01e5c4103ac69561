// `machines`: the hardware catalog, one entry of it, or the topology of a machine in NCCL's schema.
#include <fmt/format.h>

#include "catalog/topology_xml.h"
#include "cli/catalog_option.h"
#include "cli/hardware_view.h"
#include "cli/model_shapes_view.h"
#include "cli/subcommands.h"
#include "core/json.h"
#include "core/spelling.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using catalog::Catalog;
using core::Document;

struct MachinesRequest {
  std::string name = {};
  bool topology = false;
  int trays = 1;
  bool gpus = false;
  bool nics = false;
  bool links = false;
  bool models = false;
  CatalogOption catalog = {};
};

Document list_all(const Catalog& catalog, const MachinesRequest& request) {
  Document document{.command = "machines"};
  document.result = catalog_json(catalog);
  if (request.gpus) document.body.emplace_back(gpu_table(catalog));
  if (request.nics) document.body.emplace_back(nic_table(catalog));
  if (request.models) document.body.emplace_back(model_table(catalog));
  if (request.links)
    for (core::Block& block : link_tables()) document.body.push_back(std::move(block));
  if (document.body.empty()) {
    document.body.emplace_back(machine_table(catalog));
    document.body.emplace_back(core::Preformatted{"\n"});
    document.body.emplace_back(core::Paragraph{
        "in: one GPU to its neighbours; out: all NICs; both one direction. `comm-probe machines "
        "NAME` shows one with sources; --gpus, --nics, --links and --models list the rest."});
  }
  return document;
}

core::Error unknown_name(const Catalog& catalog, const std::string& name) {
  std::vector<std::string_view> words;
  const auto collect = [&words](const auto& entries) {
    for (const auto& entry : entries) {
      words.push_back(entry.name);
      words.insert(words.end(), entry.aliases.begin(), entry.aliases.end());
    }
  };
  collect(catalog.machines());
  collect(catalog.gpus());
  collect(catalog.nics());
  collect(catalog.models());
  const std::string near = core::nearest_word(name, words);
  return core::input_error(
      fmt::format("the catalog knows no machine, GPU, NIC or model '{}'", name),
      near.empty() ? "`comm-probe machines` lists what it knows" : "did you mean '" + near + "'?");
}

core::Result<Document> topology_document(const Catalog& catalog, const MachinesRequest& request) {
  const auto machine = catalog.machine(request.name);
  if (!machine) return machine.error();
  auto xml = catalog::topology_xml(**machine, request.trays);
  if (!xml) return xml.error();
  Document document{.command = "machines"};
  document.result = {{"name", (*machine)->name}, {"topology_xml", *xml}};
  document.body.emplace_back(core::Preformatted{*std::move(xml)});
  return document;
}

// A port rate: "NDR", "400GbE".
Document show_rate(const catalog::NetworkRate& rate) {
  Document document{.command = "machines"};
  const auto sourced = rate.sourced();
  document.result = {{"name", rate.name},
                     {"one_way_GBps", core::json_number(rate.data.in_GBps())},
                     {"rate_text", rate.rate_text},
                     {"basis", basis_name(sourced.basis)},
                     {"source", rate.source}};
  document.verdict =
      fmt::format("{}: a port rate of {} one way", rate.name, core::format_bandwidth(rate.data));
  core::KeyValues facts{{{"source", std::string(rate.source)}}};
  if (!rate.rate_text.empty())
    facts.rows.insert(facts.rows.begin(), {"sysfs prints", std::string(rate.rate_text)});
  document.body = {facts};
  return document;
}

core::Result<Document> answer(MachinesRequest& request) {
  const auto loaded = request.catalog.load();
  if (!loaded) return loaded.error();
  const Catalog& catalog = **loaded;
  if (request.topology && request.name.empty())
    return core::input_error("--topo needs the NAME of a machine",
                             "like `comm-probe machines dgx-h100 --topo`");
  if (request.topology) return topology_document(catalog, request);
  if (request.name.empty()) return list_all(catalog, request);
  if (const auto* machine = catalog.find_machine(request.name)) return show_machine(*machine);
  if (const auto* gpu = catalog.find_gpu(request.name)) return show_gpu(*gpu);
  if (const auto* nic = catalog.find_nic(request.name)) return show_nic(*nic);
  if (const auto* model = catalog.find_model(request.name)) return show_model(*model);
  if (const auto* rate = catalog::find_network_rate(request.name)) return show_rate(*rate);
  return unknown_name(catalog, request.name);
}

int machines(const Shell& shell, MachinesRequest& request) {
  auto document = answer(request);
  if (!document) return shell.fail(document.error());
  if (auto input = request.catalog.input()) document->inputs.push_back(*std::move(input));
  return shell.finish(*document);
}

}  // namespace

void add_machines(CLI::App& root, Shell& shell) {
  CLI::App* app =
      root.add_subcommand("machines", "the hardware catalog: machines, GPUs, NICs, with sources")
          ->group("Calculate");
  auto request = std::make_shared<MachinesRequest>();
  app->add_option(
      "NAME", request->name,
      "a machine, GPU, NIC or model, or a device name as a log prints it; without it: the list");
  app->add_flag(
      "--topo", request->topology,
      "write the machine's topology in NCCL's XML schema (for NCCL_TOPO_FILE, nccl plan)");
  app->add_option("--trays", request->trays,
                  "hosts of one NVLink domain in that file (GB200 NVL72: up to 18)")
      ->type_name("N")
      ->capture_default_str();
  app->add_flag("--gpus", request->gpus, "list the GPUs");
  app->add_flag("--nics", request->nics, "list the NICs");
  app->add_flag("--links", request->links, "list PCIe, NVLink, network and socket links");
  app->add_flag("--models", request->models, "list the language models");
  request->catalog.add_to(*app);
  app->footer(
      "Example:\n  comm-probe machines dgx-h100\n  comm-probe machines dgx-h100 --topo --output "
      "dgx-h100.xml");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, request] { shell.run([&shell, request] { return machines(shell, *request); }); });
}

}  // namespace comm_probe::cli
