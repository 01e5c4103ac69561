// What NCCL's own model gives for public tables of healthy machines, beside what they measured: the
// one prediction of `calc --machine`, `nccl choose` and `curve`, checked against the world.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "run_binary.h"
#include "unit/topology/recorded_tree.h"

namespace comm_probe::test {
namespace {

using nlohmann::json;

struct Healthy {
  const char* file;
  const char* machine;
  int nodes;
};
const Healthy kHealthy[] = {
    {"c01_oci_h100_2n_allreduce.txt", "dgx-h100", 2},
    {"c03_aws_p5_2n_allreduce_rankprefix.txt", "aws-p5", 2},
    {"c06_aws_p5en_16n_allreduce_elided.txt", "aws-p5en", 16},
    {"c07_aws_p5_2n_allreduce_mpi_tagged.txt", "aws-p5", 2},
    {"c10_gcp_a3ultra_rdma_2n_allgather.txt", "gcp-a3-ultra", 2},
    {"c14_dgxa100_4n_allreduce_oldfmt.txt", "dgx-a100", 4},
    {"c19_oci_a100_2n_allreduce_v2_17.txt", "oci-a100", 2},
    {"c23_smc_h100_1n_allreduce_half_pmixnoise.txt", "dgx-h100", 1},
    {"c29_a100_1n_allreduce_novalidate.txt", "dgx-a100", 1},
    {"c31_a100_1n_reducescatter_novalidate.txt", "dgx-a100", 1},
    {"c32_a100_1n_allgather_novalidate.txt", "dgx-a100", 1},
    {"c60_alps_gh200_1n_allreduce_ofi1_13_0.txt", "gh200-quad", 1},
    {"c74_h100_10n_G1_five_collectives.txt", "dgx-h100", 10},
    {"c76_h100_1n_G8_five_collectives.txt", "dgx-h100", 1},
    {"c80_h100_4gpu_allreduce_full.txt", "dgx-h100", 1},
    {"c81_h100_4gpu_allgather_full.txt", "dgx-h100", 1},
    {"c86_a100_8gpu_allreduce_patchedprefix.txt", "dgx-a100", 1},
    {"c93_aws_p5_2n_allreduce_eks.txt", "aws-p5", 2},
    {"f05_h100_4n_nccl2_19_3.txt", "dgx-h100", 4},
};

std::string path_of(const char* file) {
  return std::string(COMM_PROBE_SHARED) + "/data/field/curves/" + file;
}

TEST(NcclModel, HealthyMachinesReachIt) {
  if (!std::filesystem::exists(path_of("")))
    GTEST_SKIP() << "no " << path_of("") << ": the public curves stand in ../shared";
  int compared = 0;
  for (const Healthy& healthy : kHealthy) {
    const auto run = run_binary({"curve", path_of(healthy.file), "--machine", healthy.machine,
                                 "--nodes", std::to_string(healthy.nodes), "--json"});
    const json document = json::parse(run.out);
    for (const json& curve : document.at("result").at("curves")) {
      if (curve.at("nccl_model").is_null()) continue;
      ++compared;
      const double share = curve.at("nccl_model").at("share");
      EXPECT_GT(share, 0.85) << healthy.file << " " << curve.at("op");
      EXPECT_LT(share, 1.05) << healthy.file << " " << curve.at("op");
    }
    EXPECT_EQ(run.out.find("below-nccl-model"), std::string::npos) << healthy.file;
  }
  EXPECT_GE(compared, 23);
}

// p4d with NCCL 2.9.9: 43 GB/s, which is a ring's rate; the same machine reaches 77 with a tree
// (c02). Nothing is broken: an info, exit 0.
TEST(NcclModel, NamesTheAlgorithmWhoseRateACurveHas) {
  const std::string path = path_of("c94_aws_p4d_2n_allreduce_interleaved.txt");
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "no " << path << ": the public curves stand in ../shared";
  const auto run = run_binary({"curve", path, "--machine", "aws-p4d", "--nodes", "2", "--json"});
  EXPECT_EQ(run.status, 0) << run;
  const json finding = json::parse(run.out).at("findings").at(0);
  EXPECT_EQ(finding.at("id"), "curve.below-nccl-model");
  EXPECT_EQ(finding.at("severity"), "info");
  EXPECT_NE(finding.at("summary").get<std::string>().find("the rate of Ring"), std::string::npos);
}

// Standard input can be read once only: the machine for the links and the one for NCCL are one.
TEST(NcclModel, ATopologyFromStandardInput) {
  const char* curve = "c01_oci_h100_2n_allreduce.txt";
  if (!std::filesystem::exists(path_of(curve)))
    GTEST_SKIP() << "no " << path_of(curve) << ": the public curves stand in ../shared";
  const std::string xml = run_binary({"machines", "dgx-h100", "--topo"}).out;
  const std::string saved =
      run_binary({"topo", "show", "--from", "-", "--json"}, {.stdin_text = xml}).out;
  const json named =
      json::parse(run_binary({"curve", path_of(curve), "--machine", "dgx-h100", "--json"}).out);
  const json& expected = named.at("result").at("curves").at(0).at("nccl_model");
  ASSERT_FALSE(expected.is_null());
  for (const std::string& text : {xml, saved}) {
    const auto run =
        run_binary({"curve", path_of(curve), "--topo", "-", "--json"}, {.stdin_text = text});
    const json document = json::parse(run.out);
    EXPECT_EQ(document.at("result").at("curves").at(0).at("nccl_model"), expected) << run;
  }
}

// The folder of a recorded machine and what `topo show` saved of it are one machine.
TEST(NcclModel, ATopologyFromAFolder) {
  const char* curve = "c40_polaris_2n_allreduce_cfg1_tcp.txt";
  if (!std::filesystem::exists(path_of(curve)))
    GTEST_SKIP() << "no " << path_of(curve) << ": the public curves stand in ../shared";
  RecordedTree tree;
  tree.four_switches();
  std::string gpus;
  for (int i = 0; i < 4; ++i)
    gpus += fmt::format(
        "{}{{\"index\":{},\"bus_id\":\"0000:{}3:00.0\",\"name\":\"NVIDIA A100\",\"sm\":80}}",
        i == 0 ? "" : ",", i, i + 1);
  tree.file("nvml.json", "{\"gpus\":[" + gpus + "]}");
  const std::string saved = run_binary({"topo", "show", "--from", tree.path(), "--json"}).out;
  const auto model_from = [&](const std::string& topo) {
    const auto run =
        run_binary({"curve", path_of(curve), "--topo", topo, "--json"}, {.stdin_text = saved});
    return json::parse(run.out).at("result").at("curves").at(0).at("nccl_model");
  };
  const json expected = model_from("-");
  EXPECT_FALSE(expected.is_null());
  EXPECT_EQ(model_from(tree.path()), expected);
}

}  // namespace
}  // namespace comm_probe::test
