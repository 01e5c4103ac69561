#include "cli/nccl_job.h"

#include <fmt/format.h>

#include "core/input.h"
#include "core/number.h"
#include "nccl/direct_talk.h"
#include "topology/job_machine.h"

namespace comm_probe::cli {
namespace {

using core::Result;
using topology::NcclVersion;

constexpr int kOldestMinor = 18;
constexpr int kNewestMinor = 30;
// Of a release that is named without patch: above every patch level that exists.
constexpr int kLastPatch = 99;
constexpr int kMostPatches = 20;  // no release has come near it
constexpr int kMostNodes = 65536;
// Their rings and trees take seconds and half a gigabyte; 65536 nodes of 8 GPUs are as many.
constexpr int kMostRanks = 524288;
constexpr topology::NcclVersion kNvlinkBetweenHosts = {2, 21, 0};

std::optional<int> number(std::string_view text) {
  const auto value = core::whole_number<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

}  // namespace

std::optional<core::Error> NcclJob::refusal() const {
  const int gpus = machine.count(topology::NodeType::kGpu);
  if (gpus > 0 && job.nodes > kMostRanks / gpus)
    return core::input_error(
        fmt::format("--nodes: {} nodes of {} GPUs are {} ranks, expected at most {}", job.nodes,
                    gpus, std::int64_t{job.nodes} * gpus, kMostRanks));
  if (job.mnnvl && machine.hosts() > 1 && version < kNvlinkBetweenHosts)
    return core::input_error(
        fmt::format("NCCL 2.{} has no NVLink between hosts (from 2.21), and this topology is of {} "
                    "hosts that are one NVLink domain",
                    version.minor, machine.hosts()),
        fmt::format("plan with the topology of one host and --nodes {}",
                    machine.hosts() * job.nodes));
  return std::nullopt;
}

Result<nccl::JobPlan> NcclJob::plan() const {
  const auto in_file = [&](core::Error error) {
    if (error.where.file.empty()) error.where.file = input.path;
    return error;
  };
  if (auto error = refusal()) return in_file(*error);
  auto planned = nccl::plan_job(machine, environment, version, job);
  if (!planned) return in_file(planned.error());
  return planned;
}

Result<nccl::Environment> parse_environment(const std::vector<std::string>& words) {
  nccl::Environment environment;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      return core::input_error(fmt::format("--env: '{}' is not NAME=VALUE", word));
    environment[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return environment;
}

Result<NcclVersion> parse_nccl_version(const std::string& text) {
  if (text.empty()) return NcclVersion{};
  const auto refused = [&] {
    return core::input_error(
        fmt::format("--version: '{}' is no NCCL release from 2.{} to 2.{}, which are known here; "
                    "expected one like 2.28 or 2.28.9",
                    text, kOldestMinor, kNewestMinor));
  };
  std::vector<int> parts;
  std::string_view rest = std::string_view(text).substr(0, text.find_first_of("-+"));
  if (rest.starts_with('v')) rest.remove_prefix(1);
  while (true) {
    const std::size_t dot = rest.find('.');
    const auto part = number(rest.substr(0, dot));
    if (!part || parts.size() == 3) return refused();
    parts.push_back(*part);
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  if (parts.size() < 2 || parts[0] != 2 || parts[1] < kOldestMinor || parts[1] > kNewestMinor)
    return refused();
  if (parts.size() == 3 && parts[2] > kMostPatches) return refused();
  const NcclVersion base;
  if (parts.size() == 3) return NcclVersion{2, parts[1], parts[2]};
  return parts[1] == base.minor ? base : NcclVersion{2, parts[1], kLastPatch};
}

std::string nccl_version_text(NcclVersion version) {
  if (version.patch == kLastPatch) return fmt::format("{}.{}", version.major, version.minor);
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

CLI::Option* add_nccl_version(CLI::App& app, std::string& target) {
  app.remove_option(app.get_version_ptr());
  return app
      .add_option("--version", target, "NCCL's release; only 2.28.9 is proven in every field")
      ->type_name("2.28")
      ->default_str("2.28.9");
}

Result<NcclJob> read_nccl_job(core::Input& input, nccl::Environment environment,
                              NcclVersion version) {
  auto read = topology::read_job_machine(input, version);
  if (!read) return read.error();
  NcclJob job;
  job.input = {input.name(), read->kind};
  job.caveats = std::move(read->reading.caveats);
  job.environment = std::move(environment);
  job.version = version;
  job.machine = std::move(read->reading.machine);
  job.facts = std::move(read->facts);
  job.job = nccl::implied_job(job.machine);
  job.job.refused = nccl::refused_pairs(job.facts);
  return job;
}

void NcclJobRequest::add_to(CLI::App& app, Shell& shell) {
  app.add_option(
         "--topo", topo_,
         "NCCL topology XML (NCCL_TOPO_DUMP_FILE writes one), the tar of `topo record`, or a "
         "saved `topo show --json`")
      ->type_name("FILE")
      ->required();
  app.add_option("--nodes", nodes_, "nodes like this one in the job")
      ->check(CLI::Range(1, kMostNodes))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--env", env_, "an NCCL setting; may be repeated")
      ->type_name("NAME=VALUE")
      ->take_all();
  const auto add_switch = [&](const char* name, std::optional<bool>& target, const char* help) {
    app.add_option(name, target, fmt::format("{} (default: what the topology implies)", help))
        ->check([](const std::string& word) -> std::string {
          return word == "0" || word == "1" ? "" : fmt::format("'{}' is not 0 or 1", word);
        })
        ->type_name("0|1");
  };
  add_switch("--multicast", multicast_, "NVLink multicast works");
  add_switch("--driver-p2p", driver_p2p_, "the driver allows P2P between all GPUs");
  add_switch("--collnet", collnet_, "the network offers collective offload");
  add_switch("--mnnvl", mnnvl_, "all hosts of the file are one NVLink domain");
  shell.add_common_flags(app);
  add_nccl_version(app, version_);
}

Result<NcclJob> NcclJobRequest::read() const {
  const auto environment = parse_environment(env_);
  if (!environment) return environment.error();
  const auto version = parse_nccl_version(version_);
  if (!version) return version.error();
  auto input = core::Input::open(topo_);
  if (!input) return input.error();
  auto read = read_nccl_job(*input, *environment, *version);
  if (!read) return read.error();
  nccl::Job& job = read->job;
  if (driver_p2p_) job.refused.clear();
  job.nodes = nodes_;
  job.multicast = multicast_.value_or(job.multicast);
  job.driver_p2p = driver_p2p_.value_or(job.driver_p2p);
  job.collnet = collnet_.value_or(job.collnet);
  job.mnnvl = mnnvl_.value_or(job.mnnvl);
  return read;
}

}  // namespace comm_probe::cli
