#include "topology/readers/command_text.h"

#include <fmt/format.h>

#include "topology/readers/fact_reader.h"
#include "topology/readers/ip_link_text.h"
#include "topology/readers/matrix_words.h"
#include "topology/readers/nvidia_smi_topo.h"
#include "topology/record.h"

namespace comm_probe::topology {
namespace {

using core::Result;

constexpr std::uint64_t kLargest = std::uint64_t{64} << 20;

struct Row {
  const char* kind;
  std::unique_ptr<FactReader> (*make)();
};
constexpr Row kReaders[] = {
    {"lspci", lspci_reader},
    {"lspci-tree", lspci_tree_reader},
    {"nvidia-smi-p2p", peer_status_reader},
    {"nvidia-smi-nvlink", nvlink_status_reader},
    {"numactl", numactl_reader},
    {"ibstat", ibstat_reader},
    {"ibstatus", ibstatus_reader},
    {"ibv_devinfo", ibv_devinfo_reader},
    {"rdma-link", rdma_link_reader},
    {"ibdev2netdev", ibdev_reader},
    {"show_gids", show_gids_reader},
    {"ethtool", ethtool_reader},
    {"mlnx_qos", mlnx_qos_reader},
    {"lsmod", lsmod_reader},
    {"ip-link", ip_link_reader},
};

constexpr const char* kExpected =
    "expected `nvidia-smi topo -m`, an NCCL topology XML, a saved `topo show --json`, a recorded "
    "machine, or the output of lspci, nvidia-smi topo -p2p, nvidia-smi nvlink -s, numactl -H, "
    "ibstat, ibstatus, ibv_devinfo, rdma link, show_gids, ethtool -S, mlnx_qos, ip link or lsmod";

class TextReading {
 public:
  TextReading() {
    for (const Row& row : kReaders) readers_.push_back(row.make());
  }
  void take(const SourceLine& line) {
    for (const auto& reader : readers_) reader->take(line);
  }
  void put(Source& source) {
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      HostFacts facts;
      if (!readers_[i]->put(facts)) continue;
      merge_facts(source.facts, facts);
      source.kind += (source.kind.empty() ? "" : ", ") + std::string(kReaders[i].kind);
    }
  }

 private:
  std::vector<std::unique_ptr<FactReader>> readers_ = {};
};

Result<Source> read_text(const std::string& name, const std::string& text,
                         const std::string& command) {
  Source source{.name = name};
  TextReading reading;
  if (looks_like_link_json(text)) {
    reading.take({text, name, 1});
    reading.put(source);
    if (!source.kind.empty()) return source;
  }
  if (!command.empty()) reading.take({"$ " + command, name, 0});
  core::Input lines_of = core::Input::from_memory(name, text);
  core::LineReader lines(lines_of);
  core::Line line;
  while (lines.next(line)) {
    const std::string plain = without_colour(line.text);
    reading.take({plain, name, line.number});
  }
  if (lines.error()) return *lines.error();
  core::Input again = core::Input::from_memory(name, text);
  auto matrix = read_nvidia_smi_topo(again);
  if (matrix) {
    source.survey = survey_of(*matrix);
    source.survey->source = name;
    source.kind = source.survey->kind;
  }
  reading.put(source);
  if (!source.kind.empty()) return source;
  core::Error error = core::input_error(fmt::format("no output of a known command, {}", kExpected));
  error.where.file = name;
  return error;
}

}  // namespace

Result<Source> read_command_text(core::Input& input, const std::string& command) {
  const bool is_json = looks_like_link_json(input.head());
  if (!is_json && core::classify_content(input.head()) != core::ContentClass::kText) {
    core::Error error = core::input_error(
        fmt::format("found {}, {}", core::describe_content(input.head()), kExpected));
    error.where.file = input.name();
    return error;
  }
  const auto text = input.read_all(kLargest);
  if (!text) return text.error();
  return read_text(input.name(), *text, command);
}

std::vector<Source> read_recorded_commands(const core::Host& host) {
  std::vector<Source> sources;
  for (const std::vector<std::string>& command : recorded_commands(host)) {
    const auto text = host.output(command);
    if (!text) continue;
    auto source = read_text(host.name() + core::Host::output_path(command), *text,
                            fmt::format("{}", fmt::join(command, " ")));
    if (source) sources.push_back(std::move(*source));
  }
  return sources;
}

}  // namespace comm_probe::topology
