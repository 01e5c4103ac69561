// An SQLite file, opened to be read only: which tables and columns it has, and the rows of a query.
// Files are as others made them: nothing in their schema is trusted, and a damaged page ends the
// rows with an error.
//
//   auto file = SqliteFile::open("report.sqlite");
//   SqliteRows rows(*file, "SELECT start, name FROM RUNS");
//   while (rows.next()) use(rows.integer(0), rows.text(1));
//   if (rows.error()) ...
#pragma once

#include <sqlite3.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/result.h"

namespace comm_probe::torch {

class SqliteFile {
 public:
  static core::Result<SqliteFile> open(const std::string& path);
  // Empty where there is no such table.
  std::set<std::string> columns(const std::string& table) const;
  sqlite3* handle() const { return handle_.get(); }
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close(handle); }
  };
  std::string path_ = {};
  std::unique_ptr<sqlite3, Close> handle_ = {};
};

class SqliteRows {
 public:
  SqliteRows(const SqliteFile& file, const std::string& query);
  bool next();
  bool is_null(int column) const { return sqlite3_column_type(row_.get(), column) == SQLITE_NULL; }
  std::int64_t integer(int column) const { return sqlite3_column_int64(row_.get(), column); }
  // Valid until the next call of next().
  std::string_view text(int column) const;
  std::string_view blob(int column) const;
  const std::optional<core::Error>& error() const { return error_; }

 private:
  struct Finish {
    void operator()(sqlite3_stmt* row) const { sqlite3_finalize(row); }
  };
  void fail();

  const SqliteFile& file_;
  std::unique_ptr<sqlite3_stmt, Finish> row_ = {};
  std::optional<core::Error> error_ = {};
};

}  // namespace comm_probe::torch
