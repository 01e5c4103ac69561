// diagnose: what is wrong, and how sure are we? Rules look at facts (what was read or measured) and
// at expectations (what a model or the catalog says) and return findings with evidence. This is the
// only place where the two meet, and the only place where findings are born.
//
//   curve_judgement.h  one measured curve: is it real, is it steady, is it what the links carry?
//   expectation.h      what the named hardware lets a curve reach: ring, band, ceiling
//   fleet.h            results of pairs of nodes and of single nodes: slow paths, slow nodes
//   link_tests.h       tests of links: perftest, nvbandwidth, p2pBandwidthLatencyTest, OSU
//   baseline.h         two curves of the same sizes: do they differ by more than chance?
//
// A rule whose facts are missing says nothing or returns a caveat; it never guesses.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/finding.h"

namespace comm_probe::diagnose {

struct Judgement {
  std::vector<core::Finding> findings = {};
  std::vector<core::Caveat> caveats = {};

  // A finding or a caveat of this id is among them.
  bool has(std::string_view id) const {
    const auto is_it = [id](const auto& statement) { return statement.id == id; };
    return std::any_of(findings.begin(), findings.end(), is_it) ||
           std::any_of(caveats.begin(), caveats.end(), is_it);
  }
  void add(Judgement other) {
    for (auto& finding : other.findings) findings.push_back(std::move(finding));
    for (auto& caveat : other.caveats) caveats.push_back(std::move(caveat));
  }
};

}  // namespace comm_probe::diagnose
