// The algorithms that an engine has of its own, by operation, and what it runs for each.
//
//   constexpr EngineAlgorithms<Builder> kTable = {{kEntries}, "mpi", "; without --algo ..."};
//   kTable.require(op, algorithm);   // fails with those that it has: "it has: ring, one-shot"
#pragma once

#include <fmt/format.h>

#include "core/result.h"
#include "model/algorithm_table.h"

namespace comm_probe::measure {

template <class Function>
struct EngineAlgorithms : model::AlgorithmTable<Function> {
  const char* engine;
  const char* otherwise;  // the end of the hint

  core::Result<Function> require(model::Op op, model::Algorithm algorithm) const {
    if (const Function function = this->find(op, algorithm)) return function;
    return core::input_error(
        fmt::format("the {} engine has no {} {}", engine, algorithm_name(algorithm), op_name(op)),
        "it has: " + this->names_of(op) + otherwise);
  }
};

}  // namespace comm_probe::measure
