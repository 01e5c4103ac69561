// One measured curve: is it real, is it steady, is it what the links carry?
//
// Rules in three groups: (1) sanity: failed, misrun, wrong results, impossible numbers; (2) shape:
// cold start, jitter, humps, steps, collapse; (3) level: plateau and latency against an
// Expectation. Numbers that were not measured (failed, misrun, impossible) end the judgement: what
// follows would be built on sand. Times of a collective whose results are wrong are not compared
// with anything: a wrong result may come early or late. The plateau is judged only where the curve
// shows it (90 % point reached); below it a size says something about latency, not about links.
//
// Worked example (tests/unit/diagnose/curve_judgement_test.cc repeats it): c40 of the field curves,
// 8 ranks on 2 nodes, plateau 9.45 GB/s; with 2 x 25 GB/s NICs per node the ring carries 50 GB/s
// and healthy runs show 40-48: curve.plateau-low.
#pragma once

#include "diagnose/curve_facts.h"
#include "diagnose/diagnose.h"

namespace comm_probe::diagnose {

Judgement judge_curve(const CurveFacts& facts);

// The groups, in this order.
Judgement judge_sanity(const CurveFacts& facts);
Judgement judge_shape(const CurveFacts& facts);
Judgement judge_level(const CurveFacts& facts);

}  // namespace comm_probe::diagnose
