#include "measure/engines/nccl/library.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <ostream>

namespace comm_probe::measure::nccl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string fake(int version) {
  return std::string(COMM_PROBE_FAKE_NCCL_FOLDER) + "/libnccl-" + std::to_string(version) + ".so";
}

TEST(NcclLibrary, VersionNumbersAreReadInBothForms) {
  EXPECT_EQ(version_of(22809), (Version{2, 28, 9}));
  EXPECT_EQ(version_of(21805), (Version{2, 18, 5}));
  EXPECT_EQ(version_of(2804), (Version{2, 8, 4}));
}

struct Release {
  int code;
  bool registers, windows, exchanges, quiet;
};
void PrintTo(const Release& release, std::ostream* out) { *out << release.code; }
class NcclRelease : public ::testing::TestWithParam<Release> {};

TEST_P(NcclRelease, HasTheSymbolsOfItsTime) {
  const Release& release = GetParam();
  const auto library = Library::open({fake(release.code)});
  ASSERT_TRUE(library.ok()) << library.error().one_line();
  EXPECT_EQ(library->version(), version_of(release.code));
  EXPECT_THAT(library->lacking(), IsEmpty());
  EXPECT_EQ(library->calls().register_buffer != nullptr, release.registers);
  EXPECT_EQ(library->calls().register_window != nullptr, release.windows);
  EXPECT_EQ(library->calls().all_to_all != nullptr, release.exchanges);
  EXPECT_EQ(library->calls().reset_debug != nullptr, release.quiet);
}

INSTANTIATE_TEST_SUITE_P(All, NcclRelease,
                         ::testing::Values(Release{21800, false, false, false, false},
                                           Release{21903, true, false, false, false},
                                           Release{22304, true, false, false, false},
                                           Release{22705, true, true, false, true},
                                           Release{22809, true, true, true, true},
                                           Release{22903, true, true, true, true}));

TEST(NcclLibrary, ReleasesBefore218AreRefusedInOneLine) {
  const auto library = Library::open({fake(21703)});
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, core::ErrorCode::kMissing);
  EXPECT_THAT(library.error().one_line(), HasSubstr("is NCCL 2.17.3, expected 2.18 or newer"));
  EXPECT_EQ(library.error().one_line().find('\n'), std::string::npos);
}

TEST(NcclLibrary, AnotherLibraryIsNoNccl) {
  const auto library = Library::open({std::string(COMM_PROBE_FAKE_NCCL_FOLDER) + "/libcuda.so.1"});
  ASSERT_FALSE(library.ok());
  EXPECT_THAT(library.error().one_line(), HasSubstr("has no ncclGetVersion"));
}

// The table against a real NCCL, where one is installed.
TEST(NcclLibrary, TheInstalledReleaseHasWhatTheTableSays) {
  const auto library = Library::open({"libnccl.so.2", "/usr/local/cuda/lib/libnccl.so.2",
                                      "/usr/local/cuda/lib64/libnccl.so.2",
                                      "/usr/local/cuda-13.0/lib/libnccl.so.2"});
  if (!library) GTEST_SKIP() << "no NCCL here: " << library.error().one_line();
  EXPECT_THAT(library->lacking(), IsEmpty()) << library->file();
}

class Recorded : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "nccl-places";
    ASSERT_EQ(
        std::system(("rm -rf " + root_ + "; mkdir -p " + root_ +
                     "/opt/conda/lib/python3.12/site-packages/nvidia/nccl/lib && touch " + root_ +
                     "/opt/conda/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2")
                        .c_str()),
        0);
  }
  core::Host host(const std::string& environment) {
    EXPECT_EQ(std::system(("printf '" + environment + "' > " + root_ + "/environment").c_str()), 0);
    return *core::Host::recorded(root_);
  }
  std::string root_;
};

TEST_F(Recorded, TheLoaderIsAskedFirstThenPytorchsPlaces) {
  const auto places = library_places(host(""));
  ASSERT_GE(places.size(), 2u);
  EXPECT_EQ(places[0], "libnccl.so.2");
  EXPECT_EQ(places[1], "/opt/conda/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2");
}

TEST_F(Recorded, WhatIsNamedIsTheOnlyPlace) {
  EXPECT_THAT(library_places(host("COMM_PROBE_NCCL=/x/libnccl.so.2\\n")),
              ElementsAre("/x/libnccl.so.2"));
}

}  // namespace
}  // namespace comm_probe::measure::nccl
