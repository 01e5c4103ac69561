// What a pile of artifacts says of one job, joined: what doctor judges. Facts only; each area has
// its own judge (log.h, topo.h, hang.h, ...), and the rules here look at what lies between areas.
//
//   job_machines.h   which topology belongs to which host
//   job_hosts.h      which machines are hosts of the job, and which are alike
//   job_fit.h        which port an error of the network may be of
//   job_joins.h      where two artifacts contradict or explain each other
//   job_gap.h        how far the measured bandwidth is from what the links carry, and what explains
//   it job_tree.h       the questions of the document, bottom up (slow) and top down (stuck)
//   job_diagnosis.h  all together: the findings in order, the path that was taken
#pragma once

#include <string>
#include <vector>

#include "core/finding.h"
#include "diagnose/hang.h"
#include "diagnose/reading_judgement.h"
#include "nccl/debug_log.h"
#include "topology/survey.h"
#include "torch/job_lines.h"
#include "torch/trace.h"

namespace comm_probe::diagnose {

// A machine whose topology is in the pile. `name` is the host where that is known, else the file.
struct JobMachine {
  std::string name = {};
  bool is_host = false;
  topology::Survey survey = {};
  // Open: artifacts name hosts, and whether this machine is one more is not known. Stranger: all
  // hosts of the job are known, and this is none of them (job_hosts.h).
  enum class Membership { kMember, kOpen, kStranger };
  Membership membership = Membership::kMember;
  int group = -1;  // equal where one communicator or table holds both hosts; -1: not said
  bool is_stranger() const { return membership == Membership::kStranger; }
};

// A setting of NCCL that a text beside the log states: a listing of the environment, a job script,
// the environment of a recorded machine.
struct StatedSetting {
  std::string name = {};
  std::string value = {};
  core::Evidence from = {};
};

struct JobFacts {
  const nccl::DebugLog& log;
  const torch::JobLines& lines;
  const std::vector<JobMachine>& machines;
  const std::vector<JudgedReading>& curves;
  const torch::Job* dumps = nullptr;  // null: no Flight Recorder dump
  const HangJudgement* hang = nullptr;
  const std::vector<torch::Trace>& traces;
  // Ports whose counters were read twice, or live.
  std::size_t watched_ports = 0;
  std::vector<StatedSetting> environment = {};
  // What the job decided was compared with what NCCL decides on a topology of the pile.
  bool is_planned = false;
  bool has_deepep_rates = false;  // of dispatch and combine
  // Some line prints a loss or a norm; two runs whose logs show algorithms were compared.
  bool has_numbers = false;
  bool compared_orders = false;

  bool has_log() const { return log.nccl_lines > 0; }
};

}  // namespace comm_probe::diagnose
