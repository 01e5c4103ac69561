#include "cli/doctor_pictures.h"

#include "cli/curve_view.h"
#include "cli/hang_tables.h"
#include "cli/hang_view.h"
#include "cli/trace_timeline.h"
#include "topology/saved_topology.h"

namespace comm_probe::cli {
namespace {

using core::Json;

constexpr std::size_t kMostCurves = 32;
constexpr std::size_t kMostMachines = 4;
constexpr std::size_t kMostOtherTimelines = 15;

Json curve_pictures(const std::vector<diagnose::JudgedReading>& readings) {
  Json curves = Json::array();
  for (const diagnose::JudgedReading& reading : readings)
    for (const diagnose::JudgedCurve& curve : reading.curves)
      if (curves.size() < kMostCurves && !curve.curve->rows.empty())
        curves.push_back(curve_json(curve));
  return curves;
}

Json machine_pictures(const std::vector<diagnose::JobMachine>& machines) {
  Json pictures = Json::array();
  for (const diagnose::JobMachine& machine : machines) {
    if (pictures.size() == kMostMachines) break;
    if (machine.survey.roads.empty()) continue;
    Json picture = {{"name", machine.name}};
    picture.update(topology::saved_json(machine.survey));
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

Json other_timelines(const std::vector<OtherTraces>& others) {
  Json timelines = Json::array();
  for (const OtherTraces& one : others) {
    if (timelines.size() == kMostOtherTimelines) break;
    Json timeline =
        timeline_picture(timeline_of(*one.traces, one.meeting.clocks, one.meeting.killers));
    timeline["name"] = one.folder;
    timelines.push_back(std::move(timeline));
  }
  return timelines;
}

}  // namespace

Json doctor_pictures(const diagnose::JobFacts& facts, const TraceMeeting& meeting,
                     const std::vector<OtherTraces>& others) {
  Json pictures = facts.dumps != nullptr ? hang_pictures(*facts.dumps) : Json::object();
  if (facts.dumps != nullptr && facts.hang != nullptr)
    pictures["verdict"] = verdict_json(*facts.dumps, facts.hang->verdict);
  if (Json curves = curve_pictures(facts.curves); !curves.empty())
    pictures["curves"] = std::move(curves);
  if (Json machines = machine_pictures(facts.machines); !machines.empty())
    pictures["machines"] = std::move(machines);
  if (!facts.traces.empty())
    pictures["timeline"] =
        timeline_picture(timeline_of(facts.traces, meeting.clocks, meeting.killers));
  if (Json timelines = other_timelines(others); !timelines.empty())
    pictures["other_timelines"] = std::move(timelines);
  return pictures;
}

}  // namespace comm_probe::cli
