// Any bytes given to the readers of inference engines: their log lines, a model's
// config.json: no crash, memory bounded by what is kept, and a shape that a cache can be made of.
#include <cstdlib>

#include "model/kv_cache.h"
#include "serving/engine_reader.h"
#include "serving/readers/model_config.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void read_lines(const std::string& bytes) {
  auto input = comm_probe::core::Input::from_memory("fuzz", bytes);
  comm_probe::serving::EngineReader engine;
  engine.begin_file("fuzz");
  comm_probe::core::LineReader lines(input);
  for (comm_probe::core::Line line; lines.next(line);) engine.add(line);
  const auto read = engine.finish();
  require(read.lines.lists.size() <= 64 && read.lines.off.size() <= 64 &&
          read.lines.starts.size() <= 64);
  require(read.moe.managers.size() <= 16 && read.failures.all.size() <= 32);
  for (const auto& balance : read.moe.balances) require(balance.mean > 0 && balance.mean <= 1);
}

void read_config(const std::string& bytes) {
  auto input = comm_probe::core::Input::from_memory("fuzz", bytes);
  const auto config = comm_probe::serving::read_model_config(input);
  if (!config) return;
  const auto cache =
      comm_probe::model::kv_cache(config->shape, comm_probe::model::KvType::kBf16, 16);
  require(cache.ok());
  require(comm_probe::model::kv_bytes(*cache, 1'000'000'000).count() > 0);
  (void)comm_probe::model::kv_move(*cache, 8, 16);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read_lines(bytes);
  read_config(bytes);
  return 0;
}
