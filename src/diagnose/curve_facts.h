// One measured curve with all that is known about it: what the rules of curve_judgement.h look at.
#pragma once

#include <optional>
#include <string>

#include "curve/analysis.h"
#include "curve/curve.h"
#include "diagnose/expectation.h"

namespace comm_probe::diagnose {

struct CurveFacts {
  const curve::Curve& curve;
  const curve::Analysis& analysis;
  std::optional<Expectation> expectation = {};
};

// "all_reduce on 16 ranks of 2 nodes (ALGO=Ring)"; "a table" where nothing is known.
std::string name_of(const curve::Curve& curve);
// Some row counts wrong elements, or the program says in the end that the run FAILED.
bool has_wrong_results(const curve::Curve& curve);
// A device on which several ranks of the list ran: they take turns, and the times of the table are
// those of taking turns. Null where each rank has a GPU of its own, or the list does not tell.
const curve::Device* shared_gpu(const curve::Curve& curve);
// The row of this size, or the last one.
const curve::Row* row_at(const curve::Curve& curve, core::Bytes bytes);
// "1 MiB: 921.4 us, busbw 1.99 GB/s; in place 912.3 us, 2.01 GB/s", with file and line.
core::Evidence evidence_of(const curve::Curve& curve, const curve::Row& row);

}  // namespace comm_probe::diagnose
