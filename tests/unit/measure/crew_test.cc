#include "measure/link/crew.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace comm_probe::measure {
namespace {

TEST(Crew, MembersShareThePayloadAndMeet) {
  const auto records = run_crew({.cpus = {0, 0}, .shared_bytes = 64}, [](Member& member) {
    auto* words = reinterpret_cast<int*>(member.payload());
    EXPECT_EQ(words[0], 0);  // zeroed
    member.meet();
    words[member.index()] = 10 + member.index();
    member.meet();
    member.record(member.index(), words[1 - member.index()]);
  });
  ASSERT_TRUE(records.ok()) << records.error().one_line();
  EXPECT_EQ(records->of(0, 0), std::vector<double>{11});
  EXPECT_EQ(records->of(1, 1), std::vector<double>{10});
  EXPECT_TRUE(records->of(1, 0).empty());
}

TEST(Crew, AMemberThatDiesEndsTheOthers) {
  const auto records = run_crew({.cpus = {0, 0}}, [](Member& member) {
    if (member.index() == 1) ::raise(SIGKILL);
    member.meet();
  });
  ASSERT_FALSE(records.ok());
  EXPECT_EQ(records.error().code, core::ErrorCode::kMissing);
  EXPECT_NE(records.error().message.find("signal 9"), std::string::npos);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no zombie
  EXPECT_EQ(errno, ECHILD);
}

TEST(Crew, AMemberThatLeavesEarlyIsNamed) {
  const auto records = run_crew({.cpus = {0, 0}}, [](Member& member) {
    if (member.index() == 0) ::_exit(3);
    member.meet();
  });
  ASSERT_FALSE(records.ok());
  EXPECT_NE(records.error().message.find("status 3"), std::string::npos);
}

TEST(Crew, TheDeadlineEndsWhatHangs) {
  const auto records = run_crew({.cpus = {0, 0}, .deadline_seconds = 1}, [](Member& member) {
    member.await(member.flag(0), 1);  // nobody sends
  });
  ASSERT_FALSE(records.ok());
  EXPECT_NE(records.error().message.find("in time"), std::string::npos);
}

TEST(Crew, TooMuchSharedMemoryIsAnError) {
  const auto records =
      run_crew({.cpus = {0}, .shared_bytes = std::size_t{1} << 62}, [](Member&) {});
  ASSERT_FALSE(records.ok());
  EXPECT_NE(records.error().message.find("cannot map"), std::string::npos);
}

}  // namespace
}  // namespace comm_probe::measure
