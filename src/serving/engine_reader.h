// Everything that a log of vLLM or SGLang says of its communication, read in one pass: the
// all-reduce backends of the start-up, KV transfers, experts, failures.
//
//   EngineReader reader;
//   reader.begin_file("vllm.log");
//   for (core::Line line; lines.next(line);) reader.add(line);
//   const EngineFacts facts = reader.finish();
#pragma once

#include "serving/kv_lines.h"
#include "serving/readers/engine_failures.h"
#include "serving/readers/engine_lines.h"
#include "serving/readers/moe_lines.h"

namespace comm_probe::serving {

struct EngineFacts {
  EngineLines lines = {};
  KvLines kv = {};
  MoeLines moe = {};
  EngineFailures failures = {};

  bool empty() const { return lines.empty() && kv.empty() && moe.empty() && failures.empty(); }
};

class EngineReader {
 public:
  void begin_file(const std::string& name);
  void add(const core::Line& line);
  // What the lines so far said.
  std::size_t found() const;
  EngineFacts finish();

 private:
  EngineLineReader lines_ = {};
  KvLineReader kv_ = {};
  MoeLineReader moe_ = {};
  EngineFailureReader failures_ = {};
};

}  // namespace comm_probe::serving
