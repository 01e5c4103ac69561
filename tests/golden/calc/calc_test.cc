#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe {
namespace {

using nlohmann::json;
using test::run_binary;

const std::vector<std::string> kFrontExample = {"calc", "all_reduce", "-n",   "8",      "-s",
                                                "1GB",  "--alpha",    "10us", "--beta", "25GB/s"};

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(Calc, FrontExampleIsTheLedgerOfTheContract) {
  const auto run = run_binary(with(kFrontExample, {"--json"}));
  ASSERT_EQ(run.status, 0) << run;
  EXPECT_EQ(run.err, "");
  const json result = json::parse(run.out).at("result");
  EXPECT_NEAR(result.at("time_us").get<double>(), 70140, 0.01);
  const json expected = {{"op", "all_reduce"},
                         {"algorithm", "ring"},
                         {"protocol", "simple"},
                         {"ranks", 8},
                         {"bytes", 1000000000},
                         {"steps", 14},
                         {"alpha_us", 10.0},
                         {"beta_GBps", 25.0},
                         {"bytes_per_rank", 1750000000},
                         {"latency_us", 140.0},
                         {"bandwidth_us", 70000.0},
                         {"knee_bytes", 2000000},
                         {"plateau90_bytes", 18000000},
                         {"ledger", "bandwidth"}};
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(result.at(key), value) << key;
  EXPECT_NEAR(result.at("latency_share").get<double>(), 0.001996, 1e-6);
  EXPECT_NEAR(result.at("algbw_GBps").get<double>(), 14.2572, 1e-4);
  EXPECT_NEAR(result.at("busbw_GBps").get<double>(), 24.9501, 1e-4);
  EXPECT_FALSE(result.at("advice").empty());
  double sum = 0;
  for (const json& term : result.at("terms")) sum += term.at("time_us").get<double>();
  EXPECT_NEAR(sum, 70140, 0.01);
}

TEST(Calc, TextFitsAndExplains) {
  const auto run = run_binary(with(kFrontExample, {"--explain"}));
  ASSERT_EQ(run.status, 0) << run;
  for (const char* part :
       {"70.14 ms", "bandwidth ledger", "What helps", "Cost tree", "Not taken", "double-tree"})
    EXPECT_NE(run.out.find(part), std::string::npos) << part << "\n" << run;
  for (const std::string& line : test::lines_of(run.out)) EXPECT_LE(line.size(), 100u) << line;
}

const std::vector<std::string> kLink = {"--alpha", "10us", "--beta", "25GB/s"};

json result_of(const std::vector<std::string>& arguments) {
  const auto run = run_binary(with(arguments, {"--json"}));
  EXPECT_EQ(run.status, 0) << run;
  return json::parse(run.out).at("result");
}

TEST(Calc, SweepHasARowPerSize) {
  const json result = result_of(
      with({"calc", "all_reduce", "-n", "8", "--sweep", "-b", "8", "-e", "8G", "-f", "2"}, kLink));
  const json& rows = result.at("rows");
  ASSERT_EQ(rows.size(), 31u);  // 2^3 .. 2^33
  EXPECT_EQ(rows.front().at("bytes"), 8);
  EXPECT_EQ(rows.back().at("bytes"), 8589934592);
  EXPECT_EQ(result.at("knee_bytes"), 2000000);
  EXPECT_EQ(rows[13].at("bytes"), 65536);
  EXPECT_NEAR(rows[13].at("time_us").get<double>(), 144.58752, 1e-9);
}

// ring 140 us + 1.75S, plain tree 60 us + 4S: 80 us * 25 GB/s / 2.25 = 888889 B
TEST(Calc, CompareSolvesTheCrossover) {
  const json result = result_of(
      with({"calc", "all_reduce", "-n", "8", "-s", "1MB", "--compare", "ring,tree,ring"}, kLink));
  ASSERT_EQ(result.at("crossovers").size(), 1u);
  EXPECT_EQ(result["crossovers"][0],
            json({{"bytes", 888889}, {"below", "tree"}, {"above", "ring"}}));
  EXPECT_EQ(result.at("ledgers").size(), 2u);
  EXPECT_EQ(result["ledgers"][1].at("algorithm"), "tree");
  EXPECT_EQ(result["fastest"][1].at("fastest"), "ring");
  EXPECT_TRUE(result["fastest"][1].at("to_bytes").is_null());
}

TEST(Calc, AutoTakesTheFastestAndKeepsTheOthers) {
  const json result =
      result_of(with({"calc", "all_reduce", "-n", "8", "-s", "64K", "--algo", "auto"}, kLink));
  EXPECT_EQ(result.at("algorithm"), "recursive-doubling");
  EXPECT_EQ(result.at("rejected").size(), 8u);
  for (const json& other : result.at("rejected")) EXPECT_FALSE(other.at("reason").empty());
}

TEST(Calc, LlDoublesTheBandwidthTerm) {
  const json simple = result_of(kFrontExample);
  const json ll = result_of(with(kFrontExample, {"--proto", "ll"}));
  EXPECT_DOUBLE_EQ(ll.at("bandwidth_us").get<double>(),
                   2 * simple.at("bandwidth_us").get<double>());
}

// Two DGX H100: public curve c01 has 471 GB/s at 16 GiB.
TEST(CalcMachine, TakesWhatNcclWouldChoose) {
  const std::vector<std::string> call = {"calc",     "all_reduce", "--machine",
                                         "dgx-h100", "--nodes",    "2"};
  const auto run = run_binary(with(call, {"-s", "16G", "--json"}));
  ASSERT_EQ(run.status, 0) << run;
  const json document = json::parse(run.out);
  EXPECT_EQ(document.at("caveats").size(), 0U) << run;
  const json& result = document.at("result");
  EXPECT_EQ(result.at("algorithm"), "nvls-tree");
  EXPECT_NEAR(result.at("busbw_GBps"), 461.2, 0.1);
  EXPECT_NEAR(result.at("busbw_GBps"), 471.2, 471.2 * 0.05);
  EXPECT_EQ(result_of(with(call, {"-s", "8", "--proto", "simple"})).at("protocol"), "simple");
  // one model in every view
  const json sweep = result_of(with(call, {"--sweep", "-b", "1G", "-e", "16G"}));
  EXPECT_EQ(sweep.at("rows").back().at("time_us"), result.at("time_us"));
}

TEST(CalcMachine, SaysWhyNcclIsNotPriced) {
  const auto rack = run_binary({"calc", "all_reduce", "--machine", "gb200-nvl72-tray", "--nodes",
                                "20", "-s", "1GB", "--json"});
  ASSERT_EQ(rack.status, 0) << rack;
  const json document = json::parse(rack.out);
  EXPECT_EQ(document["caveats"][0].at("id"), "calc.nccl-not-priced");
  EXPECT_NE(document["caveats"][0].dump().find("NVLink domains"), std::string::npos);
  EXPECT_EQ(
      run_binary({"calc", "all_to_all", "--machine", "dgx-h100", "-s", "1GB", "--algo", "nccl"})
          .status,
      2);
  EXPECT_EQ(run_binary(with(kFrontExample, {"--algo", "nccl"})).status, 2);
}

TEST(CalcMachine, LinksComeFromTheCatalog) {
  const auto run = run_binary({"calc", "all_reduce", "--machine", "dgx-h100", "--nodes", "2", "-s",
                               "1GB", "--algo", "hierarchical", "--json"});
  ASSERT_EQ(run.status, 0) << run;
  const json document = json::parse(run.out);
  const json& result = document.at("result");
  EXPECT_EQ(result.at("algorithm"), "hierarchical");
  EXPECT_EQ(result.at("ranks"), 16);
  EXPECT_EQ(result["links"]["inside"].at("beta_GBps"), 450.0);
  EXPECT_EQ(result["links"]["between"].at("beta_GBps"), 50.0);
  EXPECT_EQ(result["links"].at("basis"), "catalog");
  ASSERT_EQ(document.at("caveats").size(), 2u);
  EXPECT_EQ(document["caveats"][0].at("id"), "calc.alpha-assumed");
  EXPECT_EQ(document["caveats"][1].at("id"), "calc.nccl-not-priced");
}

// Reduction in the switch is a question only where an NVSwitch can do the operation.
TEST(CalcMachine, NvlsIsNamedOnlyWhereItCouldServe) {
  for (const auto& [op, is_named] : {std::pair{"all_reduce", true},
                                     {"all_gather", true},
                                     {"reduce_scatter", true},
                                     {"broadcast", false},
                                     {"reduce", false},
                                     {"all_to_all", false},
                                     {"send_recv", false}}) {
    const auto run =
        run_binary({"calc", op, "--machine", "dgx-h100", "-s", "1GB", "--algo", "auto"});
    EXPECT_EQ(run.out.find("NVLS in the NVSwitch") != std::string::npos, is_named) << run;
  }
}

TEST(Calc, UnevenNodesAreSaid) {
  const std::vector<std::string> uneven = {"calc",
                                           "all_reduce",
                                           "-n",
                                           "12",
                                           "-s",
                                           "1GB",
                                           "--alpha",
                                           "10us",
                                           "--beta",
                                           "200GB/s",
                                           "--gpus-per-node",
                                           "8",
                                           "--inter-beta",
                                           "10GB/s"};
  const auto run = run_binary(uneven);
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_NE(run.out.find("calc.uneven-nodes: 12 ranks do not fill nodes of 8"), std::string::npos)
      << run;
  EXPECT_EQ(run_binary(with(uneven, {"--algo", "ring"})).out.find("uneven"), std::string::npos);
}

// Bytes that pass while another link works stand in the tree, in brackets and explained.
TEST(Calc, HiddenBytesStandInTheTree) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"all_to_all"}, {"all_reduce", "--algo", "nccl-tree"}}) {
    std::vector<std::string> all = {"calc"};
    all.insert(all.end(), words.begin(), words.end());
    const auto run = run_binary(with(all, {"--machine", "dgx-h100", "--nodes", "2", "-s", "1GB"}));
    EXPECT_EQ(run.out.find("  0 B  "), std::string::npos) << run;
    EXPECT_NE(run.out.find("In brackets: bytes"), std::string::npos) << run;
  }
}

// What was typed is said to be typed, what is NCCL's constant to be that.
TEST(Calc, EveryNumberNamesItsTrueSource) {
  EXPECT_EQ(result_of(kFrontExample).at("inputs"),
            json({{"basis", "assumed"}, {"source", "given on the command line"}}));
  const std::vector<std::string> machine = {"calc",      "all_reduce", "-s",      "1GB",
                                            "--machine", "dgx-h100",   "--nodes", "2"};
  const json assumed = result_of(machine).at("links");
  EXPECT_EQ(assumed["inside"]["alpha_from"].at("basis"), "assumed");
  EXPECT_NE(assumed["inside"]["alpha_from"]["source"].get<std::string>().find("tuning.cc"),
            std::string::npos);
  const auto typed = run_binary(with(machine, {"--alpha", "5us", "--json"}));
  const json document = json::parse(typed.out);
  EXPECT_EQ(document["result"]["links"]["inside"]["alpha_from"].at("source"),
            "given on the command line");
  EXPECT_EQ(document["caveats"][0].at("id"), "calc.alpha-assumed");
  EXPECT_NE(document["caveats"][0].dump().find("--inter-alpha"), std::string::npos);
}

TEST(Calc, SaysWhichRailsAreUsed) {
  const json machine = result_of({"calc", "all_reduce", "-s", "1GB", "--machine", "dgx-h100",
                                  "--nodes", "2", "--algo", "ring"});
  EXPECT_EQ(machine["links"].at("rails"), json({{"count", 8}, {"GBps", 50.0}}));
  EXPECT_EQ(machine.at("crossing"),
            "8 rails of 50 GB/s out of every node, all in use by every algorithm");
  const auto typed = run_binary(with(kFrontExample, {"--inter-beta", "5GB/s", "--gpus-per-node",
                                                     "4", "--compare", "ring,double-tree"}));
  EXPECT_NE(typed.out.find("one rail of 5 GB/s"), std::string::npos) << typed;
}

TEST(Calc, OneRankIsFreeInEveryView) {
  const std::vector<std::string> one = {"calc",    "all_reduce", "-n",     "1",
                                        "--alpha", "10us",       "--beta", "25GB/s"};
  EXPECT_TRUE(result_of(with(one, {"-s", "1GB"})).at("ledger").is_null());
  const std::vector<std::string> views[] = {
      {"-s", "1GB"}, {"-s", "1GB", "--compare", "ring"}, {"--sweep", "-b", "8", "-e", "64"}};
  for (const auto& view : views) {
    const auto run = run_binary(with(one, view));
    EXPECT_EQ(run.status, 0) << run;
    EXPECT_EQ(run.out.find("1 ranks"), std::string::npos) << run;
    EXPECT_EQ(run.out.find("fastest of 1"), std::string::npos) << run;
    EXPECT_FALSE(run.out.ends_with("\n\n")) << run;
  }
  const auto bucket = run_binary(
      {"calc", "bucket", "--params", "125M", "-n", "1", "--beta", "45GB/s", "--alpha", "10us"});
  EXPECT_EQ(bucket.status, 0) << bucket;
  EXPECT_EQ(bucket.out.find("0 %"), std::string::npos) << bucket;
}

TEST(Calc, ATypedAlphaForLlIsACaveat) {
  const auto has = [](const std::vector<std::string>& arguments) {
    return run_binary(arguments).out.find("calc.one-alpha") != std::string::npos;
  };
  EXPECT_TRUE(has(with(kFrontExample, {"--proto", "ll"})));
  EXPECT_TRUE(has(with(kFrontExample, {"--compare", "ring/ll,ring"})));
  EXPECT_FALSE(has(kFrontExample));
  EXPECT_FALSE(has(
      {"calc", "all_reduce", "-s", "8K", "--machine", "dgx-h100", "--compare", "ring/ll,ring"}));
}

// memory accesses and PCIe crossings are the point of the command: never dropped for width
TEST(CalcPath, CountsAreAlwaysOnTheScreen) {
  const auto run = run_binary({"calc", "path", "--gpu", "A100", "--nic", "NDR", "--pcie", "4"});
  for (const char* part : {"memory accesses", "PCIe crossings", "uplink to the CPU 2"})
    EXPECT_NE(run.out.find(part), std::string::npos) << part << run;
  EXPECT_EQ(run.out.find("left out"), std::string::npos) << run;
}

TEST(CalcBucket, ABucketLargerThanTheGradientsNeverFills) {
  const auto run = run_binary(
      {"calc", "bucket", "--params", "10M", "-n", "8", "--beta", "45GB/s", "--alpha", "10us"});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_NE(run.out.find("never full"), std::string::npos) << run;
}

TEST(CalcPath, ThreePathsOfTheContract) {
  const json result = result_of({"calc", "path", "--gpu", "A100", "--nic", "NDR", "--pcie", "4"});
  EXPECT_EQ(result.at("direction"), "one way");
  EXPECT_EQ(result.at("host_memory").at("basis"), "assumed");
  const json& paths = result.at("paths");
  ASSERT_EQ(paths.size(), 3u);
  const std::tuple<const char*, int, int, double> expected[] = {
      {"tcp", 2, 4, 10.24}, {"rdma", 1, 2, 20.48}, {"rdma-gdr", 0, 0, 28.2027}};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& [name, copies, accesses, ceiling] = expected[i];
    EXPECT_EQ(paths[i].at("path"), name);
    EXPECT_EQ(paths[i].at("copies"), copies);
    EXPECT_EQ(paths[i].at("host_memory_accesses_per_byte"), accesses);
    EXPECT_NEAR(paths[i].at("ceiling_GBps").get<double>(), ceiling, 1e-4);
    EXPECT_EQ(paths[i].at("ceiling_nominal_GBps"), 32.0);
  }
}

// Spec paths-ledger.md, path C': through the CPU once up the GPU's uplink and once down the NIC's,
// so that only pairs which share an uplink share it, whatever the directions.
TEST(CalcPath, GdrThroughTheCpu) {
  const std::vector<std::string> base = {"calc", "path", "--gpu", "H100", "--nic", "NDR"};
  const json alone = result_of(base).at("gdr_through_cpu");
  EXPECT_EQ(alone.at("path"), "rdma-gdr-cpu");
  EXPECT_EQ(alone.at("copies"), 0);
  EXPECT_EQ(alone.at("host_memory_accesses_per_byte"), 0);
  EXPECT_EQ(alone.at("pcie_crossings").at("uplink"), 2);
  EXPECT_EQ(alone.at("ceiling_nominal_GBps"), 50.0);
  std::vector<std::string> shared = base;
  shared.insert(shared.end(), {"--pairs-per-uplink", "2", "--both-ways"});
  const json two = result_of(shared).at("gdr_through_cpu");
  EXPECT_EQ(two.at("ceiling_nominal_GBps"), 32.0);  // 64 / 2
  EXPECT_EQ(two.at("limited_by"), "PCIe uplink to the CPU");
}

TEST(CalcBucket, HelpShowsNoDefaultOfWhatIsRequired) {
  const auto run = run_binary({"calc", "bucket", "--help"});
  EXPECT_EQ(run.out.find("=0"), std::string::npos) << run;
}

// A type has the names of papers, of PyTorch and of nccl-tests.
TEST(CalcBucket, TypesHaveTheirUsualNames) {
  for (const auto& [type, bytes] :
       {std::pair{"f32", 4}, {"float", 4}, {"fp32", 4}, {"bf16", 2}, {"half", 2}, {"f64", 8}}) {
    const json result = result_of({"calc", "bucket", "--params", "1M", "--dtype", type, "-n", "2",
                                   "--beta", "45GB/s", "--alpha", "10us"});
    EXPECT_EQ(result.at("gradient_bytes"), bytes * 1000000) << type;
  }
}

TEST(CalcBucket, CountsAndOverlaps) {
  const json result = result_of({"calc", "bucket", "--params", "7e9", "--dtype", "bf16", "-n", "64",
                                 "--beta", "45GB/s", "--alpha", "10us", "--backward", "900ms"});
  EXPECT_EQ(result.at("gradient_bytes"), 14000000000);
  EXPECT_EQ(result.at("buckets"), 536);  // 1 MiB, 534 of 25 MiB, and the rest
  EXPECT_EQ(result.at("bucket_bytes"), 26214400);
  EXPECT_NEAR(result["overlap"].at("hidden_us").get<double>() +
                  result["overlap"].at("exposed_us").get<double>(),
              result.at("time_us").get<double>(), 1e-3);
}

TEST(Calc, BadUsageIsOneLineAndStatus2) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"calc"}, "calc needs an operation"},
      {{"calc", "all_redcue", "-n", "8"}, "did you mean 'all_reduce'"},
      {{"calc", "all_reduce", "-n", "0", "-s", "1GB"}, "-n 0 is not a number of ranks"},
      {{"calc", "all_reduce", "-n", "-3", "-s", "1GB"}, "-n -3 is not a number of ranks"},
      {{"calc", "all_reduce", "-s", "1GB"}, "the number of ranks is missing"},
      {{"calc", "all_reduce", "-n", "8", "-s", "1GB"}, "alpha is missing"},
      {{"calc", "all_reduce", "-n", "8", "-s", "1GB", "--alpha", "1us"}, "beta is missing"},
      {{"calc", "all_reduce", "-n", "8", "-s", "8Q"}, "unknown unit 'Q'"},
      {{"calc", "all_reduce", "-n", "8", "--alpha", "1us", "--beta", "1GB/s"},
       "the size is missing"},
      {with(kFrontExample, {"--algo", "dobule-tree"}), "did you mean 'double-tree'"},
      {with(kFrontExample, {"--algo", "bruck"}), "known for it: ring, tree"},
      {with(kFrontExample, {"--proto", "ll12"}), "did you mean 'll128'"},
      {with(kFrontExample, {"--inter-beta", "1GB/s"}), "--gpus-per-node"},
      {with(kFrontExample, {"--gpus-per-node", "0"}), "--gpus-per-node 0"},
      {with(kFrontExample, {"-b", "8"}), "add --sweep"},
      {with(kFrontExample, {"--sweep", "-f", "1"}), "-f 1 is not a factor"},
      {with(kFrontExample, {"--sweep", "-b", "0"}), "-b 0 cannot be multiplied"},
      {with(kFrontExample, {"--sweep", "-b", "2G", "-e", "1G"}), "is above"},
      {with(kFrontExample, {"--compare", "ring,"}), "unknown algorithm ''"},
      {with(kFrontExample, {"--compare", "ring/lll"}), "unknown protocol 'lll'"},
      {with(kFrontExample, {"--compare", "ring,tree", "--algo", "ring"}), "do not go together"},
      {{"calc", "all_reduce", "-n", "eight", "-s", "1GB"}, "not a number"},
      {{"calc", "all_reduce", "--machine", "dgx-a100", "--algo", "nvls", "-s", "1GB"},
       "needs an NVSwitch with NVLS"},
      {{"calc", "all_reduce", "--machine", "dgx-h100", "-n", "2", "--nodes", "4", "-s", "1GB"},
       "cannot stand on 4 nodes"},
      {{"calc", "bucket", "--params", "125Q", "-n", "8", "--beta", "1GB/s", "--alpha", "1us"},
       "expected one like 7e9, 125M or 7B"},
      {with(kFrontExample, {"--nodes", "2"}), "--nodes belongs to --machine"},
      {with(kFrontExample, {"--machine", "dgx-h100"}), "--machine brings its own --beta"},
      {{"calc", "all_reduce", "--machine", "dgx-h10", "-s", "1GB"}, "did you mean 'dgx-h100'"},
      {{"calc", "all_reduce", "--machine", "dgx-h100", "-n", "9", "-s", "1GB"}, "evenly"},
      {{"calc", "all_reduce", "--machine", "dgx-h100", "--nodes", "0", "-s", "1GB"}, "--nodes 0"},
      {{"calc", "path", "--gpu", "A1000", "--nic", "NDR"}, "did you mean"},
      {{"calc", "path", "--gpu", "A100", "--nic", "NDX"}, "unknown NIC 'NDX'"},
      {{"calc", "path", "--gpu", "A100", "--nic", "NDR", "--pcie", "9"}, "not a generation"},
      {{"calc", "path", "--gpu", "A100", "--nic", "NDR", "--pairs", "0"}, "0 pairs"},
      {{"calc", "bucket", "--params", "0", "-n", "8", "--beta", "1GB/s", "--alpha", "1us"},
       "--params 0"},
      {{"calc", "bucket", "--params", "nan", "-n", "8", "--beta", "1GB/s", "--alpha", "1us"},
       "--params nan"},
      {{"calc", "bucket", "--params", "1e9", "-n", "8", "--beta", "1GB/s", "--alpha", "1us",
        "--bucket-mb", "1e-300"},
       "a bucket of no bytes"},
      {{"calc", "bucket", "--params", "1e9", "-n", "8", "--beta", "1GB/s", "--alpha", "1us",
        "--bucket-mb", "0"},
       "--bucket-mb 0 is no bucket size, expected more than 0"},
      {{"calc", "bucket", "--params", "1e9", "-n", "8", "--beta", "1GB/s", "--alpha", "1us",
        "--dtype", "foo"},
       "unknown data type 'foo'; known: fp64, fp32, bf16"},
      {{"calc", "all_reduce", "-n", "99999999999", "-s", "1GB"},
       "-n/--ranks 99999999999 is out of range, expected a whole number up to 2147483647"},
      {{"calc", "all_reduce", "--ranks", "8.5", "-s", "1GB"}, "-n/--ranks 8.5 is not a whole"},
      {{"calc", "all_reduce", "-n", "8", "-s", "1GB", "--alpha", "1us", "--beta", "1e-300B/s"},
       "below 1 B/s"},
  };
  for (const auto& [arguments, message] : cases) {
    const auto run = run_binary(arguments);
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_EQ(run.out, "") << run;
    EXPECT_EQ(test::lines_of(run.err).size(), 1u) << run;
    EXPECT_NE(run.err.find(message), std::string::npos) << message << "\n" << run;
  }
}

}  // namespace
}  // namespace comm_probe
