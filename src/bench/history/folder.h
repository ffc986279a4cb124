// A folder of runs with its index, brought up to date.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <genscope/bench.h>

#include "bench/history/decisions.h"
#include "store/history/index.h"

namespace genscope::bench {

struct Folder {
  std::string runs;
  store::history::Index index;
  Decisions decisions;
  // For a person: the index was made anew, is kept in memory only, files that cannot be read.
  std::vector<std::string> notes;
};

// Reads the results that the index lacks, forgets those that are gone. A damaged index is made
// anew; one that cannot be used (locked, a folder that cannot be written) is replaced by one in
// memory for this call. So it fails only if not even that is possible. Writes nothing into a folder
// that holds no results.
Result<Folder> open_folder(const std::string& runs = runs_folder());

struct Rebuilt {
  std::uint64_t results = 0;
  std::vector<std::string> unreadable;  // sentences
  std::string journal;                  // of SQLite: "wal", or "delete" on a network file system
};
// Makes the index anew beside the old one, then takes its place.
Result<Rebuilt> rebuild_index(const std::string& runs);

// A result whose file was just written, into the index.
Status index_result(const std::string& runs, const BenchResult& result);

std::string index_path(const std::string& runs);

}  // namespace genscope::bench
