#include "torch/readers/sqlite_rows.h"

#include <fmt/format.h>

namespace comm_probe::torch {

core::Result<SqliteFile> SqliteFile::open(const std::string& path) {
  SqliteFile file;
  file.path_ = path;
  sqlite3* handle = nullptr;
  const int status =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  file.handle_.reset(handle);
  if (status != SQLITE_OK) {
    core::Error error =
        core::input_error(fmt::format("cannot be opened as SQLite: {}", sqlite3_errstr(status)));
    error.where.file = path;
    return error;
  }
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return file;
}

std::set<std::string> SqliteFile::columns(const std::string& table) const {
  std::set<std::string> names;
  SqliteRows rows(*this, "SELECT name FROM pragma_table_info('" + table + "')");
  while (rows.next()) names.emplace(rows.text(0));
  return names;
}

SqliteRows::SqliteRows(const SqliteFile& file, const std::string& query) : file_(file) {
  sqlite3_stmt* row = nullptr;
  const int status = sqlite3_prepare_v2(file.handle(), query.c_str(), -1, &row, nullptr);
  row_.reset(row);
  if (status != SQLITE_OK) fail();
}

bool SqliteRows::next() {
  if (error_ || row_ == nullptr) return false;
  const int status = sqlite3_step(row_.get());
  if (status != SQLITE_ROW && status != SQLITE_DONE) fail();
  return status == SQLITE_ROW;
}

std::string_view SqliteRows::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(row_.get(), column))};
}

std::string_view SqliteRows::blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(row_.get(), column))};
}

void SqliteRows::fail() {
  error_ =
      core::input_error(fmt::format("damaged SQLite data: {}", sqlite3_errmsg(file_.handle())));
  error_->where.file = file_.path();
}

}  // namespace comm_probe::torch
