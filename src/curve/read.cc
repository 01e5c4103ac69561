#include "core/finding_table.h"
#include "curve/json_reader.h"
#include "curve/node_matrix.h"
#include "curve/readers/link_reader.h"
#include "curve/readers/mscclpp_json.h"
#include "curve/table_reader.h"

namespace comm_probe::curve {
namespace {

constexpr const char* kExpectedTable =
    "expected an nccl-tests table: a header line with size, count, type, time, algbw, busbw, or "
    "rows of it; or the output of perftest (ib_write_bw ...), nvbandwidth, "
    "p2pBandwidthLatencyTest, bandwidthTest, OSU, fi_pingpong or nixlbench";

core::Error no_table(core::Input& input, const std::string& found) {
  core::Error error = core::input_error("holds " + found, kExpectedTable);
  error.where.file = input.name();
  return error;
}

bool is_text(core::ContentClass kind) {
  switch (kind) {
    case core::ContentClass::kEmpty:
    case core::ContentClass::kZeros:
    case core::ContentClass::kUtf16:
    case core::ContentClass::kBinary:
      return false;
    case core::ContentClass::kJson:
    case core::ContentClass::kXml:
    case core::ContentClass::kText:
      return true;
  }
  return false;
}

// Beside tests of links, what only looked like the beginning of a table is none.
bool is_table(const Curve& curve) {
  return !curve.rows.empty() || curve.has_header || !curve.devices.empty() ||
         curve.settings.threads;
}

void add_links(LinkReader& links, Reading& reading) {
  links.finish(reading);
  if (reading.links.empty()) return;
  std::erase_if(reading.curves, [](const Curve& curve) { return !is_table(curve); });
  if (!reading.curves.empty()) return;
  reading.kind = link_tool_name(reading.links.front().tool);
  for (const LinkTest& test : reading.links)
    if (test.tool != reading.links.front().tool) reading.kind = "link-tests";
}

}  // namespace

core::Result<Reading> read_nccl_tests(core::Input& input) {
  const std::string_view head = input.head();
  const std::string content = core::describe_content(head);  // head is gone after the first line
  if (!is_text(core::classify_content(head))) return no_table(input, content);
  TableReader table(input.name());
  core::LineReader lines(input);
  core::Line line;
  LinkReader links(input.name());
  while (lines.next(line))
    if (!table.feed(line)) links.feed(line);
  Reading reading = table.finish();
  add_links(links, reading);
  if (reading.curves.empty() && reading.links.empty()) {
    if (lines.error()) return *lines.error();
    if (!links.unread_tool().empty())
      return no_table(input, "the output of " + links.unread_tool() + ", which is not read here");
    return no_table(input, content + " without a table");
  }
  if (lines.error())
    reading.caveats.push_back(core::make_caveat("input.truncated", lines.error()->one_line(),
                                                "what stands before the damage was read"));
  return reading;
}

core::Result<Reading> read(core::Input& input) {
  if (const auto error = input.unreadable()) return *error;
  constexpr std::string_view kPairwise = "test,nodes,gpus_per_node,node_a,node_b";
  if (input.head().starts_with(kPairwise)) return read_pairwise_csv(input);
  if (looks_like_mscclpp(input.head())) return read_mscclpp(input);
  if (core::classify_content(input.head()) == core::ContentClass::kJson) return read_json(input);
  if (is_node_matrix(input.head())) return read_node_matrix(input);
  return read_nccl_tests(input);
}

}  // namespace comm_probe::curve
