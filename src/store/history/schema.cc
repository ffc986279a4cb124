#include "store/history/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace genscope::store::history {
namespace {

constexpr ColumnType kText = ColumnType::text, kInteger = ColumnType::integer,
                     kReal = ColumnType::real, kFlag = ColumnType::flag, kTime = ColumnType::time;

const std::vector<Table>& all_tables() {
  static const std::vector<Table> kTables = {
      {"run",
       {{"id", kText, true},
        {"suite", kText, true},
        {"suite_hash", kText},
        {"subject", kText, true},  // what was measured, where there is no suite
        {"workload_hash", kText, true},
        {"environment_class", kText, true},
        {"commit_sha", kText},
        {"branch", kText},
        {"dirty", kFlag},
        {"started", kTime, true},
        {"ended", kTime},
        {"exit_code", kInteger, true},
        {"host_label", kText},
        {"tool_version", kText}},
       {"id"}},
      {"cell",
       {{"run", kText, true},
        {"cell", kText, true},
        {"params", kText, true},
        {"status", kText, true},
        {"failure", kText}},
       {"run", "cell"}},
      {"metric",
       {{"run", kText, true},
        {"cell", kText, true},
        {"slot", kText, true},
        {"name", kText, true},
        {"unit", kText, true},
        {"direction", kText, true},
        {"n_units", kInteger, true},
        {"median", kReal, true},
        {"lo", kReal},
        {"hi", kReal},
        {"p50", kReal},
        {"p95", kReal},
        {"mad", kReal},
        {"source", kText, true}},  // measured, or the tool it was imported from
       {"run", "cell", "slot", "name"}},
      {"verdict",
       {{"run", kText, true},
        {"cell", kText, true},
        {"metric", kText, true},
        {"base", kText, true},
        {"verdict", kText, true},
        {"ratio", kReal},
        {"lo", kReal},
        {"hi", kReal},
        {"floor", kReal, true},
        {"p_value", kReal},
        {"p_adjusted", kReal},
        {"gate", kFlag, true}},
       {"run", "cell", "metric", "base"}},
      {"noise",
       {{"run", kText, true},
        {"key", kText, true},
        {"environment_class", kText, true},
        {"floor", kReal, true},
        {"mde", kReal},
        {"pairs", kInteger, true},
        {"of_machine", kFlag, true},  // of the built-in program: stands for any command
        {"measured", kTime, true}},
       {"run", "key"}},
      {"baseline",
       {{"name", kText, true}, {"run", kText, true}, {"made", kTime, true}, {"note", kText}},
       {"name"}},
      {"accepted_change",
       {{"run", kText, true},
        {"cell", kText, true},
        {"metric", kText, true},
        {"made", kTime, true},
        {"note", kText}},
       {"run", "cell", "metric"}},
      {"file",
       {{"uri", kText, true},  // within the folder of runs
        {"run", kText, true},
        {"kind", kText, true},  // result, unreadable
        {"xxh3", kText},
        {"bytes", kInteger, true},
        {"modified", kTime, true}},
       {"uri"}},
  };
  return kTables;
}

std::string_view type_name(ColumnType type, Dialect dialect) {
  const bool lite = dialect == Dialect::sqlite;
  switch (type) {
    case ColumnType::text:
      return "TEXT";
    case ColumnType::integer:
      return lite ? "INTEGER" : "BIGINT";
    case ColumnType::real:
      return lite ? "REAL" : "DOUBLE PRECISION";
    case ColumnType::flag:
      return lite ? "INTEGER" : "BOOLEAN";
    case ColumnType::time:
      return lite ? "INTEGER" : "TIMESTAMPTZ";
  }
  return "TEXT";
}

std::string create(const Table& table, Dialect dialect) {
  std::string text = fmt::format("CREATE TABLE IF NOT EXISTS {} (\n", table.name);
  for (const Column& column : table.columns) {
    text += fmt::format("  {} {}{},\n", column.name, type_name(column.type, dialect),
                        column.required ? " NOT NULL" : "");
  }
  text += fmt::format("  PRIMARY KEY ({})\n)", fmt::join(table.key, ", "));
  return text + (dialect == Dialect::sqlite ? " STRICT, WITHOUT ROWID;\n" : ";\n");
}

}  // namespace

std::span<const Table> tables() { return all_tables(); }

const Table& table(std::string_view name) {
  const auto& all = all_tables();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Table& one) { return one.name == name; });
  if (found == all.end()) std::abort();
  return *found;
}

std::span<const Lookup> lookups() {
  static constexpr Lookup kLookups[] = {
      {"run_by_time", "run", "started, id"},
      {"metric_by_name", "metric", "name, cell"},
      {"noise_by_key", "noise", "environment_class, key"},
      {"file_by_run", "file", "run"},
  };
  return kLookups;
}

std::string ddl(Dialect dialect) {
  std::string text;
  for (const Table& one : tables()) text += create(one, dialect);
  for (const Lookup& one : lookups()) {
    text += fmt::format("CREATE INDEX IF NOT EXISTS {} ON {} ({});\n", one.name, one.table,
                        one.columns);
  }
  return text;
}

std::string upsert(const Table& table) {
  std::vector<std::string> names, places, sets;
  for (const Column& column : table.columns) {
    names.emplace_back(column.name);
    places.push_back(fmt::format("${}", names.size()));
    if (std::find(table.key.begin(), table.key.end(), column.name) == table.key.end()) {
      sets.push_back(fmt::format("{0} = excluded.{0}", column.name));
    }
  }
  return fmt::format("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) DO UPDATE SET {}",
                     table.name, fmt::join(names, ", "), fmt::join(places, ", "),
                     fmt::join(table.key, ", "), fmt::join(sets, ", "));
}

}  // namespace genscope::store::history
