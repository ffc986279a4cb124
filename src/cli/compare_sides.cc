#include "cli/compare_sides.h"

#include <glob.h>

#include <filesystem>
#include <set>

#include <genscope/store.h>

#include "cli/run_word.h"

namespace genscope::cli {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Result<std::vector<std::string>> expand(const std::string& word) {
  if (exists(word)) return std::vector{word};
  if (word.find_first_of("*?[") == std::string::npos) {
    Result<std::string> path = run_path(word);
    if (!path) return path.error();
    return std::vector{std::move(*path)};
  }
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(word.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return paths;
}

// The folders that hold traces; `path` itself if it is a run, or no folder of runs.
Result<std::vector<std::string>> runs_in(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored) || exists(path + "/run.json")) return std::vector{path};
  const Result<Recordings> all = find_recordings(path);
  if (!all) return all.error();
  std::vector<std::string> runs;
  std::set<std::string> known;
  for (const Recording& recording : all->found) {
    const std::string& run = recording.run_dir;
    if (!run.empty() && known.insert(run).second) runs.push_back(run);
  }
  if (runs.empty()) runs.push_back(path);  // reading it says what is wrong
  return runs;
}

}  // namespace

Result<std::vector<std::string>> runs_of_side(const std::vector<std::string>& words) {
  std::vector<std::string> side;
  for (const std::string& word : words) {
    const Result<std::vector<std::string>> paths = expand(word);
    if (!paths) return paths.error();
    if (paths->empty()) return Error{ErrorCode::not_found, "no run matches " + word};
    for (const std::string& path : *paths) {
      Result<std::vector<std::string>> runs = runs_in(path);
      if (!runs) return runs.error();
      side.insert(side.end(), runs->begin(), runs->end());
    }
  }
  return side;
}

}  // namespace genscope::cli
