// `doctor` on the worked cases of ../shared/data/field/cases.md: where the cause is confirmed (C,
// S) and the evidence is in the files, it is the first finding; where it is inferred or unresolved
// (I, U) nothing is called certain; what is harmless stays quiet. Each case has a twin: the same
// files with the cause taken out (lines dropped, words replaced), which must be quiet.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kField = fs::path(COMM_PROBE_SHARED) / "data/field";

// What takes the cause out: lines with `word` go, or `word` becomes `with`.
struct Cure {
  std::string word;
  std::optional<std::string> with = {};
};
struct Case {
  std::string name;
  std::vector<std::string> files;
  std::string first;  // id of the first finding
  bool is_confirmed = true;
  std::vector<Cure> cures = {};  // none: there is no twin
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

constexpr const char* kTcpLog = "logs/l12_v2.20.5_polaris_2n_socket_fallback.log";

const std::vector<Case> kCases = {
    {"1_tcp_on_slingshot",
     {kTcpLog, "curves/c40_polaris_2n_allreduce_cfg1_tcp.txt",
      "curves/c43_polaris_8n_allreduce_cfg1_tcp.txt"},
     "log.tcp-fallback",
     true,
     {{"No plugin found"},
      {"NET/Socket"},
      {"Using network Socket", "Using network AWS Libfabric"}}},
    {"1_with_the_good_run",
     {kTcpLog, "curves/c40_polaris_2n_allreduce_cfg1_tcp.txt",
      "curves/c42_polaris_2n_allreduce_cfg4_ofi.txt"},
     "log.tcp-fallback"},
    {"2_peermem_renamed",
     {"logs/l45_gdr_disabled_peermem_rename.log"},
     "log.gdr-unavailable",
     true,
     {{"RDMA Disabled", "RDMA Enabled"}}},
    {"3_acs_on",
     {"logs/l47_ib_error4_vendor81_gdr_acs.log", "topo/d10_acsctl_alternating_tabs_fragment.txt"},
     "topo.acs-redirects",
     true,
     {{"error 4"}, {"Redir+", "Redir-"}, {"UpstreamFwd+", "UpstreamFwd-"}}},
    {"3_acs_not_in_the_files",
     {"logs/l47_ib_error4_vendor81_gdr_acs.log"},
     "log.ib-local-protection",
     true,
     {{"error 4"}}},
    {"3_abort_cascade_and_acs",
     {"logs/l62_acs_gdr_abort_cascade_h100.log", "topo/d09_acsctl_mixed_on_fragment.txt"},
     "topo.acs-redirects",
     true,
     {{"ailure"}, {"Abort COMPLETE"}, {"Redir+", "Redir-"}, {"UpstreamFwd+", "UpstreamFwd-"}}},
    {"4_gid_link_local",
     {"logs/l33_modify_qp_timeout_gid1_linklocal.log"},
     "log.rdma-connect",
     true,
     {{"ibv_modify_qp failed", "ibv_modify_qp done"}, {"WARN", "INFO"}}},
    {"4_gid_unknown",
     {"logs/l32_error12_oldformat_roce_gid.log", "topo/d05_ibv_devinfo_roce_bond_v100.txt"},
     "log.ib-no-answer",
     true,
     {{"error 12"}, {" -> "}}},
    {"5_duplicate_gpu",
     {"logs/l36_duplicate_gpu_mpi_8ranks.log"},
     "log.duplicate-gpu",
     true,
     {{"Duplicate GPU"}, {" -> 5"}}},
    {"5_duplicate_gpu_slurm",
     {"logs/l36b_duplicate_gpu_slurm_two_jobsteps.log"},
     "log.duplicate-gpu",
     true,
     {{"Duplicate GPU"}, {" -> 5"}}},
    {"6_shm_full",
     {"logs/l37_shm_fallocate_nospace_v2.5.log"},
     "log.shm-full",
     true,
     {{"fallocate"}, {" -> 2"}}},
    {"6_shm_full_2_18",
     {"logs/l38_shm_extend_failed_v2.18.log"},
     "log.shm-full",
     true,
     {{"/dev/shm"}, {" -> 2"}}},
    {"7_container_without_devices",
     {"logs/l43_container_ibv_open_device_failed_noprefix.log"},
     "log.rdma-devices-missing",
     false,
     {{"open_device"}, {"Unable to open"}}},
    {"8_without_mpi",
     {"curves/f08_2n_without_mpi_two_tables_interleaved.txt",
      "logs/l54_singleton_comms_channels_only_rank0.log"},
     "curve.misrun"},
    {"8_without_mpi_headers",
     {"curves/f10_2n_headers_twice_both_rank0.txt", "logs/l51_vm_no_mpi_kvconvert_net_phb.log"},
     "curve.misrun"},
    {"9_nvls_after_fabric_manager",
     {"logs/l46_nvls_bind_invalid_argument_fm_restart.log"},
     "log.nvls-failed",
     true,
     {{"nvls.cc"}, {" -> 1"}}},
    {"10_shared_memory_limit",
     {"logs/l48_v2.25.1_rtx5090_maxsharedmem.log", "perftest/p18_rtx5090_2gpu_no_p2p.txt"},
     "log.shared-memory-limit",
     true,
     {{"axSharedMem"}, {"Cuda failure"}, {" -> 1"}, {"ailure"}, {"Could not find a path"}}},
    {"12_gpu_off_nvlink",
     {"topo/t20_b200_gpu2_off_nvlink_fragment.txt"},
     "topo.nvlink-incomplete",
     false},
    {"12_nvlink_inactive",
     {"topo/t33_v100_nvlink_status_inactive.txt"},
     "topo.nvlink-inactive",
     true,
     {{"<inactive>", "25.781 GB/s"}}},
    {"15_wrong_provider",
     {"logs/l58_ofi_wrong_provider_tcp_rxm.log"},
     "log.wrong-provider",
     true,
     {{"tcp;ofi_rxm", "efa"}}},
    {"20_collapse",
     {"curves/f02_h100_3n_rows_split_by_rank_tag.txt",
      "topo/t21_h100_cloudvm_9nic_tabs_truncated.txt"},
     "curve.collapse",
     false},
    {"pairs", {"curves/c72_h100_17n_pairwise_G1.csv"}, "curve.pair-slow", false},
    {"wrong_numbers", {"curves/f17_rtx3090_2n_inc_wrong_scientific.txt"}, "curve.wrong-results"},
};

struct Told {
  json document = {};
  int status = -1;
};

Told doctor(const std::vector<std::string>& files) {
  std::vector<std::string> words = {"doctor", "--json"};
  words.insert(words.end(), files.begin(), files.end());
  const BinaryRun run = run_binary(words);
  Told told{json::parse(run.out, nullptr, false), run.status};
  EXPECT_TRUE(told.document.is_object()) << run;
  return told;
}

std::string cured(const fs::path& path, const std::vector<Cure>& cures) {
  std::ifstream file(path);
  std::string text;
  for (std::string line; std::getline(file, line);) {
    bool is_kept = true;
    for (const Cure& cure : cures) {
      if (!cure.with) is_kept = is_kept && line.find(cure.word) == line.npos;
      for (std::size_t at = 0; cure.with && (at = line.find(cure.word, at)) != line.npos;
           at += cure.with->size())
        line.replace(at, cure.word.size(), *cure.with);
    }
    if (is_kept) text += line + "\n";
  }
  // What is left of a short log may be nothing: a line of a job that runs.
  if (path.extension() == ".log") text += "node00:1:1 [0] NCCL INFO Using network IB\n";
  return text;
}

class FieldCase : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!fs::exists(kField)) GTEST_SKIP() << kField << " is not here";
  }
};

TEST_P(FieldCase, NamesTheCauseFirst) {
  const Case& param = GetParam();
  std::vector<std::string> files;
  for (const std::string& file : param.files) files.push_back((kField / file).string());
  const Told told = doctor(files);
  EXPECT_EQ(told.status, 1);
  const json& findings = told.document["findings"];
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0]["id"], param.first) << findings.dump(1);
  EXPECT_FALSE(findings[0]["evidence"].empty());
  if (param.is_confirmed) return;
  for (const json& finding : findings) {
    const bool is_cause = finding["severity"] != "info" && finding["id"] != "curve.pair-failed";
    if (!is_cause) continue;
    EXPECT_NE(finding["confidence"], "certain") << finding.dump(1);
  }
}

// Of those whose cause is not the whole file.
std::vector<Case> cases_with_a_twin() {
  std::vector<Case> twins;
  for (const Case& each : kCases)
    if (!each.cures.empty()) twins.push_back(each);
  return twins;
}
class FieldTwin : public FieldCase {};

TEST_P(FieldTwin, IsQuietWithoutTheCause) {
  const Case& param = GetParam();
  const fs::path folder =
      fs::temp_directory_path() / ("comm-probe-twin-" + param.name + std::to_string(getpid()));
  fs::create_directories(folder);
  std::vector<std::string> files;
  for (const std::string& file : param.files) {
    files.push_back((folder / fs::path(file).filename()).string());
    std::ofstream(files.back()) << cured(kField / file, param.cures);
  }
  const Told told = doctor(files);
  for (const json& finding : told.document["findings"])
    EXPECT_EQ(finding["severity"], "info") << finding.dump(1);
  EXPECT_TRUE(told.status == 0 || told.status == 5) << told.status;
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Cases, FieldCase, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Cases, FieldTwin, testing::ValuesIn(cases_with_a_twin()),
                         [](const auto& info) { return info.param.name; });

// Harmless warnings, cold first rows, healthy submissions.
TEST(FieldCases, HarmlessWarningsStayQuiet) {
  if (!fs::exists(kField)) GTEST_SKIP() << kField << " is not here";
  const std::vector<std::vector<std::string>> piles = {
      {"logs/l02_v2.12.10_azure_16n_ib_sharp_init_fail.log"},
      {"logs/l06_v2.22.3_oracle_128n_service_thread_warn.log",
       "curves/c06_aws_p5en_16n_allreduce_elided.txt"},
      {"logs/l13_v2.20.5_polaris_2n_ofi_cxi_trace.log",
       "curves/c42_polaris_2n_allreduce_cfg4_ofi.txt"},
      {"topo/t22_a100_pcie_nvlink_pairs.txt", "curves/f06_h100pcie_2gpu_nvlink_pair.txt"},
      {"logs/l15_v2.9.9_aws_p4d_2n_efa_healthy.log", "logs/l16_v2.12.7_aws_2n_efa_1gpu.log"},
      {"topo/t27_a100_10nic_glued_columns.txt"},
      {"topo/d06_lspci_kvm_flat_truncated.txt"},
      {"topo/t37_v100_hybridcube_nv1_nv2_2nic_truncated.txt"}};
  for (const auto& pile : piles) {
    std::vector<std::string> files;
    for (const std::string& file : pile) files.push_back((kField / file).string());
    const Told told = doctor(files);
    EXPECT_TRUE(told.status == 0 || told.status == 5) << pile.front() << ": " << told.status;
  }
}

}  // namespace
}  // namespace comm_probe::test
