// An installed comm-probe works wherever its folder is moved to.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;

class Package : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("comm-probe-package-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    const auto install = run_shell("cmake --install \"" + build() + "\" --prefix \"" +
                                   (folder_ / "first").string() + "\"");
    ASSERT_EQ(install.status, 0) << install;
    fs::rename(folder_ / "first", folder_ / "moved");
  }
  void TearDown() override { fs::remove_all(folder_); }
  static std::string build() { return fs::path(COMM_PROBE_BINARY).parent_path(); }
  static std::string source(const std::string& path) { return COMM_PROBE_SOURCE_DIR "/" + path; }
  fs::path folder_;
};

TEST_F(Package, RunsWhereItWasMovedTo) {
  const auto run = run_shell("cd / && env -i PATH=/usr/bin:/bin \"" + source("packaging/try.sh") +
                             "\" \"" + (folder_ / "moved/bin/comm-probe").string() + "\"");
  EXPECT_EQ(run.status, 0) << run;
}

TEST_F(Package, HoldsWhatIsPromised) {
  for (const char* path :
       {"bin/comm-probe", "share/comm-probe/catalog/gpus.toml", "share/doc/comm-probe/README.md",
        "share/doc/comm-probe/docs/findings.md", "share/doc/comm-probe/third_party.txt"})
    EXPECT_TRUE(fs::exists(folder_ / "moved" / path)) << path;
  for (const auto& file : fs::directory_iterator(build())) {
    const std::string name = file.path().filename();
    if (!name.starts_with("comm-probe-") || !name.ends_with(".so")) continue;
    EXPECT_TRUE(fs::exists(folder_ / "moved/lib/comm-probe" / name)) << name;
  }
}

// The check that try.sh makes can fail.
TEST_F(Package, AnotherProgramIsNoCommProbe) {
  EXPECT_EQ(run_shell("\"" + source("packaging/try.sh") + "\" /bin/true 2>/dev/null").status, 1);
}

// 2.2.5 is the first glibc on x86-64; the floor of a program is no older, and no newer than ours.
TEST_F(Package, TheGlibcFloorIsReadFromSymbols) {
  const auto run = run_shell("\"" + source("packaging/glibc_floor.sh") + "\" \"" +
                             std::string(COMM_PROBE_BINARY) + "\"");
  ASSERT_EQ(run.status, 0) << run;
  const auto here = run_shell("getconf GNU_LIBC_VERSION | cut -d' ' -f2");
  const auto newest = run_shell("printf '%s\\n%s\\n' " + lines_of(run.out).at(0) + " " +
                                lines_of(here.out).at(0) + " | sort -V | tail -1");
  EXPECT_EQ(newest.out, here.out) << run;
  EXPECT_EQ(run_shell("\"" + source("packaging/glibc_floor.sh") + "\" /etc/hostname 2>&1").status,
            1);
}

}  // namespace
}  // namespace comm_probe::test
