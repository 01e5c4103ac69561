// bench --backend ucx as users call it: put and get between two processes, every size checked; what
// is refused; without the plug-in.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "copied_program.h"
#include "curve/curve.h"
#include "measure/engines/ucx/engine.h"
#include "run_binary.h"

namespace comm_probe::test {
namespace {

#ifdef COMM_PROBE_HAS_UCX
std::vector<std::string> ucx(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"bench", "send_recv", "--backend", "ucx"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(BenchUcx, PutAndGetAreRightAndReadAsACurve) {
  for (const char* verb : {"put", "get"}) {
    const BinaryRun run = run_binary(ucx({"--verb", verb, "-b", "0", "-e", "300000", "-i", "99999",
                                          "-n", "3", "-w", "1", "-d", "half"}));
    ASSERT_EQ(run.status, 0) << run;
    EXPECT_NE(run.out.find("# Out of bounds values : 0 OK"), std::string::npos) << run;
    EXPECT_NE(run.out.find("one " + std::string(verb)), std::string::npos) << run;
    core::Input input = core::Input::from_memory("bench", run.out);
    const auto reading = curve::read(input);
    ASSERT_TRUE(reading.ok()) << reading.error().one_line();
    ASSERT_EQ(reading->curves.size(), 1u);
    EXPECT_EQ(reading->curves.front().rows.size(), 4u);
  }
}

TEST(BenchUcx, JsonNamesTransportsAndCosts) {
  const BinaryRun run = run_binary(ucx({"-b", "8", "-e", "4096", "-f", "8", "-n", "5", "--json"}));
  ASSERT_EQ(run.status, 0) << run;
  const nlohmann::json result = nlohmann::json::parse(run.out)["result"];
  ASSERT_EQ(result["one_sided"].size(), 4u);
  EXPECT_EQ(result["rows"].size(), 4u);  // nothing in place
  EXPECT_GT(result["one_sided"][3]["in_flight_GBps"], 0);
  EXPECT_GT(result["one_sided"][3]["registration_us"], 0);
  EXPECT_EQ(result["one_sided"][3]["samples_disagree"].get<bool>(),
            result["one_sided"][3]["slowest_us"] >
                result["one_sided"][3]["fastest_us"].get<double>() * 1.5);
  EXPECT_EQ(result["versions"][0].get<std::string>().rfind("UCX ", 0), 0u);
  EXPECT_EQ(result["versions"][1].get<std::string>().rfind("transports: ", 0), 0u);
  EXPECT_EQ(result["versions"][2].get<std::string>().rfind("memory: host", 0), 0u);
}

// 64 tokens of llama-3-70b on one of 8 ranks: 4 blocks x 80 layers x 2 pieces of 4 KiB; every byte
// arrives in its slot.
TEST(BenchUcx, KvBlocksAreScatteredAndChecked) {
  for (const char* verb : {"put", "get"}) {
    const BinaryRun run = run_binary(ucx({"--kv-layout", "llama-3-70b:tokens=64,tp=8", "--verb",
                                          verb, "-n", "2", "-w", "1", "--json"}));
    ASSERT_EQ(run.status, 0) << run;
    const nlohmann::json document = nlohmann::json::parse(run.out), result = document["result"];
    const nlohmann::json& layout = result["scattered"];
    EXPECT_EQ(layout["pieces"], 640);
    EXPECT_EQ(layout["piece_bytes"], 4096);
    EXPECT_EQ(layout["bytes"], 2621440);
    EXPECT_EQ(layout["pool_bytes"], 2 * 2621440);
    EXPECT_GT(layout["time_us"], 0);
    EXPECT_GT(layout["predicted_us"], 0);
    EXPECT_GT(layout["registration_us"], 0);
    // a prediction that is missed by more than 25 % is said in the first line
    const double ratio = layout["time_us"].get<double>() / layout["predicted_us"].get<double>();
    EXPECT_NEAR(layout["measured_over_predicted"], ratio, 1e-3 * ratio);
    const bool is_said =
        document["verdict"].get<std::string>().find("times its prediction") != std::string::npos;
    EXPECT_EQ(is_said, ratio > 1.25 || ratio < 0.8) << document["verdict"];
    ASSERT_EQ(result["rows"].size(), 1u);
    EXPECT_EQ(result["rows"][0]["wrong"], 0);
  }
  const BinaryRun text =
      run_binary(ucx({"--kv-layout", "qwen3-8b:tokens=16,tp=8,merge=72", "-n", "1", "-w", "1"}));
  ASSERT_EQ(text.status, 0) << text;
  EXPECT_NE(text.out.find("1 of 288 KiB, scattered"), std::string::npos) << text;
}

TEST(BenchUcx, RefusesInOneLine) {
  struct Try {
    std::vector<std::string> arguments;
    int status;
    std::string says;
  };
  for (const Try& tried :
       {Try{{"bench", "all_reduce", "--backend", "ucx"}, 2, "has no all_reduce"},
        Try{ucx({"--ranks", "3"}), 2, "which has two"},
        Try{ucx({"-b", "1024G", "-e", "1024G"}), 2, "of memory is free"},
        Try{ucx({"--algo", "ring"}), 2, "the ucx engine takes no algorithm for send_recv"},
        Try{ucx({"--kv-layout", "llama-3-7b"}), 2, "the catalog knows no model"},
        Try{ucx({"--kv-layout", "llama-3-70b:tokens=0"}), 2, "tokens=0 is no number"},
        Try{ucx({"--kv-layout", "llama-3-70b:token=8"}), 2, "did you mean 'tokens'"},
        Try{ucx({"--kv-layout", "llama-3-70b:tp=3"}), 2, "do not spread evenly"},
        Try{{"bench", "send_recv", "--kv-layout", "llama-3-70b"}, 2, "needs --backend ucx"},
        Try{ucx({"--verb", "push"}), 2, "push"}}) {
    const BinaryRun run = run_binary(tried.arguments);
    EXPECT_EQ(run.status, tried.status) << run;
    EXPECT_NE(run.err.find(tried.says), std::string::npos) << run;
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run;
  }
}

TEST(BenchUcx, TransportThatIsNotThereEndsBothProcesses) {
  BinarySurroundings surroundings;
  surroundings.environment = {{"UCX_TLS", "none_such"}, {"UCX_LOG_LEVEL", "fatal"}};
  const BinaryRun run = run_binary(ucx({"-b", "8", "-e", "8"}), surroundings);
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_NE(run.err.find("ucp_init"), std::string::npos) << run;
}
#else
TEST(BenchUcx, Runs) { GTEST_SKIP() << "built without UCX, or with a sanitizer"; }
#endif

TEST(BenchUcx, RegistrationThatPinsNothingIsNotACost) {
  EXPECT_TRUE(measure::ucx::registers_nothing("sysv posix"));
  EXPECT_FALSE(measure::ucx::registers_nothing("rc_mlx5 sysv"));
  EXPECT_FALSE(measure::ucx::registers_nothing("not told"));
}

TEST(BenchUcx, TransportsAreThoseOfTheLanes) {
  EXPECT_EQ(measure::ucx::transports_in(
                "# UCP endpoint vm:1\n#\n#               peer: <no debug data>\n"
                "#   lane[0]:  3:sysv/memory.0 md[2]  -> md[2]/sysv/sysdev[255] am am_bw#0\n"
                "#   lane[1]:  4:posix/memory.0 md[3] -> md[3]/posix/sysdev[255] rkey_ptr\n"
                "#   lane[2]:  3:sysv/memory.0 md[2]  -> md[2]/sysv/sysdev[255] rma_bw\n"),
            "sysv posix");
  EXPECT_EQ(measure::ucx::transports_in("lane[0]"), "not told");
  EXPECT_EQ(measure::ucx::transports_in(""), "not told");
}

TEST(BenchUcxAbsent, WithoutThePlugInSaysWhatIsMissing) {
  const BinaryRun run = CopiedProgram().run("bench send_recv --backend ucx");
  EXPECT_EQ(run.status, 3) << run;
  ASSERT_EQ(lines_of(run.err).size(), 1u) << run;
  EXPECT_NE(run.err.find("bench --backend ucx: comm-probe-ucx.so is not beside the program"),
            std::string::npos)
      << run;
}

}  // namespace
}  // namespace comm_probe::test
