// catalog: what is known of hardware before anything is measured. Which GPU prints "NVIDIA H100
// 80GB HBM3", how many NVLinks has it, what does a DGX A100 look like, and who says so?
//
//   links.h            PCIe, NVLink, InfiniBand, Ethernet, socket links by standard
//   hardware.h         the records Gpu, Nic, Cpu, Machine
//   model_shape.h      language models: layers, heads, what their attention caches
//   machine_figures.h  what follows for one GPU: NVLink and NIC share, their ratio
//   topology_xml.h     a machine in NCCL's topology schema
//
// The entries are TOML files below catalog/ that are compiled in; a user's own file adds entries
// and replaces those of the same name (docs/formats/catalog.md). All rates are one direction.
//
//   Catalog::builtin().find_gpu("NVIDIA H100 80GB HBM3")->links->one_way().value == 450 GB/s
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/hardware.h"
#include "catalog/links.h"
#include "catalog/machine_figures.h"
#include "catalog/model_shape.h"
#include "core/result.h"

namespace comm_probe::catalog {

class Catalog {
 public:
  // The entries that are compiled in.
  static const Catalog& builtin();
  // Those and the ones of `path`. Fails, with file and line, on a file that is not TOML, an unknown
  // key, a missing source, a wrong unit, or a name that nothing answers to.
  static core::Result<Catalog> with_file(const std::string& path);
  // The same for text that is in memory; `name` stands in errors.
  static core::Result<Catalog> with_text(const std::string& name, const std::string& text);

  // By name, alias or device name as printed in logs, ignoring case; null where nothing matches. A
  // slice of a GPU ("... MIG 1g.10gb") is not that GPU.
  const Gpu* find_gpu(std::string_view name) const;
  const Nic* find_nic(std::string_view name) const;
  const Cpu* find_cpu(std::string_view name) const;
  const Machine* find_machine(std::string_view name) const;
  const ModelShape* find_model(std::string_view name) const;
  // The same, with an error that names the nearest known word.
  core::Result<const Machine*> machine(std::string_view name) const;
  core::Result<const Gpu*> gpu(std::string_view name) const;
  core::Result<const Nic*> nic(std::string_view name) const;
  core::Result<const ModelShape*> model(std::string_view name) const;

  const std::vector<Gpu>& gpus() const { return gpus_; }
  const std::vector<Nic>& nics() const { return nics_; }
  const std::vector<Cpu>& cpus() const { return cpus_; }
  const std::vector<Machine>& machines() const { return machines_; }
  const std::vector<ModelShape>& models() const { return models_; }

 private:
  friend class CatalogBuilder;
  std::vector<Gpu> gpus_ = {};
  std::vector<Nic> nics_ = {};
  std::vector<Cpu> cpus_ = {};
  std::vector<Machine> machines_ = {};
  std::vector<ModelShape> models_ = {};
};

}  // namespace comm_probe::catalog
