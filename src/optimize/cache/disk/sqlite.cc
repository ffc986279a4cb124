#include "optimize/cache/disk/sqlite.h"

#include <sqlite3.h>

#include <utility>

namespace genscope::optimize::cache {

DiskStatement::DiskStatement(sqlite3* db, const char* sql) noexcept {
  if (db != nullptr) sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr);
}
DiskStatement::~DiskStatement() { sqlite3_finalize(statement_); }
DiskStatement::DiskStatement(DiskStatement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)) {}
DiskStatement& DiskStatement::operator=(DiskStatement&& other) noexcept {
  std::swap(statement_, other.statement_);
  return *this;
}

DiskStatement& DiskStatement::bytes(int place, std::string_view value) noexcept {
  sqlite3_bind_blob64(statement_, place, value.data() != nullptr ? value.data() : "", value.size(),
                      SQLITE_STATIC);
  return *this;
}
DiskStatement& DiskStatement::integer(int place, std::int64_t value) noexcept {
  sqlite3_bind_int64(statement_, place, value);
  return *this;
}
DiskStatement& DiskStatement::null(int place) noexcept {
  sqlite3_bind_null(statement_, place);
  return *this;
}

DiskStatement::Step DiskStatement::step() noexcept {
  if (statement_ == nullptr) return Step::failed;
  const int code = sqlite3_step(statement_);
  return code == SQLITE_ROW ? Step::row : code == SQLITE_DONE ? Step::done : Step::failed;
}
bool DiskStatement::run() noexcept {
  Step last = Step::row;
  while (last == Step::row) last = step();
  reset();
  return last == Step::done;
}
void DiskStatement::reset() noexcept {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}
std::string_view DiskStatement::bytes_at(int column) const noexcept {
  const auto* const data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return data != nullptr ? std::string_view(data, size) : std::string_view();
}
std::int64_t DiskStatement::integer_at(int column) const noexcept {
  return sqlite3_column_int64(statement_, column);
}
bool DiskStatement::null_at(int column) const noexcept {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

DiskDatabase::~DiskDatabase() { close(); }
void DiskDatabase::close() noexcept { sqlite3_close_v2(std::exchange(db_, nullptr)); }

bool DiskDatabase::open(const std::string& path) noexcept {
  const int code =
      sqlite3_open_v2(path.c_str(), &db_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  if (code == SQLITE_OK) sqlite3_busy_timeout(db_, 2'000);
  return code == SQLITE_OK;
}
bool DiskDatabase::execute(const char* sql) noexcept {
  return db_ != nullptr && sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}
std::string DiskDatabase::error() const {
  return db_ != nullptr ? sqlite3_errmsg(db_) : "no database";
}
bool DiskDatabase::is_damaged() const noexcept {
  const int code = db_ != nullptr ? sqlite3_errcode(db_) & 0xFF : 0;
  return code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_ERROR;
}

}  // namespace genscope::optimize::cache
