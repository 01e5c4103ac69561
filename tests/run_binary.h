// Runs comm-probe as a user does and keeps what came out. For tests of what only the program shows:
// exit status, stdout against stderr, standard input, time.
//
//   const BinaryRun run = run_binary({"calc", "all_reduce", "-n", "8", "-s", "1GB", "--json"});
//   EXPECT_EQ(run.status, 0) << run;
//   const nlohmann::json document = nlohmann::json::parse(run.out);
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace comm_probe::test {

struct BinaryRun {
  std::string command;     // as a shell would take it, for messages
  int status = -1;         // exit status; -1 where a signal or the time limit ended it
  int signal = 0;          // the signal that ended it
  bool timed_out = false;  // killed by us, with everything it had started
  std::string out;
  std::string err;
};
// Command, status and both outputs (cut after 2 kB), for EXPECT_... << run.
std::ostream& operator<<(std::ostream& stream, const BinaryRun& run);

struct BinarySurroundings {
  std::string stdin_text = {};  // without it standard input is empty
  std::vector<std::pair<std::string, std::string>> environment = {};  // added to ours
  std::string directory = {};  // to start in; ours where empty
  std::chrono::milliseconds limit = std::chrono::seconds(20);
};

// The binary that this build has made.
BinaryRun run_binary(const std::vector<std::string>& arguments,
                     const BinarySurroundings& surroundings = {});
// A line for /bin/sh in which "$COMM_PROBE" is the binary: pipes, redirections, ulimit.
BinaryRun run_shell(const std::string& line, const BinarySurroundings& surroundings = {});

// Lines of a text, without their ends; one that ends without a newline counts.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace comm_probe::test
