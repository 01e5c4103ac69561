// What was read of dumps and logs as bytes, for another process of the same crew (core/packed.h).
#pragma once

#include "core/packed_caveat.h"
#include "torch/digest.h"
#include "torch/job_lines.h"

namespace comm_probe::torch {

template <class Archive>
void pack_fields(Archive& archive, Operation& operation) {
  archive(operation.backend, operation.name, operation.kind, operation.from, operation.to,
          operation.name_hash);
}
template <class Archive>
void pack_fields(Archive& archive, Arguments& arguments) {
  archive(arguments.in, arguments.out, arguments.in_types, arguments.out_types,
          arguments.elements_in, arguments.elements_out, arguments.tensors, arguments.sizes);
}
template <class Archive>
void pack_fields(Archive& archive, Frame& frame) {
  archive(frame.name, frame.file, frame.line, frame.is_torch);
}
template <class Archive>
void pack_fields(Archive& archive, Stack& stack) {
  archive(stack.frames, stack.site);
}
template <class Archive>
void pack_fields(Archive& archive, DumpGroup& group) {
  archive(group.name, group.desc, group.local_id, group.ranks, group.progress);
}
template <class Archive>
void pack_fields(Archive& archive, Dump& dump) {
  archive(dump.file, dump.rank, dump.format, dump.version, dump.groups, dump.operations,
          dump.arguments, dump.frames, dump.stacks, dump.calls, dump.cut, dump.bytes,
          dump.skipped_entries, dump.file_time_ns, dump.caveats);
}
template <class Archive>
void pack_fields(Archive& archive, Digest& digest) {
  archive(digest.rank, digest.dump, digest.works, digest.members, digest.messages, digest.open,
          digest.ranges, digest.wrapped, digest.only_active, digest.has_entries, digest.one_counter,
          digest.open_by_status, digest.last_time_ns);
}
template <class Archive>
void pack_fields(Archive& archive, JobLine& line) {
  archive(line.event, line.rank, line.peer, line.ranks, line.local_rank, line.host, line.what,
          line.other_what, line.group, line.op, line.other_op, line.seq, line.elements_in,
          line.elements_out, line.limit_ms, line.ran_ms, line.enqueued, line.completed, line.code,
          line.clock_s, line.file, line.line, line.text);
}
template <class Archive>
void pack_fields(Archive& archive, RaisedException& raised) {
  archive(raised.rank, raised.type, raised.message, raised.raised_at, raised.file, raised.line,
          raised.text);
}
template <class Archive>
void pack_fields(Archive& archive, JobLines& lines) {
  archive(lines.lines, lines.exceptions, lines.logs, lines.lines_read);
}

}  // namespace comm_probe::torch
