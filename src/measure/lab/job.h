// What the lab starts: a job of a python3 for every rank that runs a script of ours, its output in
// FOLDER/rankN.log, or one command. No process survives, a stopped one neither; signals of the user
// are taken one by one meanwhile.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "core/result.h"

namespace comm_probe::measure::lab {

inline constexpr int kRanks = 4;

struct Job {
  std::string folder = {};
  std::string python = "python3";
  core::Duration patience = core::Duration::from_seconds(180);  // for the whole
};
struct JobEnd {
  core::Duration took = {};
  int interrupted_by = 0;  // the signal of the user; 0: none
  bool is_cut = false;     // by patience
  int status = 0;          // of the process that ended last
};
// Words behind python's name, of one rank; they meet at `port`.
using RankWords = std::function<std::vector<std::string>(int rank, int port)>;
// Until `is_over`, which is asked some five times a second, or all ranks have ended, or patience is
// at its end.
core::Result<JobEnd> run_job(const Job& job, const RankWords& words,
                             const std::function<bool()>& is_over);

// Both outputs of the command go into the file.
JobEnd run_command(const std::vector<std::string>& command, const std::string& log_file,
                   core::Duration patience);

struct JobFile {
  std::string_view name;
  std::string_view text;
};
// Makes the folder and writes these files into it.
core::Result<bool> write_files(const std::string& folder, const std::vector<JobFile>& files);

// What this machine lacks for it; nothing where all is there.
std::optional<core::Error> missing_for_ranks(const std::string& command, const std::string& python);
std::string log_of(const std::string& folder, int rank);
// One of the lines of its log begins so.
bool has_said(const std::string& folder, int rank, const std::string& beginning);
// "rank 2 ended before the fault was planted: <the last line of its log>"
core::Error ended_early(const std::string& folder, int rank, const std::string& when);

}  // namespace comm_probe::measure::lab
