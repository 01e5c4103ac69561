// Turns catalog documents into entries: later documents replace entries of the same name, then
// CPUs, GPUs, NICs and, last, machines are read, so that a machine sees a user's own GPU.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/entry_reader.h"
#include "catalog/toml_tree.h"

namespace comm_probe::catalog {

class CatalogBuilder {
 public:
  // Fails on a top-level key other than cpu, gpu, nic, machine, model, and on an entry without a
  // name.
  std::optional<core::Error> add(const std::string& name, TomlValue document);
  core::Result<Catalog> build();

 private:
  struct Entry {
    std::string file;
    std::string name;
    TomlValue table;
  };
  std::optional<core::Error> add_entry(const std::string& kind, Entry entry);

  std::map<std::string, std::vector<Entry>, std::less<>> entries_ = {};
  Catalog catalog_ = {};
};

// One entry each (entries.cc, machine_entry.cc, model_shape.cc).
Gpu read_gpu(EntryReader& entry);
Nic read_nic(EntryReader& entry);
Cpu read_cpu(EntryReader& entry);
ModelShape read_model(EntryReader& entry);
Machine read_machine(EntryReader& entry, const Catalog& known);
// What is wrong with the layout of a machine; empty where nothing is.
std::string layout_fault(const Machine& machine);

}  // namespace comm_probe::catalog
