#include "catalog/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "catalog/builder.h"
#include "catalog/builtin_files.h"
#include "core/input.h"
#include "core/spelling.h"

namespace comm_probe::catalog {
namespace {

// A catalog is written by hand; a bigger file is something else.
constexpr std::uint64_t kLargestFile = 4 << 20;

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

// "NVIDIA H100 PCIe" and "Tesla V100-SXM2-16GB" are also printed without the maker, by older
// drivers.
std::string_view without_maker(std::string_view name) {
  for (const std::string_view maker : {"nvidia ", "tesla ", "amd ", "geforce "})
    if (same_ignoring_case(name.substr(0, maker.size()), maker)) name.remove_prefix(maker.size());
  return name;
}

bool is_called(std::string_view entry, std::string_view wanted) {
  return same_ignoring_case(without_maker(entry), wanted);
}

template <class Entry>
const Entry* find_named(const std::vector<Entry>& entries, std::string_view name) {
  for (const Entry& entry : entries)
    if (is_called(entry.name, name)) return &entry;
  return nullptr;
}

// From the end: a user's entries stand last.
template <class Entry>
const Entry* find_listed(const std::vector<Entry>& entries, std::string_view name,
                         std::vector<std::string> Entry::*list) {
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
    for (const std::string& word : (*entry).*list)
      if (is_called(word, name)) return &*entry;
  return nullptr;
}

template <class Entry>
core::Result<const Entry*> known_or_error(const char* what, const std::vector<Entry>& entries,
                                          const Entry* found, std::string_view name,
                                          const char* list = "machines") {
  if (found != nullptr) return found;
  std::vector<std::string_view> words;
  for (const Entry& entry : entries) {
    words.push_back(entry.name);
    words.insert(words.end(), entry.aliases.begin(), entry.aliases.end());
  }
  const std::string near = core::nearest_word(name, words);
  return core::input_error(
      "the catalog knows no " + std::string(what) + " '" + std::string(name) + "'",
      near.empty() ? fmt::format("`comm-probe {}` lists what it knows", list)
                   : "did you mean '" + near + "'?");
}

// Whoever asks for a machine by its GPU or NIC is told which machines have it.
std::string machines_with(const Catalog& catalog, std::string_view name) {
  const Gpu* gpu = catalog.find_gpu(name);
  const Nic* nic = gpu == nullptr ? catalog.find_nic(name) : nullptr;
  if (gpu == nullptr && nic == nullptr) return "";
  constexpr std::size_t kEnough = 60;  // characters of examples
  std::string with;
  for (const Machine& machine : catalog.machines())
    if (with.size() < kEnough &&
        ((gpu != nullptr && machine.gpu.name == gpu->name) ||
         (nic != nullptr && machine.nics > 0 && machine.nic.name == nic->name)))
      with += (with.empty() ? "" : ", ") + machine.name;
  const char* kind = gpu != nullptr ? "GPU" : "NIC";
  return with.empty() ? fmt::format("it is a {}, and no machine of the catalog has it", kind)
                      : fmt::format("it is a {}; machines with it: {}", kind, with);
}

std::optional<core::Error> add_builtin(CatalogBuilder& builder) {
  for (const BuiltinFile& file : builtin_files()) {
    const std::string name = "catalog/" + std::string(file.name);
    auto parsed = parse_toml(name, file.text);
    if (!parsed) return parsed.error();
    if (auto error = builder.add(name, *std::move(parsed))) return error;
  }
  return std::nullopt;
}

}  // namespace

const Catalog& Catalog::builtin() {
  static const Catalog catalog = [] {
    CatalogBuilder builder;
    const auto error = add_builtin(builder);
    COMM_PROBE_CHECK(!error, error->one_line().c_str());
    auto built = builder.build();
    COMM_PROBE_CHECK(built.ok(), built.error().one_line().c_str());
    return *std::move(built);
  }();
  return catalog;
}

core::Result<Catalog> Catalog::with_text(const std::string& name, const std::string& text) {
  CatalogBuilder builder;
  if (const auto error = add_builtin(builder)) return *error;
  auto parsed = parse_toml(name, text);
  if (!parsed) return parsed.error();
  if (const auto error = builder.add(name, *std::move(parsed))) return *error;
  return builder.build();
}

core::Result<Catalog> Catalog::with_file(const std::string& path) {
  auto input = core::Input::open(path);
  if (!input) return input.error();
  const auto text = input->read_all(kLargestFile);
  if (!text) return text.error();
  return with_text(input->name(), *text);
}

const Gpu* Catalog::find_gpu(std::string_view name) const {
  const std::string_view wanted = without_maker(name);
  if (const Gpu* gpu = find_named(gpus_, wanted)) return gpu;
  if (const Gpu* gpu = find_listed(gpus_, wanted, &Gpu::printed)) return gpu;
  return find_listed(gpus_, wanted, &Gpu::aliases);
}

const Nic* Catalog::find_nic(std::string_view name) const {
  const std::string_view wanted = without_maker(name);
  if (const Nic* nic = find_named(nics_, wanted)) return nic;
  return find_listed(nics_, wanted, &Nic::aliases);
}

const Cpu* Catalog::find_cpu(std::string_view name) const {
  return find_named(cpus_, without_maker(name));
}

const Machine* Catalog::find_machine(std::string_view name) const {
  const std::string_view wanted = without_maker(name);
  if (const Machine* machine = find_named(machines_, wanted)) return machine;
  return find_listed(machines_, wanted, &Machine::aliases);
}

const ModelShape* Catalog::find_model(std::string_view name) const {
  if (const ModelShape* model = find_named(models_, name)) return model;
  return find_listed(models_, name, &ModelShape::aliases);
}

core::Result<const Machine*> Catalog::machine(std::string_view name) const {
  const Machine* found = find_machine(name);
  if (const std::string with = found == nullptr ? machines_with(*this, name) : ""; !with.empty())
    return core::input_error(fmt::format("the catalog knows no machine '{}'", name), with);
  return known_or_error("machine", machines_, found, name);
}
core::Result<const Gpu*> Catalog::gpu(std::string_view name) const {
  return known_or_error("GPU", gpus_, find_gpu(name), name);
}
core::Result<const Nic*> Catalog::nic(std::string_view name) const {
  return known_or_error("NIC", nics_, find_nic(name), name);
}

core::Result<const ModelShape*> Catalog::model(std::string_view name) const {
  return known_or_error("model", models_, find_model(name), name, "machines --models");
}

}  // namespace comm_probe::catalog
