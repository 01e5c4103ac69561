#include "measure/lab/setting_lab.h"

#include <fmt/format.h>

#include <filesystem>

namespace comm_probe::measure::lab {
namespace {

using core::Result;

constexpr int kSharedRanks = 4;
constexpr int kBenchFound = 1, kBenchLimited = 5;  // exit statuses that still leave a table
constexpr const char* kTable = "table.txt";

std::string part_of(const std::string& folder, bool is_planted) {
  return fmt::format("{}/{}", folder, is_planted ? "planted" : "healthy");
}

bool shares_gpu(const SettingCase& planted, int gpus) {
  return gpus < 2 || planted.needs_network();
}

std::string setting_for(const std::string& setting, const std::vector<std::string>& rdma) {
  const auto place = setting.find('%');
  if (place == std::string::npos || rdma.empty()) return setting;
  return setting.substr(0, place) + rdma.front() + setting.substr(place + 1);
}

Result<JobEnd> run_part(const SettingRequest& request, bool is_planted) {
  const std::string folder = part_of(request.job.folder, is_planted);
  if (const auto made = write_files(folder, {}); !made) return made.error();
  const std::string table = fmt::format("{}/{}", folder, kTable);
  const JobEnd end = run_command(
      command_of(request.planted, is_planted, request.program, folder, request.gpus, request.rdma),
      table, request.job.patience);
  const bool left_table =
      end.status == 0 || end.status == kBenchFound || end.status == kBenchLimited;
  if (end.interrupted_by != 0 || (left_table && !end.is_cut)) return end;
  return core::missing_error(
      fmt::format("the {} run {}", is_planted ? "planted" : "healthy",
                  end.is_cut ? "was not over when patience was" : "left no table"),
      fmt::format("{} says what it got to", table));
}

}  // namespace

const std::vector<SettingCase>& setting_cases() {
  static const std::vector<SettingCase> cases = {
      {"forced_algorithm",
       {"NCCL_ALGO=Ring", "NCCL_PROTO=Simple"},
       "NCCL may take the ring with the protocol Simple only, whatever the size",
       "nccl.choice-forced"},
      {"one_channel",
       {"NCCL_MAX_NCHANNELS=1"},
       "NCCL may use one channel only",
       "nccl.fewer-channels"},
      {"p2p_off",
       {"NCCL_P2P_DISABLE=1"},
       "no GPU reaches another's memory, every byte goes through the host's",
       "job.nvlink-unused",
       2},
      {"socket",
       {"NCCL_IB_DISABLE=1"},
       "the RDMA devices are not used, bytes go over TCP",
       "log.tcp-by-setting",
       1,
       1},
      {"gdr_off",
       {"NCCL_NET_GDR_LEVEL=LOC"},
       "no NIC reads a GPU's memory, every byte goes through the host's",
       "log.gdr-distance",
       1,
       1},
      {"one_nic",
       {"NCCL_IB_HCA==%"},
       "one of the RDMA devices is used, the others are not",
       "job.nics-unused",
       1,
       2},
  };
  return cases;
}

const SettingCase* find_setting_case(std::string_view slow_class) {
  for (const SettingCase& known : setting_cases())
    if (known.slow_class == slow_class) return &known;
  return nullptr;
}

std::vector<std::string> rdma_devices(const core::Host& host) {
  return host.list("/sys/class/infiniband");
}

std::optional<core::Error> missing_for(const SettingCase& planted, int gpus,
                                       const std::vector<std::string>& rdma) {
  const auto lacks = [&](int has, int needs, const char* what) {
    return core::missing_error(
        fmt::format("lab slow --class {}: {} {}{} here, it needs {}", planted.slow_class,
                    has == 0 ? "no" : std::to_string(has), what, has == 1 ? "" : "s", needs),
        "comm-probe lab slow --class list says what each needs");
  };
  if (gpus < planted.gpus) return lacks(gpus, planted.gpus, "GPU");
  const int devices = static_cast<int>(rdma.size());
  if (devices < planted.rdma_devices) return lacks(devices, planted.rdma_devices, "RDMA device");
  return std::nullopt;
}

std::vector<std::string> command_of(const SettingCase& planted, bool is_planted,
                                    const std::string& program, const std::string& folder, int gpus,
                                    const std::vector<std::string>& rdma) {
  std::vector<std::string> command = {"env"};
  if (is_planted)
    for (const std::string& setting : planted.settings)
      command.push_back(setting_for(setting, rdma));
  for (const char* word : {program.c_str(), "bench", "all_reduce", "--backend", "nccl", "-f", "8"})
    command.emplace_back(word);
  if (shares_gpu(planted, gpus))
    command.insert(command.end(), {"--one-gpu-ranks", std::to_string(kSharedRanks), "-e", "2M"});
  else
    command.insert(command.end(), {"-g", std::to_string(gpus), "-e", "1G"});
  command.insert(command.end(), {"--keep", folder});
  return command;
}

Result<JobEnd> make_slow_by_setting(const SettingRequest& asked,
                                    const std::function<void(const std::string&)>& progress) {
  SettingRequest request = asked;
  std::error_code error;
  request.job.folder = std::filesystem::absolute(asked.job.folder, error);
  const std::string truth =
      fmt::format("{}: {}\n", request.planted.slow_class, request.planted.planted);
  if (const auto written = write_files(request.job.folder, {{"truth.txt", truth}}); !written)
    return written.error();
  JobEnd both;
  for (const bool is_planted : {false, true}) {
    progress(fmt::format("all_reduce by NCCL, {}",
                         is_planted ? request.planted.planted : "as it comes"));
    const auto end = run_part(request, is_planted);
    if (!end) return end.error();
    both.took = both.took + end->took;
    both.interrupted_by = end->interrupted_by;
    if (both.interrupted_by != 0) break;
  }
  return both;
}

}  // namespace comm_probe::measure::lab
