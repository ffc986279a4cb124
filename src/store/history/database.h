// SQLite, as little of it as the index needs: a connection, statements, and errors that say what to
// do. What fails throws SqliteFailure, which never leaves this folder: index.cc turns it into a
// Result. One thread a connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "genscope/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace genscope::store::history {

struct SqliteFailure {
  Error error;
};

class Statement {
 public:
  Statement(sqlite3* db, std::string_view sql, const std::string& path);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;

  // Places from 1: $1, $2, ... must first stand in this order, for they are names to SQLite.
  Statement& bind(int place, std::string_view text);
  Statement& bind(int place, std::int64_t value);
  Statement& bind(int place, double value);  // NaN becomes NULL
  Statement& bind_null(int place);
  template <class T>
  Statement& bind(int place, const std::optional<T>& value) {
    return value ? bind(place, *value) : bind_null(place);
  }

  bool step();   // whether there is a row
  void run();    // to its end, ready to be bound again
  void reset();  // ready to be bound again

  // Of the row, from 0.
  std::string text(int column) const;  // NULL is empty
  std::int64_t integer(int column) const;
  std::optional<std::int64_t> optional_integer(int column) const;
  std::optional<double> real(int column) const;

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  std::string path_;  // for messages
};

enum class Access : std::uint8_t { read, write };

class Database {
 public:
  // ":memory:" is a database of this connection alone. With Access::write the file is made if it
  // is missing; its folder is not.
  Database(const std::string& path, Access access);
  ~Database();
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;

  void execute(const char* sql);
  // SQLite does not wait where it changes this: it says at once that another connection is at it.
  // So this asks again, for as long as other statements wait.
  void set_journal_mode(const char* mode);
  Statement prepare(std::string_view sql) const { return Statement(db_, sql, path_); }
  std::string pragma(const char* name);  // its value

 private:
  sqlite3* db_ = nullptr;
  std::string path_;
};

// BEGIN IMMEDIATE; undone unless commit() was called.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace genscope::store::history
