// The tables of the history index, described once. What creates and fills them is printed from the
// description: SQLite for a machine of one's own, PostgreSQL for one that many share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace genscope::store::history {

enum class ColumnType : std::uint8_t { text, integer, real, flag, time };

struct Column {
  std::string_view name;
  ColumnType type = ColumnType::text;
  bool required = false;
};

struct Table {
  std::string_view name;
  std::vector<Column> columns;
  std::vector<std::string_view> key;
};

// Orders that lists and series are read in.
struct Lookup {
  std::string_view name, table, columns;
};

std::span<const Table> tables();
const Table& table(std::string_view name);  // one of them
std::span<const Lookup> lookups();

enum class Dialect : std::uint8_t { sqlite, postgresql };

// CREATE statements for everything, each ended by ";\n". A time is TIMESTAMPTZ in PostgreSQL and
// microseconds since 1970 in SQLite, whose STRICT tables know neither times nor flags.
std::string ddl(Dialect dialect);

// "INSERT ... VALUES ($1, ...) ON CONFLICT (key) DO UPDATE ...", the same in both.
std::string upsert(const Table& table);

// Changes with the meaning of any column: an index of another version is built anew.
inline constexpr int kSchemaVersion = 1;
inline constexpr std::int32_t kApplicationId = 0x67736862;  // "gshb"

}  // namespace genscope::store::history
