// `nccl env` through the program: settings in force by precedence, every finding on a recorded
// machine, one line per refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kHost = COMM_PROBE_SOURCE_DIR "/tests/inputs/nccl_env";

json env(const std::vector<std::string>& more, int status, const std::string& text = "") {
  std::vector<std::string> arguments = {"nccl", "env", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const BinaryRun run = run_binary(arguments, {.stdin_text = text});
  EXPECT_EQ(run.status, status) << run;
  return json::parse(run.out, nullptr, false);
}

json setting(const json& document, const std::string& name) {
  for (const json& setting : document["result"]["settings"])
    if (setting["name"] == name) return setting;
  return {};
}

std::multiset<std::string> ids(const json& document) {
  std::multiset<std::string> all;
  for (const json& finding : document["findings"]) all.insert(finding["id"]);
  return all;
}

std::string summary(const json& document, const std::string& id) {
  for (const json& finding : document["findings"])
    if (finding["id"] == id) return finding["summary"];
  return "";
}

// Golden G6-17: environment, then ~/.nccl.conf, then /etc/nccl.conf.
TEST(NcclEnv, TheFirstSourceHolds) {
  const json document = env({"--from", kHost}, 1);
  const json debug = setting(document, "NCCL_DEBUG");
  EXPECT_EQ(debug["value"], "INFO");
  EXPECT_EQ(debug["origin"]["source"], "environment");
  ASSERT_EQ(debug["shadowed"].size(), 2u);
  EXPECT_EQ(debug["shadowed"][0]["value"], "VERSION");
  EXPECT_EQ(debug["shadowed"][0]["origin"]["source"], "/root/.nccl.conf");
  EXPECT_EQ(debug["shadowed"][1]["value"], "WARN");
  EXPECT_EQ(debug["shadowed"][1]["origin"]["line"], 2);
  EXPECT_EQ(setting(document, "NCCL_CROSS_NIC")["origin"]["source"], "/root/.nccl.conf");
  EXPECT_EQ(setting(document, "NCCL_MAX_NCHANNELS")["origin"]["source"], "/etc/nccl.conf");
}

TEST(NcclEnv, EveryFaultOfAMachine) {
  const json document = env({"--from", kHost}, 1);
  const std::multiset<std::string> expected = {
      "nccl.env-conf-line",     "nccl.env-conf-line",    "nccl.env-conf-line",
      "nccl.env-debug-file",    "nccl.env-debug-on",     "nccl.env-feature-off",
      "nccl.env-file-absent",   "nccl.env-ll128-forced", "nccl.env-method-forced",
      "nccl.env-method-forced", "nccl.env-minimum-wins", "nccl.env-misspelt",
      "nccl.env-no-match",      "nccl.env-not-a-number", "nccl.env-not-a-number",
      "nccl.env-nothing-left",  "nccl.env-obsolete",     "nccl.env-out-of-range",
      "nccl.env-p2p-off",       "nccl.env-prefix",       "nccl.env-shadowed",
      "nccl.env-shadowed",      "nccl.env-word-unknown"};
  EXPECT_EQ(ids(document), expected);
  EXPECT_EQ(summary(document, "nccl.env-misspelt"),
            "NCCL_IB_HCAS is no setting of NCCL and has no effect; did you mean NCCL_IB_HCA?");
  EXPECT_EQ(summary(document, "nccl.env-prefix"),
            "NCCL_IB_HCA: 'mlx5_1' is a prefix and takes mlx5_10, mlx5_11 too");
  EXPECT_EQ(setting(document, "NCCL_IB_DISABLE")["effective"], "0");
  EXPECT_EQ(setting(document, "NCCL_BUFFSIZE")["effective"], "8");
}

// What people paste: `env` of another machine, a job script.
TEST(NcclEnv, AListingIsEnough) {
  const json document =
      env({"--from", "-"}, 1, "PATH=/bin\nexport NCCL_IB_DISABLE=\"1\"\n  NCCL_DEBUG=WARN\n");
  EXPECT_EQ(ids(document), (std::multiset<std::string>{"nccl.env-ib-off"}));
  EXPECT_EQ(setting(document, "NCCL_IB_DISABLE")["value"], "1");
  EXPECT_EQ(document["caveats"][0]["id"], "nccl.env-listing-only");
}

TEST(NcclEnv, SoundSettingsGiveNothing) {
  const json document =
      env({"--from", "-"}, 0,
          "NCCL_DEBUG=WARN\nNCCL_SOCKET_IFNAME=eth0\nNCCL_IB_HCA==mlx5_0,mlx5_1\n"
          "NCCL_IB_GID_INDEX=3\nNCCL_CROSS_NIC=0\nNCCL_IB_TC=106\nNCCL_P2P_DISABLE=0\n"
          "NCCL_NET_GDR_LEVEL=PHB\nNCCL_OFI_DISABLE=0\nNCCL_VERSION=2.21.5-1\n");
  EXPECT_TRUE(document["findings"].empty()) << document["findings"].dump(2);
}

// Before 2.24 NCCL fell back to Ring, and LL128 of nothing was an unknown word.
TEST(NcclEnv, TheReleaseDecides) {
  const std::string text = "NCCL_ALGO=Tree\n";
  EXPECT_TRUE(ids(env({"--from", "-"}, 1, text)).contains("nccl.env-nothing-left"));
  EXPECT_FALSE(
      ids(env({"--from", "-", "--version", "2.23"}, 1, text)).contains("nccl.env-nothing-left"));
}

// env and plan must not contradict each other.
TEST(NcclEnv, CountsChannelsAsPlanDoes) {
  const json document = env({"--from", "-"}, 1, "NCCL_MIN_NCHANNELS=99\nNCCL_MAX_NCHANNELS=1\n");
  EXPECT_THAT(summary(document, "nccl.env-minimum-wins"), HasSubstr("64 channels are made"));
}

TEST(NcclEnv, DangerousValues) {
  for (const auto& [line, id] : {std::pair("NCCL_IB_GID_INDEX=0", "nccl.env-risky"),
                                 std::pair("NCCL_NET_GDR_LEVEL=SYS", "nccl.env-risky"),
                                 std::pair("NCCL_NET_GDR_LEVEL=7", "nccl.env-risky"),
                                 std::pair("NCCL_NTHREADS=100", "nccl.env-out-of-range"),
                                 std::pair("NCCL_BUFFSIZE=1000", "nccl.env-out-of-range"),
                                 std::pair("NCCL_COMM_ID=abc", "nccl.env-word-unknown")})
    EXPECT_EQ(ids(env({"--from", "-"}, 1, line)), (std::multiset<std::string>{id})) << line;
}

TEST(NcclEnv, ASettingOfALaterRelease) {
  const std::string text = "NCCL_CONF_FILE=/etc/x\nNCCL_MNNVL_ENABLE=0\n";
  EXPECT_TRUE(
      ids(env({"--from", "-", "--version", "2.20"}, 1, text)).contains("nccl.env-other-release"));
  EXPECT_FALSE(ids(env({"--from", "-"}, 0, text)).contains("nccl.env-other-release"));
}

// Wrong case, no underscore, blanks: they look right and are not read.
TEST(NcclEnv, NamesThatLookRight) {
  for (const char* line :
       {"nccl_debug=INFO", "NCCLDEBUG=INFO", "NCCL_ALGO =Tree", "NCCL_IB_TC = 106"}) {
    const json document = env({"--from", "-"}, 1, line);
    EXPECT_EQ(ids(document), (std::multiset<std::string>{"nccl.env-misspelt"})) << line;
  }
  const BinaryRun text =
      run_binary({"nccl", "env", "--from", "-"}, {.stdin_text = "NCCL_IB_HCAS=mlx5_0\n"});
  EXPECT_THAT(text.out, HasSubstr("0 NCCL settings in force, 1 name that NCCL does not know"));
}

// A list on a machine that has none of its devices, a folder in place of a file.
TEST(NcclEnv, AMachineWithoutTheDevices) {
  const std::filesystem::path host = std::filesystem::path(testing::TempDir()) / "env_without_hca";
  std::filesystem::create_directories(host / "sys/class/net/eth0");
  std::filesystem::create_directories(host / "folder");
  const auto of = [&](const std::string& lines) {
    std::ofstream(host / "environment") << lines;
    return env({"--from", host.string()}, 1);
  };
  EXPECT_EQ(ids(of("NCCL_IB_HCA=mlx5_0\n")), (std::multiset<std::string>{"nccl.env-no-match"}));
  const json folder = of("HOME=/root\nNCCL_CONF_FILE=/folder\n");
  EXPECT_THAT(summary(folder, "nccl.env-conf-absent"), HasSubstr("a folder"));
  for (const json& file : folder["result"]["files"])
    if (file["path"] == "/root/.nccl.conf") {
      EXPECT_EQ(file["state"], "passed over");
    }
  const json plugin = of("NCCL_NET_PLUGIN=foo\n");
  EXPECT_EQ(ids(plugin), (std::multiset<std::string>{"nccl.env-plugin-absent"}));
  std::filesystem::remove_all(host);
}

TEST(NcclEnv, ALeadingBlankIsNamed) {
  const std::filesystem::path host = std::filesystem::path(testing::TempDir()) / "env_blank";
  std::filesystem::create_directories(host / "etc");
  std::ofstream(host / "etc/nccl.conf") << " NCCL_NET=IB\n";
  const json document = env({"--from", host.string()}, 1);
  EXPECT_THAT(summary(document, "nccl.env-conf-line"),
              HasSubstr("the name begins with a blank, write NCCL_NET=IB"));
  std::filesystem::remove_all(host);
}

TEST(NcclEnv, ExplainsOneSetting) {
  const json document = env({"--explain", "NCCL_IB_TIMEOUT", "--from", kHost}, 0);
  const json explained = document["result"]["explained"][0];
  EXPECT_EQ(explained["default"], "20");
  EXPECT_EQ(explained["accepts"], "1..22");
  EXPECT_EQ(explained["in_force"]["value"], "30");
  const BinaryRun text = run_binary({"nccl", "env", "--explain", "ib_hca"});
  EXPECT_EQ(text.status, 0) << text;
  EXPECT_THAT(text.out, HasSubstr("mlx5_10"));
  EXPECT_THAT(run_binary({"nccl", "env", "--explain", "NCCL_IB_TC"}).out,
              HasSubstr("must be equal on all ranks"));
  EXPECT_THAT(run_binary({"nccl", "env", "--explain", "NCCL_NTHREADS"}).out,
              HasSubstr("-2 (automatic)"));
}

TEST(NcclEnv, RefusesWithOneLine) {
  const auto error = [](const std::vector<std::string>& arguments, const std::string& text = "") {
    const BinaryRun run = run_binary(arguments, {.stdin_text = text});
    EXPECT_EQ(run.status, 2) << run;
    return run.err;
  };
  EXPECT_EQ(error({"nccl", "env", "NCCL_IB_HCAS"}),
            "comm-probe: 'NCCL_IB_HCAS' is no setting of NCCL that is known here; did you mean "
            "'NCCL_IB_HCA'?\n");
  EXPECT_EQ(error({"nccl", "env", "--from", "-"}, "nothing\n"),
            "comm-probe: standard input: no NCCL setting found, expected NCCL_NAME=VALUE lines; "
            "`env | grep NCCL` prints them\n");
  EXPECT_THAT(error({"nccl", "env", "--explain", "TORCH_NCCL_BLOCKING_WAIT"}),
              HasSubstr("'TORCH_NCCL_BLOCKING_WAIT' is a setting of PyTorch"));
  for (const char* process : {"0", "-1", "x", "1e9"})
    EXPECT_THAT(error({"nccl", "env", "--pid", process}), HasSubstr("is no process number"));
  const BinaryRun gone = run_binary({"nccl", "env", "--pid", "99999999"});
  EXPECT_EQ(gone.status, 3) << gone;
}

}  // namespace
}  // namespace comm_probe::test
