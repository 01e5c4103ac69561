#include "torch/readers/nsys.h"

#include <fmt/format.h>

#include <cstring>
#include <map>

#include "torch/readers/nsys_trace.h"
#include "torch/readers/sqlite_rows.h"

namespace comm_probe::torch {
namespace {

constexpr const char* kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr const char* kMemsets = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr const char* kRuntime = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr const char* kSyncs = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
constexpr const char* kNvtx = "NVTX_EVENTS";
constexpr const char* kSchemas = "NVTX_PAYLOAD_SCHEMA_ENTRIES";

// Times of an export count from the start of its session; what is negative or ends before it
// starts, or lies beyond a year, is no time.
constexpr std::int64_t kLatest = std::int64_t{366} * 24 * 3600 * 1'000'000'000;
bool is_span(std::int64_t start, std::int64_t end) {
  return start >= 0 && start <= end && end < kLatest;
}

// Where the fields of NCCL's payloads lie, by schema id.
struct PayloadLayout {
  std::optional<std::size_t> bytes = {};
  std::optional<std::size_t> communicator = {};
};

class NsysReader {
 public:
  NsysReader(const SqliteFile& file, const TraceOptions& options)
      : file_(file), options_(options) {}

  bool is_export();
  core::Result<std::vector<Trace>> read();

 private:
  using Columns = std::set<std::string>;
  NsysTrace& process_of(std::int64_t global_id);
  void read_kernels();
  void read_copies();
  void read_memsets();
  void read_calls();
  void read_syncs();
  void read_ranges();
  void read_layouts();
  std::int64_t session_start();
  NvtxPayload payload_of(std::string_view blob) const;
  // Keeps the first error.
  void note(const SqliteRows& rows);

  const SqliteFile& file_;
  const TraceOptions& options_;
  std::map<std::int64_t, NsysTrace> processes_ = {};
  std::map<std::uint64_t, PayloadLayout> layouts_ = {};
  std::optional<core::Error> error_ = {};
};

// The column, or NULL where the export has none.
std::string column(const std::set<std::string>& columns, const std::string& name) {
  return columns.contains(name) ? "t." + name : "NULL";
}

// A name that is a number in StringIds.
std::string name_of(const std::set<std::string>& columns, const std::string& name) {
  return columns.contains(name) ? "(SELECT value FROM StringIds WHERE id = t." + name + ")"
                                : "NULL";
}

std::string copy_kind(std::int64_t kind) {
  constexpr const char* kKinds[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                    "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  return kind >= 0 && kind < std::ssize(kKinds) ? kKinds[kind] : "Unknown";
}
std::string memory_kind(std::int64_t kind) {
  constexpr const char* kKinds[] = {"Pageable", "Pinned", "Device", "Array", "Managed"};
  return kind >= 0 && kind < std::ssize(kKinds) ? kKinds[kind] : "Unknown";
}

GpuOp op_of(const SqliteRows& rows) {
  GpuOp op{rows.integer(0), rows.integer(1)};
  op.correlation = static_cast<std::uint64_t>(std::max<std::int64_t>(0, rows.integer(4)));
  return op;
}
Stream stream_of(const SqliteRows& rows) {
  return {static_cast<std::int32_t>(rows.integer(2)), rows.integer(3)};
}

void NsysReader::note(const SqliteRows& rows) {
  if (rows.error() && !error_) error_ = rows.error();
}

bool NsysReader::is_export() {
  for (const char* table : {kKernels, kRuntime, kNvtx})
    if (!file_.columns(table).empty()) return true;
  return !file_.columns("META_DATA_EXPORT").empty();
}

NsysTrace& NsysReader::process_of(std::int64_t global_id) {
  constexpr std::int64_t kPid = 0x1000000;
  const std::int64_t process = global_id / kPid % kPid;
  return processes_.try_emplace(process, file_.path(), process, options_).first->second;
}

void NsysReader::read_kernels() {
  const Columns known = file_.columns(kKernels);
  if (known.empty()) return;
  std::string query = fmt::format(
      "SELECT t.start, t.end, {}, {}, {}, {}, coalesce({}, {}), {}", column(known, "deviceId"),
      column(known, "streamId"), column(known, "correlationId"), column(known, "globalPid"),
      name_of(known, "demangledName"), name_of(known, "shortName"), column(known, "graphNodeId"));
  for (const char* name : {"gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"})
    query += ", " + column(known, name);
  SqliteRows rows(file_, query + " FROM " + kKernels + " t");
  while (rows.next()) {
    GpuOp op = op_of(rows);
    if (!is_span(op.start, op.end)) continue;
    op.in_graph = rows.integer(7) != 0;
    LaunchShape shape;
    for (int i = 0; i < 3; ++i) {
      shape.grid[i] = static_cast<std::int32_t>(rows.integer(8 + i));
      shape.block[i] = static_cast<std::int32_t>(rows.integer(11 + i));
    }
    process_of(rows.integer(5)).add_kernel(op, stream_of(rows), rows.text(6), shape);
  }
  note(rows);
}

void NsysReader::read_copies() {
  const Columns known = file_.columns(kCopies);
  if (known.empty()) return;
  SqliteRows rows(file_,
                  fmt::format("SELECT t.start, t.end, {}, {}, {}, {}, {}, {}, {}, {} FROM {} t",
                              column(known, "deviceId"), column(known, "streamId"),
                              column(known, "correlationId"), column(known, "globalPid"),
                              column(known, "bytes"), column(known, "copyKind"),
                              column(known, "srcKind"), column(known, "dstKind"), kCopies));
  while (rows.next()) {
    GpuOp op = op_of(rows);
    if (!is_span(op.start, op.end)) continue;
    op.kind = GpuKind::kCopy;
    op.bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, rows.integer(6)));
    process_of(rows.integer(5))
        .add_memory(op, stream_of(rows),
                    fmt::format("Memcpy {} ({} -> {})", copy_kind(rows.integer(7)),
                                memory_kind(rows.integer(8)), memory_kind(rows.integer(9))));
  }
  note(rows);
}

void NsysReader::read_memsets() {
  const Columns known = file_.columns(kMemsets);
  if (known.empty()) return;
  SqliteRows rows(file_, fmt::format("SELECT t.start, t.end, {}, {}, {}, {}, {} FROM {} t",
                                     column(known, "deviceId"), column(known, "streamId"),
                                     column(known, "correlationId"), column(known, "globalPid"),
                                     column(known, "bytes"), kMemsets));
  while (rows.next()) {
    GpuOp op = op_of(rows);
    if (!is_span(op.start, op.end)) continue;
    op.kind = GpuKind::kMemset;
    op.bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, rows.integer(6)));
    process_of(rows.integer(5)).add_memory(op, stream_of(rows), "Memset (Device)");
  }
  note(rows);
}

void NsysReader::read_calls() {
  const Columns known = file_.columns(kRuntime);
  if (known.empty()) return;
  SqliteRows rows(
      file_, fmt::format("SELECT t.start, t.end, {}, {}, {} FROM {} t", column(known, "globalTid"),
                         column(known, "correlationId"), name_of(known, "nameId"), kRuntime));
  while (rows.next()) {
    HostCall call{rows.integer(0), rows.integer(1)};
    if (!is_span(call.start, call.end)) continue;
    call.correlation = static_cast<std::uint64_t>(std::max<std::int64_t>(0, rows.integer(3)));
    process_of(rows.integer(2)).add_call(call, rows.integer(2) % 0x1000000, rows.text(4));
  }
  note(rows);
}

void NsysReader::read_syncs() {
  const Columns known = file_.columns(kSyncs);
  if (known.empty()) return;
  SqliteRows rows(file_, fmt::format("SELECT t.start, t.end, {}, {}, {}, {}, {} FROM {} t",
                                     column(known, "deviceId"), column(known, "streamId"),
                                     column(known, "correlationId"), column(known, "globalPid"),
                                     column(known, "syncType"), kSyncs));
  using Kind = SyncRow::Kind;
  constexpr Kind kKinds[] = {Kind::kOther, Kind::kEvent, Kind::kStreamWait, Kind::kStream,
                             Kind::kContext};
  while (rows.next()) {
    SyncRow row{rows.integer(0), rows.integer(1)};
    if (!is_span(row.start, row.end)) continue;
    row.device = static_cast<std::int32_t>(rows.integer(2));
    row.stream = rows.is_null(3) ? -1 : rows.integer(3);
    row.correlation = static_cast<std::uint64_t>(std::max<std::int64_t>(0, rows.integer(4)));
    const std::int64_t kind = rows.integer(6);
    row.kind = kind > 0 && kind < std::ssize(kKinds) ? kKinds[kind] : Kind::kOther;
    process_of(rows.integer(5)).add_sync(row);
  }
  note(rows);
}

void NsysReader::read_layouts() {
  const Columns known = file_.columns(kSchemas);
  if (!known.contains("schemaId") || !known.contains("name")) return;
  SqliteRows rows(file_, fmt::format("SELECT t.schemaId, t.name, {} FROM {} t",
                                     column(known, "offset"), kSchemas));
  while (rows.next()) {
    PayloadLayout& layout = layouts_[static_cast<std::uint64_t>(rows.integer(0))];
    const auto offset = static_cast<std::size_t>(rows.integer(2));
    if (rows.text(1).starts_with("Message size")) layout.bytes = offset;
    if (rows.text(1) == "NCCL communicator ID") layout.communicator = offset;
  }
  note(rows);
}

std::uint64_t word_at(std::string_view bytes, std::size_t offset) {
  std::uint64_t word = 0;
  if (offset > bytes.size() || bytes.size() - offset < sizeof word) return 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

// Header: domain, schema, size of the payload, total; eight bytes each. Then the fields.
NvtxPayload NsysReader::payload_of(std::string_view blob) const {
  constexpr std::size_t kHeader = 32;
  if (blob.size() <= kHeader) return {};
  const auto layout = layouts_.find(word_at(blob, 8));
  if (layout == layouts_.end()) return {};
  const std::string_view fields = blob.substr(kHeader);
  NvtxPayload payload;
  if (layout->second.bytes) payload.bytes = word_at(fields, *layout->second.bytes);
  if (layout->second.communicator)
    payload.communicator = word_at(fields, *layout->second.communicator);
  return payload;
}

void NsysReader::read_ranges() {
  const Columns known = file_.columns(kNvtx);
  if (known.empty()) return;
  read_layouts();
  // 59: push and pop, 60: start and end. Rows may stand twice (seen): DISTINCT.
  SqliteRows rows(
      file_,
      fmt::format("SELECT DISTINCT t.start, t.end, {}, coalesce({}, {}), {} FROM {} t "
                  "WHERE t.end IS NOT NULL AND {} IN (59, 60)",
                  column(known, "globalTid"), column(known, "text"), name_of(known, "textId"),
                  column(known, "binaryData"), kNvtx, column(known, "eventType")));
  while (rows.next()) {
    HostOp op{rows.integer(0), rows.integer(1)};
    if (!is_span(op.start, op.end)) continue;
    process_of(rows.integer(2))
        .add_range(op, rows.integer(2) % 0x1000000, rows.text(3), payload_of(rows.blob(4)));
  }
  note(rows);
}

std::int64_t NsysReader::session_start() {
  const char* table = "TARGET_INFO_SESSION_START_TIME";
  if (!file_.columns(table).contains("utcEpochNs")) return 0;
  SqliteRows rows(file_, fmt::format("SELECT utcEpochNs FROM {} LIMIT 1", table));
  const std::int64_t start = rows.next() ? rows.integer(0) : 0;
  return start > 0 && start < 4'600'000'000'000'000'000 ? start : 0;
}

core::Result<std::vector<Trace>> NsysReader::read() {
  read_kernels();
  read_copies();
  read_memsets();
  read_calls();
  read_syncs();
  read_ranges();
  const std::int64_t base_time = session_start();
  std::vector<Trace> traces;
  for (auto& [process, trace] : processes_)
    if (trace.has_work()) traces.push_back(trace.finish(base_time));
  if (traces.empty() && error_) return *error_;
  if (traces.empty()) traces.push_back(NsysTrace(file_.path(), 0, options_).finish(base_time));
  if (error_)
    for (Trace& trace : traces) {
      trace.losses.cut = 0;
      trace.losses.cut_reason = error_->message;
    }
  return traces;
}

}  // namespace

bool looks_like_nsys(std::string_view head) { return head.starts_with("SQLite format 3"); }

core::Result<std::vector<Trace>> read_nsys(const std::string& path, const TraceOptions& options) {
  auto file = SqliteFile::open(path);
  if (!file) return file.error();
  NsysReader reader(*file, options);
  if (reader.is_export()) return reader.read();
  core::Error error = core::input_error("is an SQLite file, but no export of Nsight Systems",
                                        "nsys export --type sqlite --include-blobs=true makes one");
  error.where.file = path;
  return error;
}

}  // namespace comm_probe::torch
