// The links of one node of a catalog machine, for `run --contrast`.
#include "catalog/catalog.h"
#include "cli/run_view.h"
#include "model/machine_fabric.h"

namespace comm_probe::cli {

core::Result<Contrast> contrast_of(const std::string& name) {
  const auto machine = catalog::Catalog::builtin().machine(name);
  if (!machine) return machine.error();
  const int gpus = (*machine)->gpus;
  const auto fabric = model::fabric_of(**machine, {gpus, 1}, model::Protocol::kSimple);
  if (!fabric) return fabric.error();
  return Contrast{(*machine)->name, gpus, *fabric};
}

}  // namespace comm_probe::cli
