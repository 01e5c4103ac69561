#include "cli/topo_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::Bandwidth;
using core::Column;
using core::Table;
using topology::Road;
using topology::Survey;
using topology::SurveyDevice;
using Kind = SurveyDevice::Kind;

std::string rate_text(const std::optional<Bandwidth>& rate) {
  return rate ? core::format_number(rate->in_GBps()) : "";
}

std::string slot_text(const SurveyDevice& device) {
  std::string speed = device.slot.speed;
  if (const std::size_t end = speed.find(" PCIe"); end != std::string::npos) speed.resize(end);
  if (device.slot.width == 0) return speed;
  return fmt::format("{}{}x{}", speed, speed.empty() ? "" : " ", device.slot.width);
}

bool any(const Survey& survey, const std::vector<int>& which,
         bool (*has)(const SurveyDevice& device)) {
  return std::any_of(which.begin(), which.end(), [&](int i) { return has(survey.device(i)); });
}

// The nearest devices of a kind: nearest type, then the widest.
std::vector<const Road*> nearest(const Survey& survey, int from, Kind kind) {
  std::vector<const Road*> best;
  for (const int to : survey.of(kind)) {
    const Road* road = survey.road(from, to);
    if (road == nullptr) continue;
    const auto rank = [](const Road& r) {
      return std::tuple(r.type, r.nccl ? -r.nccl->in_GBps() : 0.0, r.printed);
    };
    if (!best.empty() && rank(*road) > rank(*best.front())) continue;
    if (!best.empty() && rank(*road) < rank(*best.front())) best.clear();
    best.push_back(road);
  }
  return best;
}

// Only a graph shows that there is no path.
std::string nothing_near(const Survey& survey) { return survey.machine ? "none" : "not known"; }

std::string names_of(const Survey& survey, const std::vector<const Road*>& roads) {
  std::string names;
  for (const Road* road : roads) names += (names.empty() ? "" : " ") + survey.device(road->to).name;
  return names;
}

// "1.25 ?" where it rests on NCCL's assumption of an unknown port.
std::string near_rate(const Survey& survey, const Road& road) {
  const std::string text = rate_text(road.nccl);
  return survey.device(road.to).port || text.empty() ? text : text + " ?";
}

Table gpu_table(const Survey& survey) {
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  Table table{.columns = {{"GPU", Column::Align::kLeft}}, .rows = {}};
  const bool has_bus = any(survey, gpus, [](const auto& d) { return !d.bus_id.empty(); });
  const bool has_numa = any(survey, gpus, [](const auto& d) { return d.numa.has_value(); });
  const bool has_nics = !survey.of(Kind::kNic).empty();
  if (has_bus) table.columns.push_back({"bus id", Column::Align::kLeft, 5});
  if (has_bus) table.columns.push_back({"slot", Column::Align::kLeft, 4});
  if (has_numa) table.columns.push_back({"NUMA", Column::Align::kRight, 5});
  if (has_nics) {
    table.columns.push_back({"nearest NIC", Column::Align::kLeft});
    table.columns.push_back({"path", Column::Align::kLeft});
  }
  if (has_nics && has_bus) table.columns.push_back({"GB/s", Column::Align::kRight, 6});
  for (const int gpu : gpus) {
    const SurveyDevice& device = survey.device(gpu);
    std::vector<std::string> row = {device.name};
    if (has_bus) row.insert(row.end(), {device.bus_id, slot_text(device)});
    if (has_numa) row.push_back(device.numa ? fmt::to_string(*device.numa) : "");
    const auto near = nearest(survey, gpu, Kind::kNic);
    if (has_nics)
      row.insert(row.end(), {near.empty() ? nothing_near(survey) : names_of(survey, near),
                             near.empty() ? "" : near.front()->printed});
    if (has_nics && has_bus) row.push_back(near.empty() ? "" : near_rate(survey, *near.front()));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table nic_table(const Survey& survey) {
  const std::vector<int> nics = survey.of(Kind::kNic);
  const bool has_port = any(survey, nics, [](const auto& d) { return d.port.has_value(); });
  const bool has_bus = any(survey, nics, [](const auto& d) { return !d.bus_id.empty(); });
  Table table{.columns = {{"NIC", Column::Align::kLeft}}, .rows = {}};
  if (has_bus) table.columns.push_back({"bus id", Column::Align::kLeft, 5});
  if (has_bus) table.columns.push_back({"slot", Column::Align::kLeft, 4});
  if (has_port) table.columns.push_back({"port Gb/s"});
  const bool has_state = any(survey, nics, [](const auto& d) { return !d.port_state.empty(); });
  if (has_state) table.columns.push_back({"state", Column::Align::kLeft, 5});
  table.columns.push_back({"nearest GPU", Column::Align::kLeft});
  table.columns.push_back({"path", Column::Align::kLeft});
  for (const int nic : nics) {
    const SurveyDevice& device = survey.device(nic);
    std::vector<std::string> row = {device.name};
    if (has_bus) row.insert(row.end(), {device.bus_id, slot_text(device)});
    if (has_port) row.push_back(device.port ? core::format_number(device.port->in_Gbps()) : "");
    if (has_state) row.push_back(device.port_state);
    const auto near = nearest(survey, nic, Kind::kGpu);
    row.insert(row.end(), {near.empty() ? nothing_near(survey) : names_of(survey, near),
                           near.empty() ? "" : near.front()->printed});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table cpu_table(const Survey& survey) {
  Table table{.columns = {{"CPU", Column::Align::kLeft},
                          {"NUMA"},
                          {"GPUs", Column::Align::kLeft},
                          {"NICs", Column::Align::kLeft}},
              .rows = {}};
  const auto near_ones = [&](Kind kind, int cpu) {
    std::string names;
    for (const int device : survey.of(kind))
      for (const Road* road : nearest(survey, device, Kind::kCpu))
        if (road->to == cpu) names += (names.empty() ? "" : " ") + survey.device(device).name;
    return names.empty() ? std::string("none") : names;
  };
  for (const int cpu : survey.of(Kind::kCpu))
    table.rows.push_back({survey.device(cpu).name,
                          fmt::to_string(survey.device(cpu).numa.value_or(-1)),
                          near_ones(Kind::kGpu, cpu), near_ones(Kind::kNic, cpu)});
  return table;
}

Table pair_table(const Survey& survey) {
  struct Counted {
    topology::PathType type;
    std::string printed;
    std::string rate;
    auto operator<=>(const Counted&) const = default;
  };
  std::map<Counted, std::pair<int, std::string>> kinds;
  const std::vector<int> gpus = survey.of(Kind::kGpu);
  for (std::size_t a = 0; a < gpus.size(); ++a)
    for (std::size_t b = a + 1; b < gpus.size(); ++b)
      if (const Road* road = survey.road(gpus[a], gpus[b])) {
        auto& [count, example] = kinds[{road->type, road->printed, rate_text(road->nccl)}];
        if (count++ == 0)
          example = survey.device(gpus[a]).name + " - " + survey.device(gpus[b]).name;
      }
  Table table{.columns = {{"pairs"},
                          {"path", Column::Align::kLeft},
                          {"GB/s"},
                          {"for instance", Column::Align::kLeft},
                          {"meaning", Column::Align::kLeft, 5}},
              .rows = {}};
  for (const auto& [kind, counted] : kinds)
    table.rows.push_back({fmt::to_string(counted.first), kind.printed, kind.rate, counted.second,
                          path_type_meaning(kind.type)});
  if (std::all_of(table.rows.begin(), table.rows.end(),
                  [](const auto& r) { return r[2].empty(); })) {
    table.columns.erase(table.columns.begin() + 2);
    for (auto& row : table.rows) row.erase(row.begin() + 2);
  }
  return table;
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::vector<core::Block> survey_blocks(const Survey& survey) {
  std::vector<core::Block> blocks;
  if (const auto gpus = survey.of(Kind::kGpu); !gpus.empty()) {
    blocks.emplace_back(core::Heading{"GPUs"});
    blocks.emplace_back(gpu_table(survey));
    if (gpus.size() > 1) {
      blocks.emplace_back(core::Heading{"GPU pairs"});
      blocks.emplace_back(pair_table(survey));
    }
  }
  if (!survey.of(Kind::kNic).empty()) {
    blocks.emplace_back(core::Heading{"NICs"});
    blocks.emplace_back(nic_table(survey));
  }
  if (!survey.of(Kind::kCpu).empty()) {
    blocks.emplace_back(core::Heading{"CPUs"});
    blocks.emplace_back(cpu_table(survey));
  }
  return blocks;
}

Table road_table(const Survey& survey) {
  Table table{.columns = {{"from", Column::Align::kLeft},
                          {"to", Column::Align::kLeft},
                          {"path", Column::Align::kLeft},
                          {"NCCL"},
                          {"nominal", Column::Align::kRight, 4},
                          {"by way of", Column::Align::kLeft, 5}},
              .rows = {}};
  for (const Road& road : survey.roads) {
    std::string way;
    for (std::size_t i = 0; i + 1 < road.hops.size(); ++i)
      way += (way.empty() ? "" : ", ") + road.hops[i];
    table.rows.push_back({survey.device(road.from).name, survey.device(road.to).name, road.printed,
                          rate_text(road.nccl), rate_text(road.nominal), way});
  }
  return table;
}

namespace {

// ", from an NCCL topology XML"; a kind that has no phrase says itself.
std::string source_phrase(const Survey& survey) {
  struct Row {
    std::string_view kind;
    const char* phrase;
  };
  constexpr Row kRows[] = {{"nccl-topology", ", from an NCCL topology XML"},
                           {"nvidia-smi-topo", ", from `nvidia-smi topo -m`"},
                           {"this-machine", " on this machine"},
                           {"recorded-machine", " on the recorded machine"}};
  std::string phrase = ", from " + survey.kind;
  for (const Row& row : kRows)
    if (survey.kind == row.kind) phrase = row.phrase;
  if (!survey.beside.empty())
    phrase += fmt::format(" and {}", counted(survey.beside.size(), "more source"));
  return phrase;
}

}  // namespace

std::string survey_summary(const Survey& survey) {
  if (survey.devices.empty()) return "no devices" + source_phrase(survey);
  const std::size_t gpus = survey.of(Kind::kGpu).size();
  std::string text = (gpus == 0 ? "no GPU" : counted(gpus, "GPU")) + ", " +
                     counted(survey.of(Kind::kNic).size(), "NIC");
  if (const auto cpus = survey.of(Kind::kCpu); !cpus.empty())
    text += ", " + counted(cpus.size(), "CPU");
  return text + source_phrase(survey);
}

}  // namespace comm_probe::cli
