// The algorithms that an engine has of its own, by operation, and what it runs for each.
//
//   constexpr AlgorithmTable<Builder> kTable = {"mpi", "; without --algo ...", kEntries};
//   kTable.find(op, algorithm);      // null where it has none
//   kTable.require(op, algorithm);   // fails with those that it has: "it has: ring, one-shot"
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/collective.h"

namespace comm_probe::measure {

template <class Function>
struct AlgorithmEntry {
  model::Op op;
  model::Algorithm algorithm;
  Function function;
};

template <class Function>
struct AlgorithmTable {
  const char* engine;
  const char* otherwise;  // the end of the hint
  std::span<const AlgorithmEntry<Function>> entries;

  Function find(model::Op op, model::Algorithm algorithm) const {
    for (const AlgorithmEntry<Function>& entry : entries)
      if (entry.op == op && entry.algorithm == algorithm) return entry.function;
    return nullptr;
  }
  std::vector<model::Algorithm> of(model::Op op) const {
    std::vector<model::Algorithm> found;
    for (const AlgorithmEntry<Function>& entry : entries)
      if (entry.op == op) found.push_back(entry.algorithm);
    return found;
  }
  core::Result<Function> require(model::Op op, model::Algorithm algorithm) const {
    if (const Function function = find(op, algorithm)) return function;
    std::string known;
    for (const model::Algorithm other : of(op))
      known += (known.empty() ? "" : ", ") + std::string(algorithm_name(other));
    return core::input_error(
        fmt::format("the {} engine has no {} {}", engine, algorithm_name(algorithm), op_name(op)),
        "it has: " + known + otherwise);
  }
};

}  // namespace comm_probe::measure
