// A failure is whole for whoever sees it: a process that leaves earlier has the other one, which
// still writes, killed by the parent.
#include "measure/engines/local/two_processes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "measure/engines/local/processes.h"
#include "measure/engines/local/shared_memory.h"

namespace comm_probe::measure::local {
namespace {

TEST(TwoProcesses, BothFailAndTheReasonIsWholeForEither) {
  const std::string texts[2] = {std::string(500, 'a'), std::string(500, 'b')};
  for (int round = 0; round < 3000; ++round) {
    const auto both = std::make_unique<TwoProcesses>();
    std::size_t seen[2] = {};
    const auto be = [&](int rank) {
      both->fail(texts[rank].c_str());
      seen[rank] = std::strlen(both->failure);
    };
    std::thread other(be, 1);
    be(0);
    other.join();
    ASSERT_TRUE(both->has_failed());
    ASSERT_EQ(seen[0], 500u) << "round " << round;
    ASSERT_EQ(seen[1], 500u) << "round " << round;
  }
}

// As `link --only net` on a port without GID: each finds it at the same time and leaves.
TEST(TwoProcesses, WhoLeavesFirstDoesNotTakeTheReasonAway) {
  for (int round = 0; round < 200; ++round) {
    const auto memory = SharedMemory::map(sizeof(TwoProcesses), false);
    ASSERT_TRUE(memory);
    auto& both = *reinterpret_cast<TwoProcesses*>(memory->data());
    run_ranks(2, [&](int) {
      both.fail("the port is Ethernet and has no GID");
      ::_exit(kLeftItsReason);
    });
    ASSERT_TRUE(both.has_failed()) << "round " << round;
    ASSERT_STREQ(both.failure, "the port is Ethernet and has no GID") << "round " << round;
  }
}

}  // namespace
}  // namespace comm_probe::measure::local
