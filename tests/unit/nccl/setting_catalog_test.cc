#include "nccl/setting_catalog.h"

#include <gtest/gtest.h>

#include "nccl/nccl.h"
#include "nccl/setting_sources.h"

namespace comm_probe::nccl {
namespace {

SettingReading reading(const char* name, const std::string& value) {
  const SettingEntry* entry = find_setting(name);
  EXPECT_NE(entry, nullptr) << name;
  return entry == nullptr ? SettingReading{} : read_setting(*entry, value);
}

TEST(SettingCatalog, NumbersAsStrtollReadsThem) {
  EXPECT_EQ(reading("NCCL_IB_DISABLE", "true").problem, SettingProblem::kNotANumber);
  EXPECT_EQ(reading("NCCL_IB_DISABLE", "true").effective, "0");
  EXPECT_EQ(reading("NCCL_BUFFSIZE", "8M").effective, "8");
  EXPECT_EQ(reading("NCCL_BUFFSIZE", "0x400000").effective, "4194304");
  EXPECT_EQ(reading("NCCL_BUFFSIZE", "0x400000").problem, SettingProblem::kNone);
  EXPECT_EQ(reading("NCCL_IB_TIMEOUT", "23").problem, SettingProblem::kOutOfRange);
  EXPECT_EQ(reading("NCCL_IB_TC", "-1").problem, SettingProblem::kNone);  // the default
  EXPECT_EQ(reading("NCCL_BUFFSIZE", "99999999999999999999").effective, "4194304");
}

TEST(SettingCatalog, WordsAndLevels) {
  EXPECT_EQ(reading("NCCL_DEBUG", "info").effective, "INFO");
  EXPECT_EQ(reading("NCCL_DEBUG", "DEBUG").problem, SettingProblem::kUnknownWord);
  EXPECT_EQ(reading("NCCL_DEBUG_SUBSYS", "^INIT,NET").problem, SettingProblem::kNone);
  EXPECT_EQ(reading("NCCL_DEBUG_SUBSYS", "INIT,NETWORK").offender, "NETWORK");
  EXPECT_EQ(reading("NCCL_P2P_LEVEL", "NVL").problem, SettingProblem::kNone);
  EXPECT_EQ(reading("NCCL_P2P_LEVEL", "nvl").problem, SettingProblem::kUnknownWord);
}

TEST(SettingCatalog, NamesArePrefixes) {
  const std::vector<std::string> hcas = {"mlx5_0", "mlx5_1", "mlx5_10", "mlx5_11"};
  using Names = std::vector<std::string>;
  EXPECT_EQ(matched_names("mlx5_1", hcas), (Names{"mlx5_1", "mlx5_10", "mlx5_11"}));
  EXPECT_EQ(matched_names("=mlx5_1:1", hcas), (Names{"mlx5_1"}));
  EXPECT_EQ(matched_names("^mlx5_1", hcas), (Names{"mlx5_0"}));
  EXPECT_EQ(matched_names("^=mlx5_1", hcas), (Names{"mlx5_0", "mlx5_10", "mlx5_11"}));
  EXPECT_TRUE(accidental_matches("mlx5_", hcas).empty());  // no device has this name
  EXPECT_TRUE(accidental_matches("mlx5_1,mlx5_10,mlx5_11", hcas).empty());
  ASSERT_EQ(accidental_matches("mlx5_1,mlx5_10", hcas).size(), 1u);
  EXPECT_EQ(accidental_matches("mlx5_1,mlx5_10", hcas)[0].others, (Names{"mlx5_11"}));
}

TEST(SettingCatalog, NearNames) {
  EXPECT_EQ(nearest_setting("NCCL_IB_HCAS"), "NCCL_IB_HCA");
  EXPECT_EQ(nearest_setting("NCCL_SOCKET_IF_NAME"), "NCCL_SOCKET_IFNAME");
  EXPECT_EQ(nearest_setting("NCCL_P2P_LEVLE"), "NCCL_P2P_LEVEL");
  EXPECT_EQ(nearest_setting("NCCL_WEATHER_FORECAST"), "");
  EXPECT_EQ(nearest_setting("NCCL_SOCKETIFNAME"), "NCCL_SOCKET_IFNAME");
  EXPECT_EQ(nearest_setting("nccl_debug"), "NCCL_DEBUG");
  EXPECT_EQ(nearest_setting("NCCLDEBUG"), "NCCL_DEBUG");
  EXPECT_EQ(nearest_setting("NCCL_ALGO "), "NCCL_ALGO");
  EXPECT_EQ(nearest_setting("PATH"), "");
}

// A name that another one resembles by a word, not by a slip of the pen, was not misspelt.
TEST(SettingCatalog, OtherWordsAreNotNear) {
  for (const char* name :
       {"NCCL_QOS_USE_CUDA_MEMCPY", "NCCL_SOCKET_OUTLINE", "NCCL_GDRCOPY_WARM_ENABLE",
        "NCCL_COMM_MERGE_SHARE_RESOURCES", "NCCL_IB_COLOUR_INDEX"})
    EXPECT_EQ(nearest_setting(name), "") << name;
}

// Names of NCCL's user guide and of the NCCL_PARAM lines of its source, 2.18 to 2.30.
TEST(SettingCatalog, KnowsWhatNcclReads) {
  for (const char* name : {"NCCL_SHM_USE_CUDA_MEMCPY",
                           "NCCL_SOCKET_INLINE",
                           "NCCL_COMM_SHRINK_SHARE_RESOURCES",
                           "NCCL_GDRCOPY_SYNC_ENABLE",
                           "NCCL_GDRCOPY_FLUSH_ENABLE",
                           "NCCL_GDRCOPY_FIFO_ENABLE",
                           "NCCL_WORK_FIFO_DEPTH",
                           "NCCL_GIN_PLUGIN",
                           "NCCL_IB_USE_INLINE",
                           "NCCL_IB_ECE_ENABLE",
                           "NCCL_SET_STACK_SIZE",
                           "NCCL_CREATE_THREAD_CONTEXT",
                           "NCCL_GDR_FLUSH_DISABLE",
                           "NCCL_GRAPH_HELPER_DISABLE",
                           "NCCL_AGG_CHANNEL_SIZE",
                           "NCCL_LEGACY_CUDA_REGISTER",
                           "NCCL_MEM_SYNC_DOMAIN",
                           "NCCL_GRAPH_MIXING_SUPPORT",
                           "NCCL_IPC_USE_ABSTRACT_SOCKET",
                           "NCCL_PROXY_APPEND_BATCH_SIZE",
                           "NCCL_NVTX_DISABLE",
                           "NCCL_IB_SUBNET_AWARE_ROUTING"})
    EXPECT_NE(find_setting(name), nullptr) << name;
}

TEST(SettingCatalog, FirstReleases) {
  EXPECT_EQ(first_release(*find_setting("NCCL_CONF_FILE"))->minor, 23);
  EXPECT_FALSE(first_release(*find_setting("NCCL_ALGO")));  // per function from 2.24, known before
  EXPECT_FALSE(first_release(*find_setting("NCCL_DEBUG")));
}

// What NCCL makes of numbers that it does not allow: spec 5.3, the size of its array of channels.
TEST(SettingCatalog, NumbersAreBroughtIn) {
  EXPECT_EQ(reading("NCCL_MIN_NCHANNELS", "99").effective, "64");
  EXPECT_EQ(reading("NCCL_NTHREADS", "100").effective, "512");
  EXPECT_EQ(reading("NCCL_NTHREADS", "32").effective, "64");
  EXPECT_EQ(reading("NCCL_NTHREADS", "256").problem, SettingProblem::kNone);
  EXPECT_EQ(reading("NCCL_LL128_NTHREADS", "170").effective, "640");
  EXPECT_EQ(reading("NCCL_BUFFSIZE", "1000").problem, SettingProblem::kOutOfRange);
  EXPECT_EQ(reading("NCCL_P2P_LEVEL", "5").effective, "SYS");
  EXPECT_EQ(reading("NCCL_NET_GDR_LEVEL", "2").effective, "PXB");
  EXPECT_EQ(reading("NCCL_COMM_ID", "abc").problem, SettingProblem::kUnknownWord);
  EXPECT_EQ(reading("NCCL_COMM_ID", "10.0.0.1:23456").problem, SettingProblem::kNone);
  EXPECT_EQ(read_channel_settings({{"NCCL_MIN_NCHANNELS", "99"}}, {2, 24, 3}).min_channels, 32);
}

// Every name that our own models read stands in the table, and every entry is whole.
TEST(SettingCatalog, IsComplete) {
  for (const std::string& name : path_setting_names())
    EXPECT_NE(find_setting(name), nullptr) << name;
  for (const std::string& name : tuning_setting_names())
    EXPECT_NE(find_setting(name), nullptr) << name;
  std::string last;
  for (const SettingEntry* entry : all_settings()) {
    EXPECT_LT(last, entry->name);
    last = entry->name;
    EXPECT_FALSE(entry->meaning.empty()) << entry->name;
    EXPECT_TRUE(entry->name.starts_with("NCCL_")) << entry->name;
    // a default is accepted
    const std::string fallback(entry->fallback);
    if (entry->form != SettingForm::kNumber) continue;
    EXPECT_EQ(read_setting(*entry, fallback).problem, SettingProblem::kNone) << entry->name;
  }
}

TEST(SettingSources, ConfFilesAreTakenLiterally) {
  const ConfFile file =
      read_conf_file("# comment\n #NCCL_A=1\nNCCL_NET = IB\nNCCL_B=\"2\"\n\nwords\nNCCL_C=a=b\n");
  ASSERT_EQ(file.settings.size(), 4u);
  EXPECT_EQ(file.settings[0].name, " #NCCL_A");
  EXPECT_EQ(file.settings[1].name, "NCCL_NET ");
  EXPECT_EQ(file.settings[1].value, " IB");
  EXPECT_EQ(file.settings[1].line, 3u);
  EXPECT_EQ(file.settings[2].value, "\"2\"");
  EXPECT_EQ(file.settings[3].value, "a=b");
  ASSERT_EQ(file.ignored.size(), 1u);
  EXPECT_EQ(file.ignored[0].line, 6u);
}

TEST(SettingSources, LongNamesAndValuesAreCut) {
  const ConfFile file = read_conf_file("NCCL_X=" + std::string(5000, 'x'));
  ASSERT_EQ(file.settings.size(), 1u);
  EXPECT_EQ(file.settings[0].value.size(), 1023u);
}

}  // namespace
}  // namespace comm_probe::nccl
