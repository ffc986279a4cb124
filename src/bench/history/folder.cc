// The index is what the files say. To bring it up to date, the names, sizes and times of all files
// are compared with those that were indexed; only what differs is read. Listing 10,000 names takes
// about 10 ms; reading a result costs its parsing, once.
#include "bench/history/folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <unordered_map>

#include "base/checksum.h"
#include "base/file.h"
#include "bench/history/rows.h"

namespace genscope::bench {
namespace {

namespace rows = store::history;

constexpr std::size_t kBatch = 500;  // results in one transaction

std::string results_folder(const std::string& runs) { return runs + "/bench"; }

// The files of results that are there, without content.
std::vector<rows::FileRow> list_result_files(const std::string& runs) {
  std::vector<rows::FileRow> all;
  std::error_code missing;
  for (const auto& item : std::filesystem::directory_iterator(results_folder(runs), missing)) {
    const std::string name = item.path().filename().string();
    if (!name.ends_with(".json") || name.starts_with('.')) continue;
    struct stat about {};
    if (::stat(item.path().c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    rows::FileRow file;
    file.uri = "bench/" + name;
    file.run = item.path().stem().string();
    file.kind = "result";
    file.bytes = static_cast<std::uint64_t>(about.st_size);
    file.modified_us =
        std::int64_t{about.st_mtim.tv_sec} * 1'000'000 + about.st_mtim.tv_nsec / 1000;
    all.push_back(std::move(file));
  }
  std::ranges::sort(all, {}, &rows::FileRow::uri);
  return all;
}

std::string checksum_text(std::uint64_t sum) { return fmt::format("{:016x}", sum); }

// A file that cannot be read is noted, so that it is not read at each call.
rows::Entry read_entry(const std::string& runs, const rows::FileRow& file,
                       std::vector<std::string>& unreadable) {
  const std::string path = runs + "/" + file.uri;
  rows::Entry entry;
  const Result<std::string> text = base::read_file(path);
  const Result<BenchResult> result = text ? from_json(*text, path) : text.error();
  if (result) {
    entry = entry_of(*result);
    entry.run->id = file.run;  // the name of the file is what finds it
  } else {
    unreadable.push_back(result.error().message);
  }
  entry.file = file;
  if (text) entry.file.xxh3 = checksum_text(base::checksum(text->data(), text->size()));
  if (!result) entry.file.kind = "unreadable";
  return entry;
}

struct Difference {
  std::vector<rows::FileRow> changed;
  std::vector<std::string> gone;  // uris
  std::size_t unreadable = 0;     // known from before
};

Difference compare_files(const std::vector<rows::FileRow>& there,
                         const std::vector<rows::FileRow>& known) {
  std::unordered_map<std::string, const rows::FileRow*> by_uri;
  for (const rows::FileRow& file : known) by_uri[file.uri] = &file;
  Difference difference;
  for (const rows::FileRow& file : there) {
    const auto found = by_uri.find(file.uri);
    const bool same = found != by_uri.end() && found->second->bytes == file.bytes &&
                      found->second->modified_us == file.modified_us;
    if (!same) difference.changed.push_back(file);
    if (same && found->second->kind == "unreadable") ++difference.unreadable;
    if (found != by_uri.end()) by_uri.erase(found);
  }
  for (const auto& [uri, file] : by_uri) difference.gone.push_back(uri);
  return difference;
}

Status bring_up_to_date(const std::string& runs, rows::Index& index, const Decisions& decisions,
                        std::vector<std::string>& notes) {
  const Result<std::vector<rows::FileRow>> known = index.files();
  if (!known) return known.error();
  const Difference difference = compare_files(list_result_files(runs), *known);
  if (difference.unreadable > 0) {
    notes.push_back(
        fmt::format("{} results cannot be read and are left out; `genscope bench "
                    "history --rebuild` names them",
                    difference.unreadable));
  }
  for (std::size_t i = 0; i < difference.changed.size(); i += kBatch) {
    std::vector<rows::Entry> batch;
    const std::size_t end = std::min(i + kBatch, difference.changed.size());
    for (std::size_t j = i; j < end; ++j) {
      batch.push_back(read_entry(runs, difference.changed[j], notes));
    }
    if (const Status put = index.put(batch); !put) return put;
  }
  if (!difference.gone.empty()) {
    if (const Status put = index.put({}, difference.gone); !put) return put;
  }
  return index.put_decisions(decisions.baselines, decisions.accepted);
}

Result<rows::Index> open_up_to_date(const std::string& runs, const Decisions& decisions,
                                    std::vector<std::string>& notes) {
  Result<rows::Index> index = rows::Index::open(index_path(runs));
  if (!index) return index;
  if (const Status done = bring_up_to_date(runs, *index, decisions, notes); !done) {
    return done.error();
  }
  return index;
}

Result<rows::Index> index_in_memory(const std::string& runs, const Decisions& decisions,
                                    std::vector<std::string>& notes) {
  Result<rows::Index> index = rows::Index::in_memory();
  if (!index) return index;
  if (const Status done = bring_up_to_date(runs, *index, decisions, notes); !done) {
    return done.error();
  }
  return index;
}

// Journals of a file that is no longer there would be taken for those of its successor.
void remove_journals(const std::string& path) {
  for (const char* const ending : {"-wal", "-shm", "-journal"})
    std::remove((path + ending).c_str());
}

}  // namespace

std::string index_path(const std::string& runs) { return runs + "/history.db"; }

Result<Rebuilt> rebuild_index(const std::string& runs) {
  Rebuilt rebuilt;
  if (const Status made = base::make_directories(runs); !made) return made.error();
  const std::string path = index_path(runs);
  const std::string beside = fmt::format("{}.{}.new", path, ::getpid());
  std::remove(beside.c_str());
  remove_journals(beside);
  {
    Result<rows::Index> index = rows::Index::open(beside);
    if (!index) return index.error();
    const Status done = bring_up_to_date(runs, *index, read_decisions(runs), rebuilt.unreadable);
    const Result<std::vector<rows::FileRow>> files = index->files();
    if (!done || !files) {
      std::remove(beside.c_str());
      remove_journals(beside);
      return !done ? done.error() : files.error();
    }
    rebuilt.results = static_cast<std::uint64_t>(
        std::ranges::count(*files, std::string_view("result"),
                           [](const auto& file) { return std::string_view(file.kind); }));
    rebuilt.journal = index->journal();
  }
  remove_journals(path);
  if (std::rename(beside.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(beside.c_str());
    return base::errno_error("cannot replace", path, error);
  }
  return rebuilt;
}

Result<Folder> open_folder(const std::string& runs) {
  Decisions decisions = read_decisions(runs);
  std::vector<std::string> notes = decisions.problems;
  std::error_code missing;
  const bool has_results = std::filesystem::is_directory(results_folder(runs), missing);
  Result<rows::Index> index =
      has_results ? open_up_to_date(runs, decisions, notes) : rows::Index::in_memory();
  if (!index && index.error().code == ErrorCode::bad_data) {
    notes.push_back("the index was damaged, or of another version, and was made anew");
    if (rebuild_index(runs)) index = open_up_to_date(runs, decisions, notes);
  }
  if (!index) {
    notes.push_back(
        fmt::format("the index cannot be used, so results are read from their files: {}",
                    index.error().message));
    index = index_in_memory(runs, decisions, notes);
  }
  if (!index) return index.error();
  return Folder{runs, std::move(*index), std::move(decisions), std::move(notes)};
}

// The result that was just written is not read again: of ten thousand cells that would be a second
// one in memory.
Status index_result(const std::string& runs, const BenchResult& result) {
  const std::string& id = result.id;
  const std::string uri = "bench/" + id + ".json";
  struct stat about {};
  if (::stat((runs + "/" + uri).c_str(), &about) != 0) {
    return base::errno_error("cannot read", runs + "/" + uri, errno);
  }
  rows::FileRow file{uri,
                     id,
                     "result",
                     "",
                     static_cast<std::uint64_t>(about.st_size),
                     std::int64_t{about.st_mtim.tv_sec} * 1'000'000 + about.st_mtim.tv_nsec / 1000};
  rows::Entry entry = entry_of(result);
  entry.file = std::move(file);
  if (const auto sum = base::checksum_of_file(runs + "/" + uri)) {
    entry.file.xxh3 = checksum_text(*sum);
  }
  Result<rows::Index> index = rows::Index::open(index_path(runs));
  if (!index && index.error().code == ErrorCode::bad_data) {
    if (const Result<Rebuilt> rebuilt = rebuild_index(runs); !rebuilt) return rebuilt.error();
    return Done{};
  }
  if (!index) return index.error();
  return index->put(std::vector{entry});
}

}  // namespace genscope::bench
