// From lines to curves: which rows belong together, and what was said about them? Lines may come
// from several runs one after the other, from two runs mixed line by line, and between them stands
// whatever a terminal shows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "curve/curve.h"
#include "curve/identity.h"
#include "curve/line_facts.h"
#include "curve/row_reader.h"

namespace comm_probe::curve {

class TableReader {
 public:
  explicit TableReader(std::string file);
  // True where the line was a row, or the rest of one.
  bool feed(const core::Line& line);
  // Everything that was fed, with caveats; its list of curves is empty where nothing was a table.
  Reading finish();

 private:
  // How far a run has printed; a line of an earlier stage begins the next run.
  enum class Stage { kNothing, kVersion, kStarting, kSettings, kDevices, kHeader, kRows, kEnd };

  RowReading read_any_row(std::string_view& text, Row& row);
  bool take_row_line(std::string_view text, const core::Line& line);
  void accept(RowReading reading, Row&& row);
  void place_row(Row&& row);
  void hold(std::string_view text, const core::Line& line);
  bool continue_held(std::string_view text, const core::Line& line);
  void release_held();
  void refuse(const RowReading& reading, std::uint64_t line);
  static std::string_view odd_word_of(const RowReading& reading, const Row& row);
  void note_gaps();

  void take_other_line(std::string_view text, const core::Line& line);
  bool take_comment(std::string_view body, std::string_view text);
  bool take_statement(std::string_view body);
  bool take_device(std::string_view body, std::string_view text);
  bool take_header(std::string_view body, std::string_view text);
  bool take_footer(std::string_view body);
  bool take_launch(std::string_view text);
  bool take_failure(std::string_view text);
  bool take_label(const Body& body, std::string_view text);

  void begin(Stage stage);
  void open();
  void open_for_row(const Row& row);
  void fork();
  void close();
  void keep(Curve&& curve);
  void adopt_twin();
  void add_caveats();
  core::Evidence evidence(std::string_view text) const;

  Reading reading_;
  // The run that is being read; its rows are collected in rows_, which keeps its memory.
  bool is_open_ = false;
  Curve curve_;
  std::vector<Row> rows_;
  std::optional<Layout> layout_;
  Stage stage_ = Stage::kNothing;
  int headers_ = 0;
  int averages_ = 0;
  bool rows_after_end_ = false;
  // A separator line ("### ALGO=Ring") that waits for its rows.
  std::string label_;
  bool label_names_setting_ = false;
  // A row whose end may stand on a later line.
  std::string held_;
  core::Line held_line_;
  RowReading held_reading_;
  Row held_row_;
  // What earlier lines said that holds for all runs that follow.
  Said said_;
  std::vector<core::Evidence> loose_errors_;
  std::size_t copied_devices_ = 0;
  std::uint64_t line_ = 0;
  std::string plain_;
  // Counted for the caveats.
  std::uint64_t carriage_returns_ = 0;
  std::uint64_t elisions_ = 0, first_elision_ = 0;
  std::uint64_t cut_rows_ = 0, first_cut_ = 0;
  std::uint64_t fragment_ = 0;  // the line of a lone size at the end of what was read so far
  std::uint64_t rank_contradictions_ = 0;
  std::uint64_t contradictions_ = 0, first_contradiction_ = 0;
  std::uint64_t refused_ = 0, first_refused_ = 0;
  std::uint64_t without_time_ = 0, first_without_time_ = 0;
  std::uint64_t gaps_ = 0, first_gap_ = 0;
  std::string refused_word_, no_time_word_;  // of the first
};

}  // namespace comm_probe::curve
