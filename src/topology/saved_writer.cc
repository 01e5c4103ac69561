#include <fmt/format.h>

#include <span>

#include "topology/saved_fields.h"
#include "topology/saved_topology.h"

namespace comm_probe::topology {
namespace saved {
namespace {

using core::Json;

class Writer {
 public:
  Json json = Json::object();

  void text(const char* key, const std::string& value) {
    if (!value.empty()) json[key] = value;
  }
  void known_text(const char* key, const std::optional<std::string>& value) {
    if (value) json[key] = *value;
  }
  template <class T>
  void number(const char* key, const std::optional<T>& value, int, int) {
    if (value) json[key] = *value;
  }
  void number_of(const char* key, int value, int, int) { json[key] = value; }
  // Zero is what stands where nothing is said.
  void whole(const char* key, int value, int, int) {
    if (value != 0) json[key] = value;
  }
  void flag(const char* key, bool value) {
    if (value) json[key] = true;
  }
  void flag(const char* key, const std::optional<bool>& value) {
    if (value) json[key] = *value;
  }
  void flag_of(const char* key, bool value) { json[key] = value; }
  void rate(const char* key, const std::optional<core::Bandwidth>& value) {
    if (value) json[key] = core::json_number(value->in_GBps());
  }
  void nccl_rate(const char* key, NcclRate value) {
    json[key] = core::json_number(static_cast<double>(value.GBps));
  }
  void size(const char* key, const std::optional<core::Bytes>& value) {
    if (value) json[key] = core::json_bytes(*value);
  }
  void time(const char* key, core::Duration value) {
    if (value.in_us() != 0) json[key] = core::json_number(value.in_us());
  }
  void hex(const char* key, std::uint64_t value) {
    if (value != 0) json[key] = fmt::format("0x{:x}", value);
  }
  void letter(const char* key, char value) { json[key] = std::string(1, value); }
  template <class Enum>
  void word(const char* key, Enum value, std::span<const char* const> names) {
    const char* name = names[static_cast<std::size_t>(value)];
    if (*name != 0) json[key] = name;
  }
  void numbers(const char* key, const std::vector<int>& values) {
    if (!values.empty()) json[key] = values;
  }
  template <class T>
  void record(const char* key, T& value) {
    Writer inner;
    fields(inner, value);
    if (!inner.json.empty()) json[key] = std::move(inner.json);
  }
  template <class T>
  void record(const char* key, std::optional<T>& value) {
    if (!value) return;
    Writer inner;
    fields(inner, *value);
    json[key] = std::move(inner.json);
  }
  template <class T>
  void list(const char* key, std::vector<T>& values) {
    if (values.empty()) return;
    json[key] = Json::array();
    for (T& value : values) {
      Writer inner;
      fields(inner, value);
      json[key].push_back(std::move(inner.json));
    }
  }
};

Json rate_json(const std::optional<core::Bandwidth>& rate) {
  return rate ? core::json_number(rate->in_GBps()) : Json();
}

Json road_json(const Survey& survey, const Road& road) {
  Json json = {{"from", survey.device(road.from).name},
               {"to", survey.device(road.to).name},
               {"type", road.printed},
               {"nccl_type", path_type_name(road.type)},
               {"bandwidth_GBps", rate_json(road.nccl)},
               {"nominal_GBps", rate_json(road.nominal)},
               {"effective_GBps", rate_json(road.effective)},
               {"hops", road.hops}};
  if (road.nvlinks > 0) json["nvlinks"] = road.nvlinks;
  return json;
}

Json graph_json(Machine machine) {
  Writer writer;
  writer.text("name", machine.name);
  writer.list("nodes", machine.nodes);
  return std::move(writer.json);
}

Json device_json(SurveyDevice device) {
  Writer writer;
  fields(writer, device);
  if (device.node) writer.json["node"] = *device.node;
  return std::move(writer.json);
}

}  // namespace
}  // namespace saved

core::Json saved_json(HostFacts facts) {
  saved::Writer writer;
  saved::fields(writer, facts);
  return std::move(writer.json);
}

core::Json saved_json(const Survey& survey) {
  using Kind = SurveyDevice::Kind;
  core::Json result = {{"source", survey.source}, {"kind", survey.kind}};
  if (!survey.beside.empty()) result["beside"] = survey.beside;
  const std::pair<const char*, Kind> kLists[] = {
      {"gpus", Kind::kGpu}, {"nics", Kind::kNic}, {"cpus", Kind::kCpu}};
  for (const auto& [name, kind] : kLists) {
    result[name] = core::Json::array();
    for (const int device : survey.of(kind))
      result[name].push_back(saved::device_json(survey.device(device)));
  }
  result["paths"] = core::Json::array();
  for (const Road& road : survey.roads) result["paths"].push_back(saved::road_json(survey, road));
  if (survey.machine) result["graph"] = saved::graph_json(*survey.machine);
  if (!survey.facts.empty()) result["facts"] = saved_json(survey.facts);
  std::vector<core::Caveat> caveats = survey.caveats;
  saved::Writer writer;
  writer.list("not_known", caveats);
  result.update(writer.json);
  return result;
}

}  // namespace comm_probe::topology
