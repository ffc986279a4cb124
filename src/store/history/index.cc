// One function for each question; each is one statement, so SQLite's own locking makes it whole.
// Writers take the lock at once (BEGIN IMMEDIATE) and wait for one another up to the busy timeout.
//
// All rows of a run are replaced, not merged: a result that was written again leaves nothing of its
// first form. 10,000 runs are written in one transaction, in under a second.
#include "store/history/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "store/history/database.h"
#include "store/history/schema.h"

namespace genscope::store::history {

struct Index::Impl {
  Database database;
};

namespace {

// What `ask` returns, or the failure as an Error.
template <class Ask>
auto guarded(const Ask& ask) -> Result<decltype(ask())> {
  try {
    return ask();
  } catch (const SqliteFailure& failure) {
    return failure.error;
  }
}

std::optional<std::int64_t> as_integer(const std::optional<bool>& flag) {
  if (!flag) return std::nullopt;
  return *flag ? 1 : 0;
}

std::optional<std::string> unless_empty(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

// Counts up the places, so that rows are bound in the order of the table's columns.
class Row {
 public:
  explicit Row(Statement& statement) : statement_(statement) {}
  Row& text(std::string_view value) { return statement_.bind(++place_, value), *this; }
  Row& optional_text(const std::string& value) {
    return statement_.bind(++place_, unless_empty(value)), *this;
  }
  Row& integer(std::int64_t value) { return statement_.bind(++place_, value), *this; }
  Row& natural(std::uint64_t value) { return integer(static_cast<std::int64_t>(value)); }
  template <class T>
  Row& optional(const std::optional<T>& value) {
    return statement_.bind(++place_, value), *this;
  }
  Row& real(double value) { return statement_.bind(++place_, value), *this; }
  void done() { statement_.run(); }

 private:
  Statement& statement_;
  int place_ = 0;
};

class Writer {
 public:
  explicit Writer(const Database& db)
      : run_(db.prepare(upsert(table("run")))),
        cell_(db.prepare(upsert(table("cell")))),
        metric_(db.prepare(upsert(table("metric")))),
        verdict_(db.prepare(upsert(table("verdict")))),
        noise_(db.prepare(upsert(table("noise")))),
        file_(db.prepare(upsert(table("file")))),
        run_of_(db.prepare("SELECT run FROM file WHERE uri = $1")) {
    removals_.push_back(db.prepare("DELETE FROM run WHERE id = $1"));
    for (const char* const name : {"cell", "metric", "verdict", "noise", "file"}) {
      removals_.push_back(db.prepare(fmt::format("DELETE FROM {} WHERE run = $1", name)));
    }
  }

  void remove_run(const std::string& run) {
    for (Statement& removal : removals_) removal.bind(1, run).run();
  }

  void remove_file(const std::string& uri) {
    run_of_.bind(1, uri);
    const std::string run = run_of_.step() ? run_of_.text(0) : std::string();
    run_of_.reset();
    if (!run.empty()) remove_run(run);
  }

  void put(const Entry& entry) {
    remove_file(entry.file.uri);
    remove_run(entry.file.run);
    put(entry.file);
    if (!entry.run) return;
    put(*entry.run);
    const std::string& id = entry.run->id;
    for (const CellRow& one : entry.cells) {
      Row(cell_)
          .text(id)
          .text(one.cell)
          .text(one.params)
          .text(one.status)
          .optional_text(one.failure)
          .done();
    }
    for (const MetricRow& one : entry.metrics) put(id, one);
    for (const VerdictRow& one : entry.verdicts) put(id, one);
    for (const NoiseRow& one : entry.noise) {
      Row(noise_)
          .text(id)
          .text(one.key)
          .text(one.environment_class)
          .real(one.floor)
          .optional(one.mde)
          .natural(one.pairs)
          .integer(one.of_machine ? 1 : 0)
          .integer(one.measured_us)
          .done();
    }
  }

 private:
  void put(const FileRow& one) {
    Row(file_)
        .text(one.uri)
        .text(one.run)
        .text(one.kind)
        .optional_text(one.xxh3)
        .natural(one.bytes)
        .integer(one.modified_us)
        .done();
  }
  void put(const RunRow& one) {
    Row row(run_);
    row.text(one.id).text(one.suite).optional_text(one.suite_hash).text(one.subject);
    row.text(one.workload_hash).text(one.environment_class).optional_text(one.commit_sha);
    row.optional_text(one.branch).optional(as_integer(one.dirty)).integer(one.started_us);
    row.optional(one.ended_us).integer(one.exit_code).optional_text(one.host_label);
    row.optional_text(one.tool_version).done();
  }
  void put(const std::string& id, const MetricRow& one) {
    Row row(metric_);
    row.text(id).text(one.cell).text(one.slot).text(one.name).text(one.unit).text(one.direction);
    row.natural(one.n_units).real(one.median).optional(one.lo).optional(one.hi);
    row.optional(one.p50).optional(one.p95).optional(one.mad).text(one.source).done();
  }
  void put(const std::string& id, const VerdictRow& one) {
    Row row(verdict_);
    row.text(id).text(one.cell).text(one.metric).text(one.base).text(one.verdict);
    row.optional(one.ratio).optional(one.lo).optional(one.hi).real(one.floor);
    row.optional(one.p_value).optional(one.p_adjusted).integer(one.gate ? 1 : 0).done();
  }

  Statement run_, cell_, metric_, verdict_, noise_, file_, run_of_;
  std::vector<Statement> removals_;
};

// Tables as they should be, or a SqliteFailure.
void set_up(Database& db, const std::string& path) {
  const auto version = [&] { return db.pragma("user_version"); };
  if (version() == std::to_string(kSchemaVersion)) return;
  Transaction transaction(db);
  if (version() == "0" && db.pragma("schema_version") == "0") {
    db.execute(ddl(Dialect::sqlite).c_str());
    db.execute(fmt::format("PRAGMA user_version = {}", kSchemaVersion).c_str());
    db.execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
    transaction.commit();
    return;
  }
  if (version() == std::to_string(kSchemaVersion)) return;  // another process was faster
  throw SqliteFailure{
      {ErrorCode::bad_data,
       fmt::format("{}: not an index of this version of genscope; `genscope bench history "
                   "--rebuild` makes it anew",
                   path)}};
}

RunRow run_row(const Statement& row) {
  RunRow one;
  one.id = row.text(0);
  one.suite = row.text(1);
  one.suite_hash = row.text(2);
  one.subject = row.text(3);
  one.workload_hash = row.text(4);
  one.environment_class = row.text(5);
  one.commit_sha = row.text(6);
  one.branch = row.text(7);
  if (const auto dirty = row.optional_integer(8)) one.dirty = *dirty != 0;
  one.started_us = row.integer(9);
  one.ended_us = row.optional_integer(10);
  one.exit_code = static_cast<int>(row.integer(11));
  one.host_label = row.text(12);
  one.tool_version = row.text(13);
  return one;
}

PointRow point_row(const Statement& row) {
  PointRow one;
  one.run = row.text(0);
  one.suite = row.text(1);
  one.subject = row.text(2);
  one.workload_hash = row.text(3);
  one.environment_class = row.text(4);
  one.commit_sha = row.text(5);
  one.cell = row.text(6);
  one.unit = row.text(7);
  one.direction = row.text(8);
  one.source = row.text(9);
  one.started_us = row.integer(10);
  one.n_units = static_cast<std::uint64_t>(row.integer(11));
  one.median = row.real(12).value_or(0);
  one.lo = row.real(13);
  one.hi = row.real(14);
  return one;
}

std::vector<BaselineRow> read_baselines(const Database& db) {
  std::vector<BaselineRow> all;
  Statement row = db.prepare("SELECT name, run, made, note FROM baseline ORDER BY name");
  while (row.step()) all.push_back({row.text(0), row.text(1), row.integer(2), row.text(3)});
  return all;
}

std::vector<AcceptedRow> read_accepted(const Database& db) {
  std::vector<AcceptedRow> all;
  Statement row = db.prepare(
      "SELECT run, cell, metric, made, note FROM accepted_change ORDER BY run, cell, metric");
  while (row.step()) {
    all.push_back({row.text(0), row.text(1), row.text(2), row.integer(3), row.text(4)});
  }
  return all;
}

}  // namespace

Index::Index(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;
Index::~Index() = default;

Result<Index> Index::open(const std::string& path) {
  return guarded([&] {
    auto impl = std::make_unique<Impl>(Impl{Database(path, Access::write)});
    const bool shared = base::on_network_file_system(path);
    impl->database.set_journal_mode(shared ? "DELETE" : "WAL");
    impl->database.execute("PRAGMA synchronous = NORMAL");
    set_up(impl->database, path);
    return Index(std::move(impl));
  });
}

Result<Index> Index::in_memory() {
  return guarded([&] {
    auto impl = std::make_unique<Impl>(Impl{Database(":memory:", Access::write)});
    set_up(impl->database, "the index");
    return Index(std::move(impl));
  });
}

std::string Index::journal() const {
  const Result<std::string> mode = guarded([&] { return impl_->database.pragma("journal_mode"); });
  return mode ? *mode : std::string();
}

Status Index::put(std::span<const Entry> entries, std::span<const std::string> gone) {
  return guarded([&] {
    Transaction transaction(impl_->database);
    Writer writer(impl_->database);
    for (const std::string& uri : gone) writer.remove_file(uri);
    for (const Entry& entry : entries) writer.put(entry);
    transaction.commit();
    return Done{};
  });
}

Status Index::put_decisions(std::span<const BaselineRow> baselines,
                            std::span<const AcceptedRow> accepted) {
  return guarded([&] {
    Database& db = impl_->database;
    if (std::ranges::equal(read_baselines(db), baselines) &&
        std::ranges::equal(read_accepted(db), accepted)) {
      return Done{};
    }
    Transaction transaction(db);
    db.execute("DELETE FROM baseline; DELETE FROM accepted_change");
    Statement baseline = db.prepare(upsert(table("baseline")));
    for (const BaselineRow& one : baselines) {
      Row(baseline)
          .text(one.name)
          .text(one.run)
          .integer(one.made_us)
          .optional_text(one.note)
          .done();
    }
    Statement change = db.prepare(upsert(table("accepted_change")));
    for (const AcceptedRow& one : accepted) {
      Row(change)
          .text(one.run)
          .text(one.cell)
          .text(one.metric)
          .integer(one.made_us)
          .optional_text(one.note)
          .done();
    }
    transaction.commit();
    return Done{};
  });
}

Result<std::vector<FileRow>> Index::files() const {
  return guarded([&] {
    std::vector<FileRow> all;
    Statement row =
        impl_->database.prepare("SELECT uri, run, kind, xxh3, bytes, modified FROM file");
    while (row.step()) {
      all.push_back({row.text(0), row.text(1), row.text(2), row.text(3),
                     static_cast<std::uint64_t>(row.integer(4)), row.integer(5)});
    }
    return all;
  });
}

Result<std::vector<RunRow>> Index::runs(std::size_t limit,
                                        const std::optional<std::string>& suite) const {
  return guarded([&] {
    std::vector<RunRow> all;
    Statement row = impl_->database.prepare(
        fmt::format("SELECT id, suite, suite_hash, subject, workload_hash, environment_class, "
                    "commit_sha, branch, dirty, started, ended, exit_code, host_label, "
                    "tool_version FROM run {} ORDER BY started DESC, id DESC LIMIT $2",
                    suite ? "WHERE suite = $1" : "WHERE $1 IS NULL"));
    row.bind(1, suite).bind(2, static_cast<std::int64_t>(limit));
    while (row.step()) all.push_back(run_row(row));
    return all;
  });
}

Result<std::vector<std::string>> Index::ids(std::string_view prefix, std::size_t limit) const {
  return guarded([&] {
    std::vector<std::string> all;
    Statement row = impl_->database.prepare(
        "SELECT id FROM run WHERE substr(id, 1, length($1)) = $1 ORDER BY started DESC, id DESC "
        "LIMIT $2");
    row.bind(1, prefix).bind(2, static_cast<std::int64_t>(limit));
    while (row.step()) all.push_back(row.text(0));
    return all;
  });
}

Result<std::optional<std::string>> Index::nth_last(std::uint64_t n) const {
  return guarded([&]() -> std::optional<std::string> {
    Statement row = impl_->database.prepare(
        "SELECT id FROM run ORDER BY started DESC, id DESC LIMIT 1 OFFSET $1");
    row.bind(1, static_cast<std::int64_t>(std::min<std::uint64_t>(n, INT64_MAX)));
    if (!row.step()) return std::nullopt;
    return row.text(0);
  });
}

Result<std::vector<PointRow>> Index::series(const SeriesQuery& query) const {
  return guarded([&] {
    std::string sql =
        "SELECT run.id, run.suite, run.subject, run.workload_hash, run.environment_class, "
        "run.commit_sha, metric.cell, metric.unit, metric.direction, metric.source, run.started, "
        "metric.n_units, metric.median, metric.lo, metric.hi FROM metric JOIN run ON "
        "run.id = metric.run WHERE metric.name = $1 AND metric.slot = $2";
    std::vector<std::string> values{query.metric, query.slot};
    const auto also = [&](const char* column, const std::optional<std::string>& value) {
      if (!value) return;
      values.push_back(*value);
      sql += fmt::format(" AND {} = ${}", column, values.size());
    };
    also("metric.cell", query.cell);
    also("run.suite", query.suite);
    also("run.subject", query.subject);
    Statement row = impl_->database.prepare(sql + " ORDER BY run.started, run.id");
    for (std::size_t i = 0; i < values.size(); ++i) row.bind(static_cast<int>(i) + 1, values[i]);
    std::vector<PointRow> all;
    while (row.step()) all.push_back(point_row(row));
    return all;
  });
}

Result<std::vector<std::string>> Index::metric_names() const {
  return guarded([&] {
    std::vector<std::string> all;
    Statement row = impl_->database.prepare("SELECT DISTINCT name FROM metric ORDER BY name");
    while (row.step()) all.push_back(row.text(0));
    return all;
  });
}

Result<std::optional<NoiseRow>> Index::noise(std::string_view environment_class,
                                             std::string_view key) const {
  return guarded([&]() -> std::optional<NoiseRow> {
    Statement row = impl_->database.prepare(
        "SELECT key, environment_class, floor, mde, pairs, of_machine, measured FROM noise WHERE "
        "environment_class = $1 AND (key = $2 OR of_machine = 1) ORDER BY key = $2 DESC, "
        "measured DESC LIMIT 1");
    row.bind(1, environment_class).bind(2, key);
    if (!row.step()) return std::nullopt;
    NoiseRow one;
    one.key = row.text(0);
    one.environment_class = row.text(1);
    one.floor = row.real(2).value_or(0);
    one.mde = row.real(3);
    one.pairs = static_cast<std::uint64_t>(row.integer(4));
    one.of_machine = row.integer(5) != 0;
    one.measured_us = row.integer(6);
    return one;
  });
}

Result<std::vector<BaselineRow>> Index::baselines() const {
  return guarded([&] { return read_baselines(impl_->database); });
}

Result<std::vector<AcceptedRow>> Index::accepted() const {
  return guarded([&] { return read_accepted(impl_->database); });
}

}  // namespace genscope::store::history
