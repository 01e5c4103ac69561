// What a command has to say, before anybody decides how it looks: the JSON result, findings,
// caveats, and a body of blocks for the reader. report/ turns it into text or JSON.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/finding.h"
#include "core/json.h"

namespace comm_probe::core {

struct Heading {
  std::string text;
};
// Wrapped to the width of the terminal.
struct Paragraph {
  std::string text;
};
// Printed as it is.
struct Preformatted {
  std::string text;
};
// "name   value" lines, names aligned; a long value is wrapped under itself.
struct KeyValues {
  std::vector<std::pair<std::string, std::string>> rows;
};

struct Column {
  enum class Align { kLeft, kRight };
  std::string title;
  Align align = Align::kRight;
  // Where the table is wider than the terminal, columns with the lowest weight are left out first;
  // 10 = always kept.
  int weight = 10;
};
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

using Block = std::variant<Heading, Paragraph, Preformatted, KeyValues, Table>;

struct InputRecord {
  std::string path;
  std::string kind;
  std::optional<int> rank = {};
};

// A list of result that would fill the memory as one tree: items are made when they are written.
struct LongList {
  std::string key = {};  // in result
  std::size_t size = 0;
  std::function<Json(std::size_t)> item = {};  // may be called by several threads at once
};

struct Document {
  std::string command;
  std::vector<InputRecord> inputs = {};
  Json result = Json::object();
  std::optional<LongList> long_list = {};  // beside `result`
  std::vector<Finding> findings = {};
  // The findings stand in an order of their own; else the worst is shown first.
  bool is_ranked = false;
  std::vector<Caveat> caveats = {};
  std::string verdict = {};         // one sentence, printed above the findings
  std::vector<Block> body = {};     // printed after findings
  std::vector<Block> details = {};  // printed only with --explain or -v

  // 1 with an error or warning, else 5 with a limiting caveat, else 0 (design/cli.md, Exit status).
  int exit_status() const;
};

}  // namespace comm_probe::core
