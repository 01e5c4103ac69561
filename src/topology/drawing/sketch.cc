#include "topology/drawing/sketch.h"

#include <fmt/format.h>

#include <cstdlib>

namespace comm_probe::topology {

std::string short_bus_id(const std::string& bus_id) {
  return bus_id.starts_with("0000:") ? bus_id.substr(5) : bus_id;
}

std::string short_slot(const PciSlot& slot) {
  constexpr double kTransfers[] = {2.5, 5, 8, 16, 32, 64};
  std::string text;
  const double transfers = std::atof(slot.speed.c_str());
  for (int i = 0; i < 6; ++i)
    if (transfers == kTransfers[i]) text = fmt::format("gen{}", i + 1);
  if (slot.width > 0) text += fmt::format("{}x{}", text.empty() ? "" : " ", slot.width);
  return text;
}

Sketch sketch_of(const Survey& survey, const std::vector<Mark>& marks) {
  Sketch sketch =
      survey.machine ? sketch_of_tree(survey, *survey.machine) : sketch_of_words(survey);
  sketch.source = survey.source;
  sketch.title = fmt::format("{} GPUs, {} NICs", survey.of(SurveyDevice::Kind::kGpu).size(),
                             survey.of(SurveyDevice::Kind::kNic).size());
  for (const Mark& mark : marks)
    for (std::size_t i = 0; i < sketch.nodes.size(); ++i) {
      SketchNode& node = sketch.nodes[i];
      if (node.device != mark.device) continue;
      node.is_wrong = true;
      node.up_is_wrong = node.up_is_wrong || mark.part == Mark::Part::kSlot;
      if (mark.part != Mark::Part::kNvlink) continue;
      node.lacks_nvlink = true;
      for (SketchLink& link : sketch.links)
        if (link.kind == SketchLink::Kind::kNvlink &&
            (link.from == static_cast<int>(i) || link.to == static_cast<int>(i))) {
          link.is_wrong = true;
          node.lacks_nvlink = false;
        }
    }
  return sketch;
}

}  // namespace comm_probe::topology
