#include "cli/doctor_kind.h"

#include "core/archive.h"
#include "core/foreign_packing.h"
#include "torch/readers/flight_recorder.h"
#include "torch/readers/inspector.h"
#include "torch/readers/kineto.h"
#include "torch/readers/nsys.h"
#include "torch/readers/ras_json.h"

namespace comm_probe::cli {
namespace {

// A log may hold a hole of zeros, or bytes of a crash between its lines.
bool may_be_damaged_log(std::string_view head) { return head.find(" NCCL ") != head.npos; }

// The root of NCCL's and RCCL's topology XML, perhaps behind a comment.
bool is_system(std::string_view head) { return head.find("<system") != head.npos; }

// NCCL_GRAPH_DUMP_FILE, NCCL_GRAPH_FILE
bool is_graphs(std::string_view head) {
  return head.find("<graphs version=") != head.npos && head.find("<graph id=") != head.npos;
}

}  // namespace

PileKind kind_of(core::Input& input) {
  const std::string_view head = input.head();
  if (torch::looks_like_inspector(head) || torch::looks_like_nsys(head) ||
      torch::looks_like_trace(head))
    return PileKind::kTrace;
  if (torch::looks_like_ras(head)) return PileKind::kReport;
  if (torch::looks_like_dump(head)) return PileKind::kDump;
  if (core::Archive::looks_like_tar(head)) return PileKind::kMachine;
  if (core::is_packed_otherwise(head)) return PileKind::kPacked;
  switch (core::classify_content(head)) {
    case core::ContentClass::kJson:
      return PileKind::kJson;
    case core::ContentClass::kXml:
      if (is_graphs(head)) return PileKind::kGraphs;
      return is_system(head) ? PileKind::kMachine : PileKind::kOther;
    case core::ContentClass::kText:
      if (head.starts_with('<') && is_graphs(head)) return PileKind::kGraphs;
      return head.starts_with('<') && is_system(head) ? PileKind::kMachine : PileKind::kText;
    case core::ContentClass::kZeros:
    case core::ContentClass::kBinary:
      return may_be_damaged_log(head) ? PileKind::kText : PileKind::kOther;
    case core::ContentClass::kEmpty:
    case core::ContentClass::kUtf16:
      break;
  }
  return PileKind::kOther;
}

core::Error packed_error(const std::string& path) {
  auto input = core::Input::open(path);
  core::Error error = core::input_error((input ? core::describe_content(input->head()) : "packed") +
                                        ", expected what is in it");
  error.where.file = path;
  return error;
}

}  // namespace comm_probe::cli
