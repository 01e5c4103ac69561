#include "cli/hardware_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/model_shapes_view.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using catalog::Branch;
using catalog::Gpu;
using catalog::Machine;
using catalog::Nic;
using core::Document;
using core::Json;
using core::KeyValues;

const char* branch_kind(Branch::Kind kind) {
  switch (kind) {
    case Branch::Kind::kRootPorts:
      return "root-ports";
    case Branch::Kind::kSwitch:
      return "switch";
    case Branch::Kind::kSwitchTwoLevel:
      return "two-level-switch";
  }
  return "";
}

Json numbers_json(const HardwareNumbers& numbers) {
  Json json = Json::array();
  for (const HardwareNumber& number : numbers) {
    Json entry = {{"name", number.key}};
    entry.update(to_json(number.figure));
    json.push_back(std::move(entry));
  }
  return json;
}

Json branches_json(const Machine& machine) {
  Json json = Json::array();
  for (const Branch& branch : machine.branches)
    json.push_back({{"numa", branch.numa},
                    {"kind", branch_kind(branch.kind)},
                    {"gpus", branch.gpus},
                    {"nets", branch.nets}});
  return json;
}

// What is behind one root port, so that a reader sees which NIC is near which GPU.
std::string branch_text(const Branch& branch, const Nic& nic) {
  std::vector<std::string> devices;
  for (const int gpu : branch.gpus) devices.push_back(fmt::format("GPU{}", gpu));
  for (const int net : branch.nets) devices.push_back(fmt::format("{}{}", nic.device_name, net));
  std::string text = fmt::format("{}: {}", branch_kind(branch.kind), fmt::join(devices, " "));
  if (branch.uplink) text += fmt::format(" (uplink {})", branch.uplink->name());
  return text;
}

std::string links_text(const Machine& machine) {
  if (!machine.switch_links.empty())
    return fmt::format("NVSwitch, {} links of every GPU", fmt::join(machine.switch_links, " + "));
  if (machine.gpu_pairs.empty()) return machine.gpus > 1 ? "PCIe only" : "one GPU";
  return fmt::format("{} of {}, {} pairs with direct links", fabric_name(machine.fabric),
                     machine.gpu.links->name, machine.gpu_pairs.size());
}

std::string nics_text(const Machine& machine) {
  if (machine.nics == 0) return "none";
  std::string text = fmt::format("{} x {}", machine.nics, machine.nic.name);
  if (machine.nets() != machine.nics) text += fmt::format(", {} nets for NCCL", machine.nets());
  return text;
}

KeyValues number_rows(const HardwareNumbers& numbers) {
  KeyValues rows;
  for (const HardwareNumber& number : numbers)
    rows.rows.emplace_back(number.label,
                           fmt::format("{} ({})", number.shown, number.figure.source));
  return rows;
}

// What every kind of entry has.
template <class Entry>
Json part_json(const Entry& entry) {
  Json json = {{"name", entry.name}, {"aliases", entry.aliases}, {"source", entry.source}};
  if (!entry.note.empty()) json["note"] = entry.note;
  json["numbers"] = numbers_json(numbers_of(entry));
  return json;
}

Json gpu_json(const Gpu& gpu) {
  Json json = part_json(gpu);
  json["printed"] = gpu.printed;
  json["sm"] = gpu.sm > 0 ? Json(gpu.sm) : Json(nullptr);
  json["links"] =
      gpu.links ? Json({{"name", gpu.links->name}, {"count", gpu.links->links}}) : Json(nullptr);
  json["pcie"] = gpu.pcie ? Json(gpu.pcie->name()) : Json(nullptr);
  return json;
}

Json nic_json(const Nic& nic) {
  Json json = part_json(nic);
  json["ports"] = nic.ports;
  json["pcie"] = nic.pcie.name();
  json["rdma"] = nic.can_rdma;
  return json;
}

Json machine_json(const Machine& machine) {
  Json json = part_json(machine);
  json["description"] = machine.description;
  json["gpu"] = gpu_json(machine.gpu);
  json["gpus"] = machine.gpus;
  json["fabric"] = fabric_name(machine.fabric);
  json["scale_up_gpus"] = machine.scale_up_gpus;
  json["cpu"] = machine.cpu.name;
  json["sockets"] = machine.sockets;
  json["nic"] = machine.nics > 0 ? nic_json(machine.nic) : Json(nullptr);
  json["nics"] = machine.nics;
  json["nets"] = machine.nets();
  json["branches"] = branches_json(machine);
  return json;
}

template <class Entry>
void append_source(KeyValues& facts, const Entry& entry) {
  if (!entry.note.empty()) facts.rows.emplace_back("note", entry.note);
  facts.rows.emplace_back("source", entry.source);
}

std::string list_or_dash(const std::vector<std::string>& words) {
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

Document show_machine(const Machine& machine) {
  Document document{.command = "machines"};
  document.result = machine_json(machine);
  document.verdict = fmt::format("{}: {}", machine.name, machine.description);
  KeyValues facts{{{"also called", list_or_dash(machine.aliases)},
                   {"GPUs", fmt::format("{} x {}", machine.gpus, machine.gpu.name)},
                   {"between GPUs", links_text(machine)},
                   {"NICs", nics_text(machine)},
                   {"CPU", fmt::format("{} x {}", machine.sockets, machine.cpu.name)}}};
  append_source(facts, machine);
  if (machine.scale_up_gpus != machine.gpus)
    facts.rows.insert(
        facts.rows.begin() + 3,
        {"NVLink domain", fmt::format("{} GPUs over all trays", machine.scale_up_gpus)});
  KeyValues branches;
  for (const Branch& branch : machine.branches)
    branches.rows.emplace_back(fmt::format("NUMA {}", branch.numa),
                               branch_text(branch, machine.nic));
  document.body = {facts, core::Heading{"The machine, and who says so"},
                   number_rows(numbers_of(machine)), core::Heading{"Each GPU: " + machine.gpu.name},
                   number_rows(numbers_of(machine.gpu))};
  if (machine.nics > 0) {
    document.body.emplace_back(core::Heading{"Each NIC: " + machine.nic.name});
    document.body.emplace_back(number_rows(numbers_of(machine.nic)));
  }
  document.body.emplace_back(core::Heading{"Layout"});
  document.body.emplace_back(branches);
  return document;
}

Document show_gpu(const Gpu& gpu) {
  Document document{.command = "machines"};
  document.result = gpu_json(gpu);
  document.verdict = fmt::format("GPU {}", gpu.name);
  KeyValues facts{
      {{"also called", list_or_dash(gpu.aliases)},
       {"printed as", list_or_dash(gpu.printed)},
       {"compute capability", gpu.sm > 0 ? fmt::format("{}.{}", gpu.sm / 10, gpu.sm % 10) : "-"}}};
  append_source(facts, gpu);
  document.body = {facts, core::Heading{"Numbers and who says them"}, number_rows(numbers_of(gpu))};
  return document;
}

Document show_nic(const Nic& nic) {
  Document document{.command = "machines"};
  document.result = nic_json(nic);
  document.verdict = fmt::format("NIC {}", nic.name);
  KeyValues facts{{{"also called", list_or_dash(nic.aliases)},
                   {"ports", std::to_string(nic.ports)},
                   {"RDMA", nic.can_rdma ? "yes" : "no"}}};
  append_source(facts, nic);
  document.body = {facts, core::Heading{"Numbers and who says them"}, number_rows(numbers_of(nic))};
  return document;
}

Json catalog_json(const catalog::Catalog& catalog) {
  Json machines = Json::array(), gpus = Json::array(), nics = Json::array();
  for (const Machine& machine : catalog.machines()) machines.push_back(machine_json(machine));
  for (const Gpu& gpu : catalog.gpus()) gpus.push_back(gpu_json(gpu));
  for (const Nic& nic : catalog.nics()) nics.push_back(nic_json(nic));
  Json models = Json::array();
  for (const catalog::ModelShape& shape : catalog.models())
    models.push_back(shape_json(shape, core::Basis::kCatalog));
  return {{"machines", machines}, {"gpus", gpus}, {"nics", nics}, {"models", models}};
}

}  // namespace comm_probe::cli
