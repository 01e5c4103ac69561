// The PyTorch profiler's trace (Kineto, Chrome JSON): one pass, one block of text in memory, every
// dialect from 2022 on (spec traces 1.1 to 1.4), and what other tools write in the same form.
//
// A file that ends too early gives everything before its end; an event that cannot be read is
// dropped and the reader goes on at the next one; both are counted in Trace::losses (spec 1.8).
// Our own tokenizer (tolerant_json.h) and not simdjson, which refuses a document at its first
// fault; measured on 8 files of 133 MB it stays below the bar of 2.5 s (bench/trace_reader.cc).
#pragma once

#include "core/input.h"
#include "core/result.h"
#include "torch/readers/trace_builder.h"
#include "torch/trace.h"

namespace comm_probe::torch {

// By content: an object with the keys of a Kineto trace, or a list of Chrome events.
bool looks_like_trace(std::string_view head);
// Fails where there is not a single event and no header: it is something else.
core::Result<Trace> read_trace(core::Input& input, const TraceOptions& options = {});

}  // namespace comm_probe::torch
