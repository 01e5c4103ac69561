#include "core/finding_table.h"
#include "curve/json_reader.h"
#include "curve/table_reader.h"

namespace comm_probe::curve {
namespace {

constexpr const char* kExpectedTable =
    "expected an nccl-tests table: a header line with size, count, type, time, algbw, busbw, or "
    "rows of it";

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

}  // namespace

core::Result<Reading> read_nccl_tests(core::Input& input) {
  const std::string_view head = input.head();
  const std::string content = core::describe_content(head);  // head is gone after the first line
  if (!is_text(core::classify_content(head))) return no_table(input, content);
  TableReader table(input.name());
  core::LineReader lines(input);
  core::Line line;
  while (lines.next(line)) table.feed(line);
  Reading reading = table.finish();
  if (reading.curves.empty()) {
    if (lines.error()) return *lines.error();
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
  if (core::classify_content(input.head()) == core::ContentClass::kJson) return read_json(input);
  return read_nccl_tests(input);
}

}  // namespace comm_probe::curve
