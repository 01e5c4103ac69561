// The processes of one job in the lab: a python3 for every rank that runs a script of ours, its
// output in FOLDER/rankN.log. None survives the object, a stopped one neither; signals of the user
// are taken one by one meanwhile.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace comm_probe::measure::lab {

inline constexpr int kRanks = 4;

// Words behind python's name, of one rank.
using RankWords = std::function<std::vector<std::string>(int rank)>;

class PythonRanks {
 public:
  PythonRanks(std::string python, std::string folder);
  ~PythonRanks();
  PythonRanks(const PythonRanks&) = delete;
  PythonRanks& operator=(const PythonRanks&) = delete;

  void start(const RankWords& words);
  bool any_runs();
  // At most 200 ms. A signal that the user sent, or 0.
  int wait_a_little() const;

 private:
  std::string python_;
  std::string folder_;
  std::vector<pid_t> pids_ = {};
  sigset_t watched_ = {};
  sigset_t before_ = {};
};

// What this machine lacks for it; nothing where all is there.
std::optional<core::Error> missing_for_ranks(const std::string& command, const std::string& python);
// A port that was free a moment ago.
core::Result<int> free_port();
std::string log_of(const std::string& folder, int rank);
std::string last_line(const std::string& file);
// One of the lines begins so.
bool has_line(const std::string& file, const std::string& beginning);
bool write_file(const std::string& file, std::string_view text);

}  // namespace comm_probe::measure::lab
