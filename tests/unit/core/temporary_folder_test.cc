#include "core/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace comm_probe::core {
namespace {

TEST(TemporaryFolder, GoesWithTheLastThatHoldsIt) {
  std::string path;
  {
    auto made = TemporaryFolder::make("comm-probe-test");
    ASSERT_TRUE(made.ok()) << made.error().one_line();
    path = made->path();
    std::ofstream(path + "/file") << "something";
    const TemporaryFolder moved = std::move(*made);
    EXPECT_EQ(moved.path(), path);
    EXPECT_TRUE(std::filesystem::exists(path + "/file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

// As an interrupted command does before it ends by the signal, with its objects alive.
TEST(TemporaryFolder, AllThatLiveAreRemovedAtOnceByTheirProcess) {
  auto made = TemporaryFolder::make("comm-probe-test");
  ASSERT_TRUE(made.ok()) << made.error().one_line();
  const pid_t child = ::fork();
  if (child == 0) {
    remove_temporary_folders();
    ::_exit(std::filesystem::exists(made->path()) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  remove_temporary_folders();
  EXPECT_FALSE(std::filesystem::exists(made->path()));
}

TEST(TemporaryFolder, AForkedProcessLeavesIt) {
  auto made = TemporaryFolder::make("comm-probe-test");
  ASSERT_TRUE(made.ok()) << made.error().one_line();
  std::optional<TemporaryFolder> folder(std::move(*made));
  const pid_t child = ::fork();
  if (child == 0) {
    folder.reset();
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(std::filesystem::exists(folder->path()));
}

TEST(TemporaryFolder, SaysWhereItCannotBe) {
  const char* set = std::getenv("TMPDIR");
  const std::string before = set == nullptr ? "" : set;
  ::setenv("TMPDIR", "/nonexistent", 1);
  const auto made = TemporaryFolder::make("comm-probe-test");
  set == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message.find("cannot make $TMPDIR/comm-probe-test-XXXXXX: "), 0u);
}

}  // namespace
}  // namespace comm_probe::core
