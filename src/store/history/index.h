// The index of benchmark results: what lists, series and lookups need, in one SQLite file beside
// the results. It is derived from files (bench/history/folder.h reads them), so it may be deleted,
// corrupted or locked without a loss.
//
// Several processes may use it at once; an Index is one thread's. Times are microseconds since
// 1970.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "genscope/error.h"

namespace genscope::store::history {

struct RunRow {
  std::string id, suite, suite_hash, subject, workload_hash, environment_class;
  std::string commit_sha, branch;
  std::optional<bool> dirty;
  std::int64_t started_us = 0;
  std::optional<std::int64_t> ended_us;
  int exit_code = 0;
  std::string host_label, tool_version;
};

struct CellRow {
  std::string cell, params, status, failure;
};

struct MetricRow {
  std::string cell, slot, name, unit, direction;
  std::uint64_t n_units = 0;
  double median = 0;
  std::optional<double> lo, hi, p50, p95, mad;
  std::string source;
};

struct VerdictRow {
  std::string cell, metric, base, verdict;
  std::optional<double> ratio, lo, hi;
  double floor = 0;
  std::optional<double> p_value, p_adjusted;
  bool gate = false;
};

struct NoiseRow {
  std::string key, environment_class;
  double floor = 0;
  std::optional<double> mde;
  std::uint64_t pairs = 0;
  bool of_machine = false;
  std::int64_t measured_us = 0;
};

struct BaselineRow {
  std::string name, run;
  std::int64_t made_us = 0;
  std::string note;
  bool operator==(const BaselineRow&) const = default;
};

struct AcceptedRow {
  std::string run, cell, metric;
  std::int64_t made_us = 0;
  std::string note;
  bool operator==(const AcceptedRow&) const = default;
};

struct FileRow {
  std::string uri, run, kind, xxh3;
  std::uint64_t bytes = 0;
  std::int64_t modified_us = 0;
};

// All that one result says; without a run, that its file cannot be read.
struct Entry {
  FileRow file;
  std::optional<RunRow> run;
  std::vector<CellRow> cells;
  std::vector<MetricRow> metrics;
  std::vector<VerdictRow> verdicts;
  std::vector<NoiseRow> noise;
};

// One value of a series.
struct PointRow {
  std::string run, suite, subject, workload_hash, environment_class, commit_sha, cell;
  std::string unit, direction, source;
  std::int64_t started_us = 0;
  std::uint64_t n_units = 0;
  double median = 0;
  std::optional<double> lo, hi;
};

struct SeriesQuery {
  std::string metric;
  std::string slot = "A";
  std::optional<std::string> suite, cell, subject;
};

class Index {
 public:
  // Makes the file if it is missing. WAL, so that readers and a writer do not wait for one another;
  // on a network file system, where WAL cannot work, a rollback journal. bad_data: it is damaged,
  // or of another version.
  static Result<Index> open(const std::string& path);
  static Result<Index> in_memory();
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;
  ~Index();

  std::string journal() const;  // "wal", "delete", "memory"

  // In one transaction; replaces what is there of the same files, and removes what came from
  // `gone`, which are uris.
  Status put(std::span<const Entry> entries, std::span<const std::string> gone = {});

  // What the user decided, all of it; does nothing if that is known.
  Status put_decisions(std::span<const BaselineRow> baselines,
                       std::span<const AcceptedRow> accepted);

  Result<std::vector<FileRow>> files() const;
  // Newest first.
  Result<std::vector<RunRow>> runs(std::size_t limit,
                                   const std::optional<std::string>& suite) const;
  // At most `limit` ids that begin so, newest first.
  Result<std::vector<std::string>> ids(std::string_view prefix, std::size_t limit) const;
  Result<std::optional<std::string>> nth_last(std::uint64_t n) const;  // 0: the newest
  // In the order of time.
  Result<std::vector<PointRow>> series(const SeriesQuery& query) const;
  Result<std::vector<std::string>> metric_names() const;
  // The newest of this key, else the newest of the machine.
  Result<std::optional<NoiseRow>> noise(std::string_view environment_class,
                                        std::string_view key) const;
  Result<std::vector<BaselineRow>> baselines() const;  // by name
  Result<std::vector<AcceptedRow>> accepted() const;

 private:
  struct Impl;
  explicit Index(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace genscope::store::history
