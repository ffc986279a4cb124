#include "store/history/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <utility>

namespace genscope::store::history {
namespace {

// How long a writer waits for another one. A transaction of ours takes milliseconds.
constexpr int kBusyMs = 10'000;

Error sqlite_error(sqlite3* db, int code, const std::string& path) {
  const char* const said = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  const auto make = [&](ErrorCode kind, const char* remedy) {
    return Error{kind, fmt::format("{}: {}; {}", path, said, remedy)};
  };
  switch (code & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
    case SQLITE_ERROR:  // a column is missing: not a table of ours
    case SQLITE_SCHEMA:
      return make(ErrorCode::bad_data, "`genscope bench history --rebuild` makes it anew");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return make(ErrorCode::io, "another process holds it; try again");
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return make(ErrorCode::permission, "set GENSCOPE_OUT to a folder that can be written");
    case SQLITE_FULL:
      return make(ErrorCode::no_space, "make room on the disk");
    case SQLITE_NOMEM:
      return make(ErrorCode::no_space, "out of memory");
    default:
      return make(ErrorCode::io, "check the disk");
  }
}

}  // namespace

Statement::Statement(sqlite3* db, std::string_view sql, const std::string& path)
    : db_(db), path_(path) {
  const int code =
      sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr);
  if (code != SQLITE_OK) throw SqliteFailure{sqlite_error(db, code, path)};
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_),
      statement_(std::exchange(other.statement_, nullptr)),
      path_(std::move(other.path_)) {}

Statement& Statement::bind(int place, std::string_view text) {
  // A null pointer would bind NULL.
  const char* const data = text.data() != nullptr ? text.data() : "";
  sqlite3_bind_text(statement_, place, data, static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind(int place, std::int64_t value) {
  sqlite3_bind_int64(statement_, place, value);
  return *this;
}

Statement& Statement::bind(int place, double value) {
  if (std::isnan(value)) return bind_null(place);
  sqlite3_bind_double(statement_, place, value);
  return *this;
}

Statement& Statement::bind_null(int place) {
  sqlite3_bind_null(statement_, place);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const Error error = sqlite_error(db_, code, path_);
  sqlite3_reset(statement_);
  throw SqliteFailure{error};
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

std::string Statement::text(int column) const {
  const auto* const data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return data != nullptr ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::optional<std::int64_t> Statement::optional_integer(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
  return integer(column);
}

std::optional<double> Statement::real(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(statement_, column);
}

Database::Database(const std::string& path, Access access) : path_(path) {
  const int flags =
      access == Access::write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int code = sqlite3_open_v2(path.c_str(), &db_, flags | SQLITE_OPEN_EXRESCODE, nullptr);
  if (code != SQLITE_OK) {
    const Error error = sqlite_error(db_, code, path);
    sqlite3_close_v2(std::exchange(db_, nullptr));
    throw SqliteFailure{error};
  }
  sqlite3_busy_timeout(db_, kBusyMs);
}

Database::~Database() { sqlite3_close_v2(db_); }

Database::Database(Database&& other) noexcept
    : db_(std::exchange(other.db_, nullptr)), path_(std::move(other.path_)) {}

void Database::set_journal_mode(const char* mode) {
  constexpr int kPauseMs = 10;
  const std::string sql = std::string("PRAGMA journal_mode = ") + mode;
  for (int waited_ms = 0;; waited_ms += kPauseMs) {
    try {
      execute(sql.c_str());
      return;
    } catch (const SqliteFailure&) {
      const bool busy = (sqlite3_errcode(db_) & 0xFF) == SQLITE_BUSY;
      if (!busy || waited_ms >= kBusyMs) throw;
    }
    sqlite3_sleep(kPauseMs);
  }
}

void Database::execute(const char* sql) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw SqliteFailure{sqlite_error(db_, code, path_)};
}

std::string Database::pragma(const char* name) {
  Statement asked = prepare(fmt::format("PRAGMA {}", name));
  return asked.step() ? asked.text(0) : std::string();
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const SqliteFailure&) {  // it has been rolled back by the failure itself
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace genscope::store::history
