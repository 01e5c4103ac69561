#include "model/merge.h"

#include <fmt/format.h>

namespace comm_probe::model {

core::Result<Merge> merge(const Collective& each, int calls, const Method& method,
                          const Fabric& fabric) {
  constexpr int kMostCalls = 1000000000;
  if (calls < 1 || calls > kMostCalls)
    return core::input_error(fmt::format("{} calls are outside 1 to {}", calls, kMostCalls));
  auto one = price(each, method, fabric);
  if (!one) return one.error();
  auto merged = price({each.op, each.ranks, each.bytes * calls}, method, fabric);
  if (!merged) return merged.error();
  return Merge{calls, std::move(one).value(), std::move(merged).value()};
}

}  // namespace comm_probe::model
