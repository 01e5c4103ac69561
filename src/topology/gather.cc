#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "core/host_name.h"
#include "core/mask.h"
#include "topology/archive_walk.h"
#include "topology/bundle.h"
#include "topology/net_counters.h"
#include "topology/record.h"

namespace comm_probe::topology {
namespace {

using core::Json;
using core::Result;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr std::uint64_t kLargestFile = std::uint64_t{256} << 20;
constexpr std::uint64_t kLargestSum = std::uint64_t{900} << 20;
constexpr std::size_t kMostLogLines = 4000;  // of the kernel's log, the newest

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// core::Host ends a command after 20 s.
std::string why_missing(double seconds) {
  return seconds > 19 ? "took longer than 20 s and was ended" : "failed";
}

std::string words_of_command(const std::vector<std::string>& command) {
  return fmt::format("{}", fmt::join(command, " "));
}

// Whether PATH holds such a program, so that "not installed" and "failed" are told apart.
bool is_installed(const core::Host& host, const std::string& program) {
  std::istringstream folders(host.environment("PATH").value_or("/usr/sbin:/usr/bin:/sbin:/bin"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && host.exists(folder + "/" + program)) return true;
  return false;
}

// "nvidia-smi topo -m" -> "commands/nvidia-smi_topo_-m.txt"
std::string file_of_command(std::string command) {
  std::replace(command.begin(), command.end(), ' ', '_');
  return core::Host::output_path({command}).substr(1);
}

// The newest lines of a long log.
std::string last_lines(const std::string& text, std::size_t count) {
  std::size_t at = text.size();
  for (std::size_t lines = 0; at > 0; --at)
    if (text[at - 1] == '\n' && at != text.size() && ++lines == count) break;
  return text.substr(at);
}

// Settings of every stack that moves data between GPUs, and where the launcher put the process.
constexpr std::array<std::string_view, 31> kEnvironment = {"NCCL_",
                                                           "RCCL_",
                                                           "UCX_",
                                                           "UCC_",
                                                           "NVSHMEM_",
                                                           "TORCH_",
                                                           "PYTORCH_",
                                                           "CUDA_",
                                                           "HIP_",
                                                           "ROCR_",
                                                           "HSA_",
                                                           "OMPI_",
                                                           "PMI_",
                                                           "PMIX_",
                                                           "SLURM_",
                                                           "MASTER_",
                                                           "WORLD_SIZE",
                                                           "RANK",
                                                           "LOCAL_",
                                                           "GROUP_",
                                                           "FI_",
                                                           "OFI_",
                                                           "GLOO_",
                                                           "VLLM_",
                                                           "SGLANG_",
                                                           "SGL_",
                                                           "DEEP_EP",
                                                           "LD_LIBRARY_PATH",
                                                           "LD_PRELOAD",
                                                           "OMP_",
                                                           "KUBERNETES_SERVICE_HOST"};

class Gatherer {
 public:
  Gatherer(const core::Host& host, const GatherRequest& request)
      : host_(host), request_(request), start_(Clock::now()) {}
  Result<Gathered> make(void (*wait)(core::Duration));

 private:
  void machine();
  void command(const std::vector<std::string>& words);
  void commands();
  void environment();
  void configuration();
  void config_file(const std::string& path);
  void counters(const char* name);
  Result<bool> user_files();
  void user_file(const std::string& path, const std::string& place);
  void missing(const std::string& what, const std::string& why) {
    missing_.push_back({{"what", what}, {"why", why}});
  }
  void gathered(const std::string& what, const std::string& file, double seconds) {
    gathered_.push_back(
        {{"what", what}, {"file", file}, {"seconds", std::round(seconds * 1000) / 1000}});
  }
  std::string host_name() const { return core::known_host_name(host_).value_or(""); }
  void mask(Json& manifest);

  const core::Host& host_;
  const GatherRequest& request_;
  Clock::time_point start_;
  core::Archive archive_ = {};
  Json gathered_ = Json::array();
  Json missing_ = Json::array();
  Json files_ = Json::array();
  std::uint64_t sum_ = 0;
};

void Gatherer::machine() {
  const auto start = Clock::now();
  Recording recording = record_machine(host_);
  archive_ = std::move(recording.archive);
  gathered("the machine (sysfs, NVML, usual commands)", "sys/", seconds_since(start));
  for (const std::string& command : recording.commands)
    gathered(command, file_of_command(command), 0);
  for (const std::string& command : recording.missing)
    missing(command, is_installed(host_, command.substr(0, command.find(' ')))
                         ? why_missing(recording.seconds.at(command))
                         : "not installed");
}

void Gatherer::command(const std::vector<std::string>& words) {
  const std::string what = words_of_command(words);
  if (host_.is_real() && !is_installed(host_, words.front())) return missing(what, "not installed");
  if (seconds_since(start_) > request_.longest.in_seconds())
    return missing(what, fmt::format("no time left of {:.0f} s", request_.longest.in_seconds()));
  const auto start = Clock::now();
  const auto text = host_.output(words);
  if (!text) return missing(what, why_missing(seconds_since(start)));
  const std::string path = core::Host::output_path(words);
  archive_.add_file(path, words.front() == "dmesg" ? last_lines(*text, kMostLogLines) : *text);
  gathered(what, path.substr(1), seconds_since(start));
}

void Gatherer::commands() {
  for (const std::vector<std::string>& words : gathered_commands(host_)) command(words);
}

void Gatherer::environment() {
  std::string lines = archive_.read("environment").value_or("");
  for (const std::string_view beginning : kEnvironment)
    for (const std::string& name : host_.environment_names(std::string(beginning))) {
      if (("\n" + lines).find("\n" + name + "=") != std::string::npos) continue;
      std::string value = host_.environment(name).value_or("");
      std::replace(value.begin(), value.end(), '\n', ' ');
      lines += name + "=" + value + "\n";
    }
  std::string kept;
  std::istringstream all(lines);
  for (std::string line; std::getline(all, line);) {
    const std::string name = line.substr(0, line.find('='));
    kept += core::is_secret_name(name) ? name + "=" + std::string(core::kSecretMask) : line;
    kept += "\n";
  }
  archive_.add_file("environment", kept);
  gathered("environment (names of communication libraries and launchers)", "environment", 0);
}

void Gatherer::config_file(const std::string& path) {
  const auto text = host_.read(path);
  if (!text) return;
  archive_.add_file("config" + path, *text + "\n");
  gathered(path, "config" + path, 0);
}

void Gatherer::configuration() {
  std::vector<std::string> paths = {
      "/etc/nccl.conf", "/etc/os-release", "/proc/self/limits",
      "/proc/modules",  "/proc/version",   "/var/run/nvidia-topologyd/virtualTopology.xml"};
  if (const auto home = host_.home(std::nullopt)) paths.push_back(*home + "/.nccl.conf");
  for (const char* name : {"NCCL_CONF_FILE", "NCCL_TOPO_FILE", "NCCL_TUNER_CONFIG_FILE"})
    if (const auto path = host_.environment(name); path && path->starts_with("/"))
      paths.push_back(*path);
  for (const std::string& name : host_.list("/etc/modprobe.d"))
    if (name.find("nvidia") != std::string::npos || name.find("mlx") != std::string::npos)
      paths.push_back("/etc/modprobe.d/" + name);
  for (const std::string& path : paths) config_file(path);
  std::string versions;
  for (const char* module :
       {"nvidia", "nvidia_uvm", "nvidia_peermem", "gdrdrv", "mlx5_core", "mlx5_ib", "ib_core",
        "ib_uverbs", "efa", "bnxt_re", "irdma", "amdgpu"})
    if (const auto version = host_.read(fmt::format("/sys/module/{}/version", module)))
      versions += fmt::format("{} {}\n", module, *version);
  if (!versions.empty()) archive_.add_file("config/module_versions.txt", versions);
}

void Gatherer::counters(const char* name) {
  const NetSnapshot snapshot = read_net_counters(host_);
  if (snapshot.ports.empty()) return;
  const std::string path = fmt::format("counters/{}.txt", name);
  archive_.add_file(path, counters_text(snapshot));
  gathered(fmt::format("counters of {} port records, {}", snapshot.ports.size(), name), path, 0);
}

void Gatherer::user_file(const std::string& path, const std::string& place) {
  auto input = core::Input::open(path);
  if (!input) return missing(path, input.error().message);
  auto content = input->read_all(std::min(kLargestFile, kLargestSum - sum_));
  if (!content) return missing(path, content.error().message);
  sum_ += content->size();
  files_.push_back({{"path", path}, {"file", place}, {"bytes", content->size()}});
  archive_.add_file(place, std::move(*content));
}

// A file keeps its path, without what leads out of the archive: "../run/a.log" is files/run/a.log.
Result<bool> Gatherer::user_files() {
  for (const std::string& path : request_.paths) {
    if (path == "-")
      return core::input_error("standard input cannot be put into a bundle",
                               "give the name of a file");
    std::error_code error;
    if (!fs::exists(path, error)) {
      core::Error absent = core::input_error("no such file or folder");
      absent.where.file = path;
      return absent;
    }
    if (const auto kind = core::special_kind(path)) {
      missing(path, fmt::format("is {}, expected a file or a folder", *kind));
      continue;
    }
    const auto files = core::expand_paths({path});
    if (!files) return files.error();
    for (const std::string& file : *files) {
      std::string place = "files";
      for (const fs::path& part : fs::path(file).lexically_normal())
        if (part != ".." && part != "/" && part != "." && !part.empty())
          place += "/" + part.string();
      user_file(file, place);
    }
  }
  return true;
}

bool is_text(const std::string& content) {
  const auto kind = core::classify_content(std::string_view(content).substr(0, 65536));
  return kind == core::ContentClass::kText || kind == core::ContentClass::kJson ||
         kind == core::ContentClass::kXml || kind == core::ContentClass::kEmpty;
}

bool is_pickle(std::string_view content) {
  return content.size() > 2 && content[0] == '\x80' && content[1] >= 2 && content[1] <= 5;
}

// Packed, wide or a data base: names cannot be found in it.
bool can_be_masked(const std::string& content) { return is_text(content) || is_pickle(content); }

// Two passes: names are learnt from all texts first, so that a name in the first file that only the
// last one tells is masked too.
void Gatherer::mask(Json& manifest) {
  core::Masker masker(host_.environment("COMM_PROBE_MASK_KEY").value_or(""));
  masker.know_host(host_name());
  for (const char* name : {"USER", "LOGNAME", "SUDO_USER", "SLURM_JOB_USER"})
    masker.know_user(host_.environment(name).value_or(""));
  if (const auto home = host_.home(std::nullopt))
    masker.know_user(home->substr(home->rfind('/') + 1));
  const ArchivePaths all = paths_below(archive_, "");
  for (int round = 0; round < 2; ++round)  // the second one knows the hosts of all texts
    for (const std::string& path : all.files) {
      masker.learn(path);
      if (auto content = archive_.read(path); content && is_text(*content)) masker.learn(*content);
    }
  const auto masked_path = [&](const std::string& path) {
    const bool is_users = path.starts_with("files") || path.starts_with("config");
    return is_users ? masker.masked_path(path) : path;
  };
  core::Archive masked;
  for (const std::string& path : all.links)
    masked.add_link(masked_path(path), masked_path(archive_.link_target(path).value_or("")));
  for (const std::string& path : all.folders) masked.add_folder(masked_path(path));
  for (const std::string& path : all.files) {
    const std::string content = archive_.read(path).value_or("");
    if (path.starts_with("files") && !can_be_masked(content)) {
      std::erase_if(manifest["files"].get_ref<Json::array_t&>(),
                    [&](const Json& file) { return file["file"] == path; });
      manifest["missing"].push_back(
          {{"what", path}, {"why", "a packed or binary file, in which nothing can be masked"}});
      continue;
    }
    masked.add_file(masked_path(path),
                    is_text(content) ? masker.masked_text(content) : masker.masked_binary(content));
  }
  archive_ = std::move(masked);
  for (const auto& [list, key] :
       {std::pair("files", "path"), {"files", "file"}, {"gathered", "file"}, {"missing", "what"}})
    for (Json& each : manifest[list]) each[key] = masker.masked_path(each[key].get<std::string>());
  manifest = Json::parse(masker.masked_text(manifest.dump(1)), nullptr, false);
  // Numbers of the manifest are no addresses, but its text went through the same hands.
  if (manifest.is_discarded()) manifest = Json::object();
  manifest["comm_probe_bundle"] = 1;
  manifest["masked"] = true;
}

Result<Gathered> Gatherer::make(void (*wait)(core::Duration)) {
  machine();
  counters("first");
  const auto counted = Clock::now();
  environment();
  configuration();
  commands();
  if (const auto files = user_files(); !files) return files.error();
  if (archive_.read("counters/first.txt")) {
    const core::Duration left =
        request_.between_counters - core::Duration::from_seconds(seconds_since(counted));
    if (left > core::Duration()) wait(left);
    counters("second");
  }
  const auto now = host_.time();
  Json manifest = {{"comm_probe_bundle", 1},
                   {"comm_probe", request_.version},
                   {"host", host_name()},
                   {"time", now ? core::json_number(std::floor(now->in_seconds())) : Json()},
                   {"masked", false},
                   {"seconds", std::round(seconds_since(start_) * 1000) / 1000},
                   {"gathered", std::move(gathered_)},
                   {"missing", std::move(missing_)},
                   {"files", std::move(files_)}};
  if (request_.mask) mask(manifest);
  archive_.add_file("manifest.json", manifest.dump(1) + "\n");
  return Gathered{std::move(archive_), std::move(manifest)};
}

}  // namespace

std::vector<std::vector<std::string>> gathered_commands(const core::Host& host) {
  std::vector<std::vector<std::string>> commands = {
      {"nvidia-smi", "-q"},
      {"nvidia-smi", "nvlink", "-e"},
      {"nvidia-smi", "topo", "-p2p", "p"},
      {"rocm-smi", "--showtopo"},
      {"perfquery", "-x"},
      {"rdma", "statistic"},
      {"rdma", "system"},
      {"ofed_info", "-s"},
      {"fi_info", "-l"},
      {"ip", "-s", "link"},
      {"ip", "addr"},
      {"lscpu"},
      {"uname", "-a"},
      {"df", "-h", "/dev/shm"},
      {"systemctl", "is-active", "nvidia-fabricmanager"},
      {"dmesg"},
  };
  for (const std::string& device : host.list("/sys/class/infiniband"))
    for (const std::string& name : host.list("/sys/class/infiniband/" + device + "/device/net"))
      commands.push_back({"ethtool", name});
  return commands;
}

Result<Gathered> gather_node(const core::Host& host, const GatherRequest& request,
                             void (*wait)(core::Duration)) {
  return Gatherer(host, request).make(wait);
}

}  // namespace comm_probe::topology
