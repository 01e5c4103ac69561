// Which backend vLLM takes, and why not the ones before it. Values: shared spec custom-allreduce.md
// sections 1.4, 2 and 2.1; lines of data/infer/sample_vllm_startup_lines.txt.
#include "serving/vllm_backends.h"

#include <gtest/gtest.h>

#include <fstream>

namespace comm_probe::serving {
namespace {

using namespace core::literals;  // NOLINT

ServingJob job(int sm, int ranks, core::Bytes bytes) {
  ServingJob made;
  made.sm = sm;
  made.ranks = ranks;
  made.bytes = bytes;
  made.has_multicast = sm >= 90;
  return made;
}

std::string taken_by(const ServingJob& given, const std::string& version = "0.23") {
  const auto answers = backends_of(given, *vllm_order(version));
  const BackendAnswer* answer = taken(answers);
  if (answer == nullptr) return "";
  std::string text = backend_name(answer->backend);
  if (answer->kernel) text += std::string(" ") + small_kernel_name(*answer->kernel);
  return text;
}

struct Row {
  const char* name;
  int sm;
  int ranks;
  core::Bytes bytes;
  const char* expected;
};
class Defaults : public testing::TestWithParam<Row> {};

TEST_P(Defaults, TakeTheirBackend) {
  const Row& row = GetParam();
  EXPECT_EQ(taken_by(job(row.sm, row.ranks, row.bytes)), row.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, Defaults,
    testing::Values(Row{"h100x8_below", 90, 8, core::Bytes::of(262144 - 16), "CUSTOM one-shot"},
                    Row{"h100x8_at_256KiB", 90, 8, 256_KiB, "SYMM_MEM multimem"},
                    Row{"h100x8_64MiB", 90, 8, 64_MiB, "SYMM_MEM multimem"},
                    Row{"h100x8_above", 90, 8, 65_MiB, "PYNCCL"},
                    Row{"h100x4_256KiB", 90, 4, 256_KiB, "CUSTOM one-shot"},
                    Row{"h100x4_512KiB", 90, 4, 512_KiB, "CUSTOM two-shot"},
                    Row{"h100x4_at_8MiB", 90, 4, 8_MiB, "SYMM_MEM multimem"},
                    Row{"h100x4_32MiB", 90, 4, 32_MiB, "SYMM_MEM multimem"},
                    Row{"h100x4_above", 90, 4, 33_MiB, "PYNCCL"},
                    Row{"h100x2_4MiB", 90, 2, 4_MiB, "CUSTOM one-shot"},
                    Row{"a100x8_1MiB", 80, 8, 1_MiB, "CUSTOM two-shot"},
                    Row{"a100x8_8MiB", 80, 8, 8_MiB, "PYNCCL"},
                    Row{"h100x3", 90, 3, 64_KiB, "PYNCCL"},
                    Row{"b200x4_two_shot_symm", 100, 4, 4_MiB, "SYMM_MEM symm two-shot"}),
    [](const auto& row) { return row.param.name; });

// Golden GA-09b: the table says 32 MiB for 4 x H100, the object takes the smaller of it and 8 MiB.
TEST(VllmBackends, LimitIsTheSmallerOfTableAndObject) {
  EXPECT_EQ(custom_table_limit(90, 4), 32_MiB);
  EXPECT_EQ(custom_limit(job(90, 4, 1_KiB)), 8_MiB);
  EXPECT_EQ(custom_limit(job(90, 8, 1_KiB)), 256_KiB);
  ServingJob without = job(90, 8, 1_KiB);
  without.settings.symm_mem = false;
  EXPECT_EQ(custom_limit(without), 8_MiB);
}

// Outside the open interval NCCL's symmetric memory is first, where it is switched on.
TEST(VllmBackends, NcclSymmetricMemoryHasAnInterval) {
  for (const auto& [bytes, expected] : std::vector<std::pair<core::Bytes, std::string>>{
           {16_KiB, "NCCL_SYMM_MEM symmetric kernel"},
           {32_KiB, "CUSTOM one-shot"},
           {128_KiB, "NCCL_SYMM_MEM symmetric kernel"}}) {
    ServingJob given = job(90, 8, bytes);
    given.settings.nccl_symm = true;
    EXPECT_EQ(taken_by(given), expected);
  }
  ServingJob invariant = job(90, 8, 16_KiB);
  invariant.settings.nccl_symm = invariant.settings.batch_invariant = true;
  EXPECT_EQ(taken_by(invariant).rfind("PYNCCL", 0), 0u) << taken_by(invariant);
}

// vllm/config/parallel.py and symm_mem.py: batch-invariant mode leaves PYNCCL alone.
TEST(VllmBackends, BatchInvariantLeavesNccl) {
  for (const core::Bytes bytes : {16_KiB, 128_KiB, 1024_KiB}) {
    ServingJob given = job(90, 8, bytes);
    EXPECT_NE(taken_by(given).rfind("PYNCCL", 0), 0u);
    given.settings.batch_invariant = true;
    EXPECT_EQ(taken_by(given).rfind("PYNCCL", 0), 0u) << taken_by(given);
  }
}

// Start-up lines of v0.26.0 and of v0.31.0 in public logs; PCIE_IPC has a switch of its own.
TEST(VllmBackends, OrdersOfLaterReleases) {
  const auto all = [](const char* version) {
    const std::string line = start_up_line(backends_of(job(90, 4, 16_KiB), *vllm_order(version)));
    return line.substr(line.find("out of"));
  };
  EXPECT_EQ(all("0.26.0"),
            "out of potential backends: ['NCCL_SYMM_MEM', 'QUICK_REDUCE', 'FLASHINFER', "
            "'AITER_CUSTOM', 'CUSTOM', 'SYMM_MEM', 'PYNCCL']");
  EXPECT_EQ(all("0.31"), all("latest"));
  EXPECT_EQ(all("0.31"),
            "out of potential backends: ['FLASHINFER_PCIE_IPC', 'FLASHINFER', 'NCCL_SYMM_MEM', "
            "'QUICK_REDUCE', 'AITER_CUSTOM', 'CUSTOM', 'SYMM_MEM', 'PYNCCL']");
  ServingJob pcie = job(89, 2, 16_KiB);
  pcie.fully_linked = false;
  const auto is_built = [&pcie] {
    return backends_of(pcie, *vllm_order("latest")).front().is_built;
  };
  pcie.settings.flashinfer = true;
  EXPECT_FALSE(is_built());
  pcie.settings.pcie_ipc = true;
  EXPECT_TRUE(is_built());
}

// The lists and lines of the sample.
TEST(VllmBackends, LinesAreThoseOfVllm) {
  std::ifstream file(COMM_PROBE_SHARED "/data/infer/sample_vllm_startup_lines.txt");
  if (!file) GTEST_SKIP() << "no shared/data/infer beside this checkout";
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto stands = [&text](const std::string& line) {
    EXPECT_FALSE(line.empty());
    EXPECT_NE(text.find(line), std::string::npos) << line;
  };
  const auto line_of = [](const ServingJob& given, Backend backend) {
    for (const BackendAnswer& answer : backends_of(given, *vllm_order("0.23")))
      if (answer.backend == backend) return answer.log_line;
    return std::string();
  };
  const ServingJob a100 = job(80, 8, 1_MiB);
  stands(start_up_line(backends_of(a100, *vllm_order("0.23"))));
  stands(line_of(a100, Backend::kSymmMem));
  ServingJob three = job(90, 3, 64_KiB);
  stands(line_of(three, Backend::kCustom));
  stands(line_of(three, Backend::kSymmMem));
  ServingJob nodes = job(90, 16, 64_KiB);
  nodes.nodes = 2;
  stands(line_of(nodes, Backend::kCustom));
  ServingJob pcie = job(80, 4, 64_KiB);
  pcie.fully_linked = false;
  stands(line_of(pcie, Backend::kCustom));
  ServingJob off = job(80, 8, 64_KiB);
  off.settings.custom = false;
  stands(start_up_line(backends_of(off, *vllm_order("0.27"))));
}

TEST(VllmBackends, VersionsAndSettings) {
  EXPECT_EQ(vllm_order("v0.23.0")->order.front(), Backend::kNcclSymmMem);
  EXPECT_TRUE(vllm_order("0.23")->is_exact);
  EXPECT_FALSE(vllm_order("0.9.1")->is_exact);
  EXPECT_EQ(vllm_order("0.28")->order.front(), Backend::kFlashInfer);
  EXPECT_EQ(vllm_order("latest")->order.front(), Backend::kFlashInferPcieIpc);
  for (const char* text : {"", "1.0", "0.", "0.x", "v", "0.23rc", "0.99999999999999999999"})
    EXPECT_FALSE(vllm_order(text).ok()) << text;
  VllmSettings settings;
  EXPECT_TRUE(*apply(settings, "VLLM_ALLREDUCE_USE_SYMM_MEM", "0"));
  EXPECT_FALSE(settings.symm_mem);
  EXPECT_FALSE(*apply(settings, "NCCL_ALGO", "Tree"));
  EXPECT_FALSE(apply(settings, "VLLM_USE_NCCL_SYMM_MEM", "perhaps").ok());
}

// Two PCIe GPUs are allowed, three are not; nothing but PYNCCL spans nodes.
TEST(VllmBackends, PcieAndNodes) {
  ServingJob pcie = job(89, 2, 64_KiB);
  pcie.fully_linked = pcie.has_multicast = false;
  EXPECT_EQ(taken_by(pcie), "CUSTOM one-shot");
  pcie.ranks = 4;
  EXPECT_EQ(taken_by(pcie), "PYNCCL");
  ServingJob nodes = job(90, 16, 64_KiB);
  nodes.nodes = 2;
  EXPECT_EQ(taken_by(nodes), "PYNCCL");
}

}  // namespace
}  // namespace comm_probe::serving
