// The verdict of doctor as a document: what the pile holds, what was found, the path taken.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor_pile.h"
#include "cli/doctor_plan.h"
#include "core/document.h"
#include "diagnose/job_diagnosis.h"

namespace comm_probe::cli {

struct DoctorReport {
  const Pile& pile;
  const diagnose::JobFacts& facts;
  const diagnose::JobDiagnosis& diagnosis;
  std::vector<core::Caveat> caveats = {};
  std::optional<DoctorPlan> plan = {};
  bool shows_path = false;
};
core::Document doctor_document(const DoctorReport& report);

// "node01", "node01 and node02", "64 machines (node01, node02, ...)"
std::string names_text(const std::vector<std::string>& names);

}  // namespace comm_probe::cli
