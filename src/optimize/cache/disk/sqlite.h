// As much of SQLite as the disk tier needs. Nothing throws: a failed step is a failed call, and
// error() says why.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace genscope::optimize::cache {

class DiskStatement {
 public:
  DiskStatement() = default;
  DiskStatement(sqlite3* db, const char* sql) noexcept;
  ~DiskStatement();
  DiskStatement(DiskStatement&& other) noexcept;
  DiskStatement& operator=(DiskStatement&& other) noexcept;

  // The bytes must live until the statement has run.
  DiskStatement& bytes(int place, std::string_view value) noexcept;
  DiskStatement& integer(int place, std::int64_t value) noexcept;
  DiskStatement& null(int place) noexcept;
  enum class Step : std::uint8_t { row, done, failed };
  Step step() noexcept;
  bool run() noexcept;  // to its end, and ready for the next time
  void reset() noexcept;
  std::string_view bytes_at(int column) const noexcept;  // until the next step
  std::int64_t integer_at(int column) const noexcept;
  bool null_at(int column) const noexcept;

 private:
  sqlite3_stmt* statement_ = nullptr;
};

class DiskDatabase {
 public:
  DiskDatabase() = default;
  ~DiskDatabase();
  DiskDatabase(const DiskDatabase&) = delete;
  DiskDatabase& operator=(const DiskDatabase&) = delete;
  bool open(const std::string& path) noexcept;
  void close() noexcept;
  bool execute(const char* sql) noexcept;
  DiskStatement prepare(const char* sql) noexcept { return {db_, sql}; }
  std::string error() const;
  bool is_damaged() const noexcept;  // the last error says that the file is no database

 private:
  sqlite3* db_ = nullptr;
};

}  // namespace genscope::optimize::cache
