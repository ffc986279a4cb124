// Results by name, and where they are kept.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <ctime>

#include <genscope/bench.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "base/text.h"
#include "bench/history/folder.h"
#include "bench/history/rows.h"

namespace genscope::bench {
namespace {

bool file_exists(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0;
}

// "last" is 0, "last~2" is 2; nothing for another word.
std::optional<std::uint64_t> places_back(std::string_view name) {
  if (name == "last") return 0;
  if (!name.starts_with("last~")) return std::nullopt;
  name.remove_prefix(5);
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), n);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return n;
}

Error no_such_result(const std::string& name, const Folder& folder) {
  std::vector<std::string> known{"last"};
  for (const BaselineRow& one : folder.decisions.baselines) known.push_back(one.name);
  const std::string meant = base::nearest(name, known);
  return {ErrorCode::not_found,
          fmt::format("there is no result '{}' in {}/bench{}; `genscope bench history` lists them, "
                      "`genscope bench baseline list` the baselines",
                      base::printable(name), folder.runs,
                      meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant))};
}

Result<BenchResult> by_id(const std::string& id) { return read_result(result_path(id)); }

Result<BenchResult> by_beginning(const std::string& name, const Folder& folder) {
  const Result<std::vector<std::string>> ids = folder.index.ids(name, 4);
  if (!ids) return ids.error();
  if (ids->empty() || name.empty()) return no_such_result(name, folder);
  if (ids->size() == 1) return by_id(ids->front());
  return Error{ErrorCode::invalid_argument,
               fmt::format("'{}' is the beginning of several results: {}{}; give more of it",
                           base::printable(name), fmt::join(ids->begin(), ids->begin() + 2, ", "),
                           ids->size() > 2 ? ", ..." : "")};
}

}  // namespace

std::string runs_folder() {
  const char* const out = std::getenv("GENSCOPE_OUT");
  return out != nullptr && *out != '\0' ? out : "genscope-runs";
}

std::string result_path(const std::string& id) { return runs_folder() + "/bench/" + id + ".json"; }

std::string new_result_id(std::string_view verb) {
  static std::uint32_t made = 0;
  const std::int64_t now = base::realtime_ns();
  const std::time_t seconds = now / 1'000'000'000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  const std::string base_name = fmt::format(
      "{:04}{:02}{:02}-{:02}{:02}{:02}-{}-{}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
      utc.tm_hour, utc.tm_min, utc.tm_sec, base::file_name_from(verb, 40), ::getpid());
  // Several in a second: of one process by the count, of two that share a folder but not their
  // numbers of processes by the look at the disk.
  std::string id = base_name;
  while (file_exists(result_path(id))) id = fmt::format("{}-{}", base_name, ++made);
  return id;
}

Status remember(const BenchResult& result) {
  if (result.id.empty() || base::file_name_from(result.id, 200) != result.id) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("'{}' cannot be the id of a result: it names its file",
                             base::printable(result.id))};
  }
  const std::string runs = runs_folder();
  if (const Status made = base::make_directories(runs + "/bench"); !made) return made;
  if (const Status wrote = write_result(result, result_path(result.id)); !wrote) return wrote;
  const Status indexed = index_result(runs, result);
  if (indexed) return Done{};
  return Error{indexed.error().code,
               fmt::format("the result is kept in {}, but the index could not be brought up to "
                           "date: {}",
                           result_path(result.id), indexed.error().message)};
}

std::string noise_key(const BenchResult& result, const Cell& cell) {
  if (!result.suite.empty()) return fmt::format("suite/{}/{}", result.suite, cell.id);
  const std::string subject = subject_of(result);
  return fmt::format("command/{:016x}/{}", base::checksum(subject.data(), subject.size()), cell.id);
}

std::optional<double> noise_floor_of(std::string_view environment_class, std::string_view key) {
  const std::string path = index_path(runs_folder());
  if (!file_exists(path)) return std::nullopt;
  const Result<store::history::Index> index = store::history::Index::open(path);
  if (!index) return std::nullopt;
  const auto noise = index->noise(environment_class, key);
  if (!noise || !*noise) return std::nullopt;
  return (*noise)->floor;
}

Result<BenchResult> find_result(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".json")) return read_result(name);
  Result<Folder> folder = open_folder();
  if (!folder) return folder.error();
  for (const BaselineRow& one : folder->decisions.baselines) {
    if (one.name != name) continue;
    Result<BenchResult> result = by_id(one.run);
    if (result) return result;
    return Error{result.error().code,
                 fmt::format("the baseline '{}' is {}, and that cannot be read: {}", name, one.run,
                             result.error().message)};
  }
  if (const auto back = places_back(name)) {
    const auto id = folder->index.nth_last(*back);
    if (!id) return id.error();
    if (!*id) return no_such_result(name, *folder);
    return by_id(**id);
  }
  if (base::file_name_from(name, 200) == name && file_exists(result_path(name))) return by_id(name);
  return by_beginning(name, *folder);
}

}  // namespace genscope::bench
