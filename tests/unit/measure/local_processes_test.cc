// What happens when a rank dies, when the user interrupts, when the parent is killed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>

#include "local_team.h"

namespace comm_probe::measure::local {
namespace {

using Clock = std::chrono::steady_clock;

bool has_children() { return !(::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD); }

// Gone, or a zombie that only its new parent can take away.
bool has_ended(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(stat, text)) return true;
  return text.substr(text.rfind(')') + 2, 1) == "Z";
}

TEST(Processes, AKilledRankEndsTheRunAndIsNamed) {
  const Clock::time_point start = Clock::now();
  const Ended ended = in_processes(4, [](Comm& comm) {
    if (comm.rank() == 2) ::kill(::getpid(), SIGKILL);
    comm.barrier();  // nobody ever gets through
  });
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(2));
  ASSERT_TRUE(ended.died);
  EXPECT_EQ(ended.died->rank, 2);
  EXPECT_EQ(ended.died->signal, SIGKILL);
  EXPECT_EQ(ended.died->sentence(), "rank 2 was killed by signal 9 (Killed)");
  EXPECT_FALSE(has_children());
}

TEST(Processes, ARankThatExitsEarlyIsNamedWithItsStatus) {
  const Ended ended = in_processes(2, [](Comm& comm) {
    if (comm.rank() == 1) ::_exit(75);
    comm.barrier();
  });
  ASSERT_TRUE(ended.died);
  EXPECT_EQ(ended.died->sentence(), "rank 1 ended with status 75");
  EXPECT_FALSE(has_children());
}

// Everybody waits for a rank that is stopped, or that sleeps and is never woken.
TEST(Processes, ARankThatStandsStillEndsTheRunAndIsNamed) {
  for (const bool is_stopped : {true, false}) {
    const Ended ended = in_processes(3,
                                     [is_stopped](Comm& comm) {
                                       comm.barrier();
                                       if (comm.rank() == 1 && is_stopped) ::raise(SIGSTOP);
                                       if (comm.rank() == 1) ::pause();
                                       comm.barrier();
                                     },
                                     {.looks = 3, .every = std::chrono::milliseconds(50)});
    ASSERT_TRUE(ended.died);
    EXPECT_EQ(ended.died->rank, 1);
    EXPECT_EQ(ended.died->sentence(),
              is_stopped ? "rank 1 has not run for 0.15 s (it is stopped, as by SIGSTOP)"
                         : "rank 1 has not run for 0.15 s (it sleeps for good)");
    EXPECT_FALSE(has_children());
  }
}

// Ranks that wait for each other all the time, more of them than cores, are never taken for that,
// even where a look comes every few milliseconds.
TEST(Processes, RanksThatWaitAreNotStandingStill) {
  const Ended ended = in_processes(6,
                                   [](Comm& comm) {
                                     for (int round = 0; round < 40; ++round) {
                                       if (comm.rank() == 0) ::usleep(20000);
                                       comm.barrier();
                                     }
                                   },
                                   {.looks = 5, .every = std::chrono::milliseconds(30)});
  EXPECT_TRUE(ended.ok()) << ended.died->sentence();
}

// Texts of /proc/PID/status: a stopped process, a kernel that counts no switches, no such process.
TEST(Standstill, ReadsWhatTheKernelSays) {
  const auto stopped = read_pulse(
      "Name:\tcomm-probe\nUmask:\t0022\nState:\tT (stopped)\nTgid:\t41\n"
      "voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n");
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->state, 'T');
  EXPECT_EQ(stopped->switches, 695U);
  const auto uncounted = read_pulse("Name:\tcomm-probe\nState:\tS (sleeping)\n");
  ASSERT_TRUE(uncounted);
  EXPECT_EQ(uncounted->state, 'S');
  EXPECT_FALSE(uncounted->switches);
  EXPECT_FALSE(read_pulse(""));
}

TEST(Processes, AnInterruptEndsAllRanks) {
  const Ended ended = in_processes(3, [](Comm& comm) {
    if (comm.rank() == 0) ::kill(::getppid(), SIGINT);
    if (comm.rank() == 0) ::pause();
    comm.barrier();
  });
  EXPECT_EQ(ended.interrupted_by, SIGINT);
  EXPECT_FALSE(ended.died);
  EXPECT_FALSE(has_children());
}

TEST(Processes, RanksDieWithTheirParent) {
  const Cells pids(3);
  const pid_t parent = ::fork();
  if (parent == 0) {
    in_processes(3, [&](Comm& comm) {
      pids[static_cast<std::size_t>(comm.rank())] = static_cast<std::uint64_t>(::getpid());
      for (;;) ::pause();
    });
    ::_exit(0);
  }
  const Clock::time_point give_up = Clock::now() + std::chrono::seconds(20);
  while ((pids[0] == 0 || pids[1] == 0 || pids[2] == 0) && Clock::now() < give_up) ::usleep(1000);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ASSERT_NE(pids[rank], 0u);
    while (!has_ended(static_cast<pid_t>(pids[rank].load())) && Clock::now() < give_up)
      ::usleep(1000);
    EXPECT_TRUE(has_ended(static_cast<pid_t>(pids[rank].load()))) << "rank " << rank;
  }
}

TEST(Processes, ManyMoreRanksThanCoresComeThroughBarriers) {
  const Cells cells(1);
  const Ended ended = in_processes(16, [&](Comm& comm) {
    for (int round = 0; round < 50; ++round) {
      comm.barrier();
      ++cells[0];
      comm.barrier();
      // between the two barriers everybody has counted exactly once more
      if (cells[0] != 16u * static_cast<unsigned>(round + 1)) ::_exit(1);
      comm.barrier();
    }
  });
  EXPECT_TRUE(ended.ok());
  EXPECT_EQ(cells[0], 16u * 50u);
}

}  // namespace
}  // namespace comm_probe::measure::local
