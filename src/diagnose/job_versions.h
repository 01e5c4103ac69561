// Which releases do the artifacts name? NCCL by the log, tables, traces and dumps of one job, the
// driver by the recorded machines of its hosts. What is of another job (a table of other hosts, a
// trace or dump of another number of ranks) may be of any release.
//
//   log 2.28.9, dump with comm_lib_version 2.27.3 -> job.versions-differ (information)
//   node01 570.86.15, node02 550.54.14 -> job.versions-differ
#pragma once

#include "diagnose/diagnose.h"
#include "diagnose/job.h"

namespace comm_probe::diagnose {

Judgement judge_versions(const JobFacts& facts);

}  // namespace comm_probe::diagnose
