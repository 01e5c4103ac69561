// The rules of judge_topology, one function each: facts in, findings out.
#pragma once

#include <map>
#include <optional>

#include "diagnose/topo.h"

namespace comm_probe::diagnose {

struct RuleAnswer {
  std::vector<core::Finding> findings = {};
  std::vector<Blame> blamed = {};
  std::vector<core::Caveat> caveats = {};
  std::optional<std::string> unknown = {};  // what the source lacks that the rule needs
  std::optional<std::string> idle = {};     // why the rule does not apply to this machine
};

RuleAnswer elements_present(const topology::Survey& survey);
RuleAnswer nvlink_complete(const topology::Survey& survey);
RuleAnswer nvlink_even(const topology::Survey& survey);
RuleAnswer slots_alike(const topology::Survey& survey);
RuleAnswer tree_visible(const topology::Survey& survey);

// The line of the source that shows a device.
core::Evidence evidence_of(const topology::Survey& survey, int device, std::string text);
std::string names_of(const topology::Survey& survey, const std::vector<int>& devices);

}  // namespace comm_probe::diagnose
