// What another program costs: CPU time and peak memory of the child alone, and what it printed.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bench/cpu_time.h"

namespace comm_probe {

struct Cost {
  double cpu_s = 0;
  double wall_s = 0;
  double mib = 0;
  std::string out = {};
};

// A child's own CPU time and peak memory.
inline Cost cost_of(const std::vector<std::string>& command) {
  int pipes[2] = {};
  if (::pipe(pipes) != 0) std::abort();
  timespec start = {}, end = {};
  clock_gettime(CLOCK_MONOTONIC, &start);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipes[1], STDOUT_FILENO);
    ::close(pipes[0]);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(pipes[1]);
  Cost cost;
  char block[4096];
  for (ssize_t got; (got = ::read(pipes[0], block, sizeof block)) > 0;)
    cost.out.append(block, static_cast<std::size_t>(got));
  ::close(pipes[0]);
  int status = 0;
  rusage usage = {};
  ::wait4(child, &status, 0, &usage);
  clock_gettime(CLOCK_MONOTONIC, &end);
  cost.cpu_s = seconds_of(usage);
  cost.wall_s = static_cast<double>(end.tv_sec - start.tv_sec) +
                static_cast<double>(end.tv_nsec - start.tv_nsec) * 1e-9;
  cost.mib = static_cast<double>(usage.ru_maxrss) / 1024;
  return cost;
}

}  // namespace comm_probe
