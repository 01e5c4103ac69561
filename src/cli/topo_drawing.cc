#include "cli/topo_drawing.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/shell.h"
#include "diagnose/topo.h"
#include "report/svg.h"
#include "topology/drawing/layout.h"
#include "topology/drawing/tree_art.h"

namespace comm_probe::cli {
namespace {

constexpr std::size_t kMostForTerminal = 8;

struct Drawn {
  topology::Sketch sketch;
  std::vector<std::string> problems;
};

topology::Mark::Part part_of(diagnose::Blame::Part part) {
  switch (part) {
    case diagnose::Blame::Part::kDevice:
      return topology::Mark::Part::kDevice;
    case diagnose::Blame::Part::kSlot:
      return topology::Mark::Part::kSlot;
    case diagnose::Blame::Part::kNvlink:
      return topology::Mark::Part::kNvlink;
  }
  return topology::Mark::Part::kDevice;
}

Drawn drawn(const topology::Survey& survey) {
  const diagnose::TopoJudgement judgement = diagnose::judge_topology(survey);
  std::vector<topology::Mark> marks;
  for (const diagnose::Blame& blame : judgement.blamed)
    marks.push_back({blame.device, part_of(blame.part)});
  Drawn drawn{.sketch = topology::sketch_of(survey, marks), .problems = {}};
  for (const core::Finding& finding : judgement.findings)
    if (finding.severity != core::Severity::kInfo) drawn.problems.push_back(finding.summary);
  return drawn;
}

}  // namespace

std::optional<core::Error> write_drawing(const topology::Survey& survey, const std::string& file) {
  const Drawn drawing = drawn(survey);
  const std::string svg =
      report::render_svg(topology::picture_of(drawing.sketch, drawing.problems));
  std::FILE* out = std::fopen(file.c_str(), "wb");
  bool is_written = out != nullptr && std::fwrite(svg.data(), 1, svg.size(), out) == svg.size();
  if (out != nullptr) is_written = std::fclose(out) == 0 && is_written;
  if (is_written) return std::nullopt;
  return cannot_write(file);
}

std::string drawing_text(const topology::Survey& survey) {
  if (survey.of(topology::SurveyDevice::Kind::kGpu).size() > kMostForTerminal) return "";
  return topology::tree_art(drawn(survey).sketch);
}

}  // namespace comm_probe::cli
