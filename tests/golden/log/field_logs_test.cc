// `log` on the logs that people posted (../shared/data/field/logs, causes confirmed in INDEX.md)
// and on those of real jobs (../shared/data/h200/logs): what INDEX.md says of version and network,
// the confirmed cause first, nothing where the job was healthy.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kShared = fs::path(COMM_PROBE_SHARED) / "data";

struct Case {
  const char* file;
  const char* version;  // the first; "" where the text has none
  const char* network;
  const char* first;     // id of the first finding; "" none
  const char* possible;  // id of a possible cause that must be named; "" none
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.file; }

constexpr Case kField[] = {
    {"l01_v2.11.4_8xA100pcie_1n_socket_healthy.log", "2.11.4+cuda11.4", "Socket", "", ""},
    {"l02_v2.12.10_azure_16n_ib_sharp_init_fail.log", "2.12.10+cuda11.6", "IBext", "", ""},
    {"l03_v2.12.10_dell_2n_ib_no_gdr.log", "2.12.10+cuda11.6", "IBext", "", ""},
    {"l04_v2.18.5_dell_2n_h100_ib_gdr_healthy.log", "2.18.5+cuda12.2", "IBext", "", ""},
    {"l06_v2.22.3_oracle_128n_service_thread_warn.log", "2.22.3+cuda12.6", "", "", ""},
    {"l07_v2.27.7_dell_2n_b200_gdr_dmabuf_healthy.log", "2.27.7+cuda13.0", "IBext_v10", "", ""},
    {"l08_rccl2.22.3_mi300x_2n_socket8nics.log", "RCCL 2.22.3-HEAD:271856d", "Socket", "", ""},
    {"l09_v2.19.3_nebius_2n_h100_ib_sharp_interleaved.log", "2.19.3+cuda12.3", "IBext", "", ""},
    {"l10_v2.7.8_v100_1n_opa_healthy.log", "2.7.8+cuda10.2", "IB", "", ""},
    {"l11_v2.10.3_a100_4n_opa_nogdr.log", "2.10.3+cuda11.3", "IB", "", ""},
    {"l12_v2.20.5_polaris_2n_socket_fallback.log", "2.20.5+cuda12.4", "Socket", "log.tcp-fallback",
     ""},
    {"l13_v2.20.5_polaris_2n_ofi_cxi_trace.log", "2.20.5+cuda12.4", "AWS Libfabric", "", ""},
    {"l14_v2.20.5_polaris_2n_ofi_sendrecv.log", "2.20.5+cuda12.4", "AWS Libfabric", "", ""},
    {"l15_v2.9.9_aws_p4d_2n_efa_healthy.log", "2.9.9+cuda11.2", "AWS Libfabric", "", ""},
    {"l16_v2.12.7_aws_2n_efa_1gpu.log", "2.12.7+cuda11.4", "AWS Libfabric", "", ""},
    {"l17_v2.7.3_3xA100_graph_tuning_pcie16_unknown.log", "2.7.3+cuda10.2", "Socket",
     "log.pci-speed-unknown", ""},
    {"l18_v2.29.2_6xH100_tuning_table_nvls.log", "2.29.2+cuda13.1", "Socket", "", ""},
    {"l19_v2.29.2_2xH100_algo_forced_ring.log", "2.29.2+cuda13.1", "Socket", "", ""},
    {"l20_v2.29.7_rtx5090_socket_tuning_broadcast.log", "2.29.7+cuda12.9", "", "", ""},
    {"l21_v2.29.7_1gpu_socket_multi_iface.log", "2.29.7+cuda12.9", "Socket", "", ""},
    {"l30_status12_roce_v2.27plugin_open.log", "", "", "log.ib-no-answer", "log.possible-gid"},
    {"l31_status12_then_249_ipv6_gid.log", "", "", "log.ib-no-answer", "log.possible-peer-death"},
    {"l32_error12_oldformat_roce_gid.log", "", "", "log.ib-no-answer", "log.possible-gid"},
    {"l33_modify_qp_timeout_gid1_linklocal.log", "", "", "log.rdma-connect", ""},
    {"l34_modify_qp_network_unreachable_h100.log", "", "", "log.rdma-connect", ""},
    {"l36_duplicate_gpu_mpi_8ranks.log", "", "", "log.duplicate-gpu", ""},
    {"l36b_duplicate_gpu_slurm_two_jobsteps.log", "", "", "log.duplicate-gpu", ""},
    {"l37_shm_fallocate_nospace_v2.5.log", "", "", "log.shm-full", ""},
    {"l38_shm_extend_failed_v2.18.log", "", "", "log.shm-full", ""},
    {"l40_no_route_to_host_second_nic_only.log", "", "Socket", "log.connect-failed", ""},
    {"l41_socketpollconnect_113_sglang.log", "", "", "log.connect-failed", ""},
    {"l42_v2.7.8_veth_selected_ansi_prefix.log", "2.7.8+cuda11.1", "Socket",
     "log.virtual-interface", ""},
    {"l43_container_ibv_open_device_failed_noprefix.log", "", "Socket", "log.rdma-devices-missing",
     ""},
    {"l45_gdr_disabled_peermem_rename.log", "", "", "log.gdr-unavailable", "log.possible-peermem"},
    {"l46_nvls_bind_invalid_argument_fm_restart.log", "", "", "log.nvls-failed", ""},
    {"l47_ib_error4_vendor81_gdr_acs.log", "", "", "log.ib-local-protection", "log.possible-acs"},
    {"l48_v2.25.1_rtx5090_maxsharedmem.log", "2.25.1+cuda12.8", "Socket", "log.shared-memory-limit",
     ""},
    {"l50_h100_vm_graph_paths_net_rows.log", "", "", "", ""},
    {"l51_vm_no_mpi_kvconvert_net_phb.log", "", "", "log.pci-speed-hidden", "log.possible-no-mpi"},
    {"l54_singleton_comms_channels_only_rank0.log", "", "", "log.one-rank", ""},
    {"l55_bootstrap_bad_address_family.log", "", "IBext_v6", "log.bad-address", ""},
    {"l58_ofi_wrong_provider_tcp_rxm.log", "2.4.6+cuda10.0", "", "log.wrong-provider", ""},
    {"l59_status12_intermittent_named_hca.log", "", "", "log.ib-no-answer", "log.possible-link"},
    {"l61_v2.8.3_t4_2gpu_init.log", "2.8.3+cuda10.0", "Socket", "", ""},
    {"l62_acs_gdr_abort_cascade_h100.log", "", "", "log.only-follow-ups", "log.possible-acs"},
    {"l63_v2.7.8_roce_bonds_p2p_shm_disabled.log", "2.7.8+cuda11.0", "IB", "", ""},
    {"l64_graph_path_rows_h100_pxb_sys.log", "", "", "", ""},
    {"l65_all_reduce_2n_a100_two_process_headers.log", "", "", "", ""},
    {"extra-log-2.28.9-2node-roce-nogdr.txt", "2.28.9+cuda13.0", "IB", "", ""},
    {"extra-log-2.29.2-2node-efa-fail.txt", "2.29.2+cuda12.8", "Libfabric", "log.gpu-architecture",
     ""},
};

json read(const fs::path& path, int& status) {
  const BinaryRun run = run_binary({"log", path.string(), "--json"});
  status = run.status;
  EXPECT_TRUE(run.err.empty()) << run;
  return json::parse(run.out);
}

bool has(const json& document, const std::string& id) {
  for (const json& finding : document.at("findings"))
    if (finding.at("id") == id) return true;
  return false;
}

class FieldLog : public testing::TestWithParam<Case> {};

TEST_P(FieldLog, SaysWhatItsIndexSays) {
  const Case& c = GetParam();
  const fs::path path = kShared / "field/logs" / c.file;
  if (!fs::exists(path)) GTEST_SKIP() << "no " << path;
  int status = 0;
  const json document = read(path, status);
  const json& result = document.at("result");
  const json& versions = result.at("versions");
  EXPECT_EQ(versions.empty() ? "" : versions.at(0).at("value"), c.version);
  const json& networks = result.at("networks");
  EXPECT_EQ(networks.empty() ? "" : networks.at(0).at("value"), c.network);
  const json& findings = document.at("findings");
  EXPECT_EQ(findings.empty() ? "" : findings.at(0).at("id"), c.first) << findings.dump(1);
  if (*c.possible != 0) {
    EXPECT_TRUE(has(document, c.possible)) << findings.dump(1);
  }
  bool is_bad = false;
  for (const json& finding : findings) is_bad = is_bad || finding.at("severity") != "info";
  EXPECT_EQ(status, is_bad ? 1 : 0);
}
INSTANTIATE_TEST_SUITE_P(All, FieldLog, testing::ValuesIn(kField));

TEST(FieldLogs, TheTableHasEveryFile) {
  const fs::path folder = kShared / "field/logs";
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder;
  std::size_t logs = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    logs += name.ends_with(".log") || name.starts_with("extra-log") ? 1 : 0;
  }
  EXPECT_EQ(logs, std::size(kField));
}

class HealthyJob : public testing::TestWithParam<const char*> {};

TEST_P(HealthyJob, GivesNoFinding) {
  const fs::path path = kShared / "h200/logs" / GetParam();
  if (!fs::exists(path)) GTEST_SKIP() << "no " << path;
  int status = 0;
  const json document = read(path, status);
  EXPECT_TRUE(document.at("findings").empty()) << document.at("findings").dump(1);
  EXPECT_EQ(status, 0);
}
INSTANTIATE_TEST_SUITE_P(All, HealthyJob,
                         testing::Values("one-rank.log", "four-nodes-socket", "tuning/n2.log",
                                         "tuning/n8.log", "tuning/n8-tree.log", "tuning/n8-ll.log",
                                         "tuning/n4-ring-ll128.log"));

TEST(RecordedJob, TwoRanksOnOneGpu) {
  const fs::path path = kShared / "h200/logs/duplicate-gpu.log";
  if (!fs::exists(path)) GTEST_SKIP() << "no " << path;
  int status = 0;
  const json document = read(path, status);
  EXPECT_EQ(document.at("findings").at(0).at("id"), "log.duplicate-gpu");
  EXPECT_EQ(document.at("findings").at(0).at("ranks"), json({0, 1}));
  EXPECT_EQ(status, 1);
}

}  // namespace
}  // namespace comm_probe::test
