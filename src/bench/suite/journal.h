// The journal of a suite's run: what was measured, a line as soon as it is known, so that a run
// that was killed goes on where it was.
//
//   {"kind":"header", suite, hash, seed, ... ,"sum":"<16 hex digits>"}
//   {"kind":"unit","head":{...},"cell":{...one unit...},"sum":"..."}   a cell of genscope.bench/1
//   {"kind":"cell","cell":{...no unit...},"sum":"..."}      a cell that failed or was skipped
//   {"kind":"load","load":{...},"sum":"..."}                of the unit in the line after it
//
// Append-only JSON lines; `sum` is XXH3-64 of all before it in its line. A line that is torn or
// damaged is left out and counted: what it told is measured again. The head of a unit is what it
// takes to go on (which cell, how long, how it went), so that a long journal is resumed without
// reading its figures; they are read when they are wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <genscope/bench.h>

#include "base/file.h"

namespace genscope::bench {

struct JournalHeader {
  std::string id;  // of the result
  std::string suite, suite_hash, started, environment;
  std::uint64_t seed = 1;
  std::string only;
};

struct UnitHead {
  std::string cell;  // its id
  std::uint32_t order_index = 0;
  bool good = false;
  double seconds = 0;               // that it took, as far as is known afterwards
  std::optional<double> latency_s;  // its value: the median of its good samples
};
UnitHead head_of(const Cell& one_unit);

struct JournalUnit {
  UnitHead head;
  std::string cell;  // cell_from_json() reads it
};

// What a journal holds, line by line.
struct JournalVisitor {
  std::function<void(JournalUnit&&)> unit = {};
  std::function<void(Cell&&)> cell = {};
  std::function<void(LoadResultSummary&&)> load = {};
};
struct JournalRead {
  JournalHeader header;
  std::size_t lines = 0, damaged = 0;
};
// An error if there is no header; it names `file`.
Result<JournalRead> read_journal(std::string_view text, std::string_view file,
                                 const JournalVisitor& visitor);
// The same of a file, a block at a time: memory is what the visitor keeps.
Result<JournalRead> read_journal_file(const std::string& path, const JournalVisitor& visitor);
// Its first line alone.
Result<JournalHeader> read_journal_header(const std::string& path);

class Journal {
 public:
  // A new file; an error if it exists.
  static Result<Journal> create(const std::string& path, const JournalHeader& header);
  // To append to what read_journal() has read. Both refuse a journal that another genscope writes.
  static Result<Journal> reopen(const std::string& path);

  Journal(Journal&&) = default;
  Journal& operator=(Journal&&) = default;

  // One line, in the kernel's hands when this returns, and on the disk within a second of work.
  // After a failure nothing more is written, and each call says so.
  Status unit(const Cell& one_unit);
  Status cell(const Cell& outcome);
  Status load(const LoadResultSummary& summary);  // before its unit
  void sync() noexcept;

 private:
  Journal(std::string path, base::UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  Status write(std::string line);

  std::string path_;
  base::UniqueFd fd_;
  std::int64_t synced_ns_ = 0;
  std::optional<Error> failed_;
};

}  // namespace genscope::bench
