// What stands for a combination of operation and algorithm, where somebody has only some of them.
//
//   constexpr AlgorithmEntry<Builder> kEntries[] = {{Op::kAllReduce, Algorithm::kRing, ring}, ...};
//   constexpr AlgorithmTable<Builder> kTable = {kEntries};
//   kTable.find(op, algorithm);   // null where it has none
//   kTable.names_of(op);          // "ring, one-shot"
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/collective.h"

namespace comm_probe::model {

template <class Function>
struct AlgorithmEntry {
  Op op;
  Algorithm algorithm;
  Function function;
};

template <class Function>
struct AlgorithmTable {
  std::span<const AlgorithmEntry<Function>> entries;

  Function find(Op op, Algorithm algorithm) const {
    for (const AlgorithmEntry<Function>& entry : entries)
      if (entry.op == op && entry.algorithm == algorithm) return entry.function;
    return nullptr;
  }
  std::vector<Algorithm> of(Op op) const {
    std::vector<Algorithm> found;
    for (const AlgorithmEntry<Function>& entry : entries)
      if (entry.op == op) found.push_back(entry.algorithm);
    return found;
  }
  std::string names_of(Op op) const {
    std::string names;
    for (const Algorithm algorithm : of(op))
      names += (names.empty() ? "" : ", ") + std::string(algorithm_name(algorithm));
    return names;
  }
};

}  // namespace comm_probe::model
