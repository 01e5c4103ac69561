#include "serving/engine_reader.h"

#include "serving/readers/line_words.h"

namespace comm_probe::serving {

void EngineReader::begin_file(const std::string& name) {
  lines_.begin_file(name);
  kv_.begin_file(name);
  moe_.begin_file(name);
  failures_.begin_file(name);
}

void EngineReader::add(const core::Line& line) {
  if (is_request_line(line.text)) return;
  lines_.add(line);
  kv_.add(line);
  moe_.add(line);
  failures_.add(line);
}

std::size_t EngineReader::found() const {
  return lines_.found() + kv_.found() + moe_.found() + failures_.found();
}

EngineFacts EngineReader::finish() {
  return {lines_.finish(), kv_.finish(), moe_.finish(), failures_.finish()};
}

}  // namespace comm_probe::serving
