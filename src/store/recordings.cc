#include <algorithm>
#include <charconv>
#include <filesystem>

#include "genscope/store.h"
#include "store/manifest.h"
#include "store/segments.h"

namespace genscope {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxSkipped = 1000;

void skip(Recordings& out, const fs::path& path, const char* why) {
  if (out.skipped.size() < kMaxSkipped) out.skipped.push_back(path.string() + ": " + why);
}

void add_json(const fs::path& path, Recordings& out) {
  const std::string name = path.filename().string();
  if (name.starts_with("profiling_report_")) {
    Recording report;
    report.kind = Recording::Kind::inferix_report;
    report.path = path.string();
    report.rank = rank_of_path(report.path);
    out.found.push_back(std::move(report));
  } else if (name.starts_with("raw_profiling_data_")) {
    skip(out, path, "raw samples of Inferix, not a report");
  } else if (name != "run.json") {
    skip(out, path, "not named profiling_report_*.json");
  }
}

// The traces of a run's folder, listed once.
void add_run(const std::string& folder, Recordings& out) {
  const std::vector<std::vector<std::string>> traces = store::traces_in(folder);
  for (const std::vector<std::string>& segments : traces) {
    Recording trace;
    trace.path = segments.front();
    trace.run_dir = folder;
    trace.traces = traces.size();
    trace.rank = rank_of_path(trace.path);
    trace.segments = segments;
    out.found.push_back(std::move(trace));
  }
}

void walk(const fs::path& folder, int depth, Recordings& out) {
  add_run(folder.string(), out);
  std::vector<fs::path> files, folders;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  if (error) {
    skip(out, folder, "the folder could not be read");
    return;
  }
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    // Links to folders may lead in circles.
    if (it->is_directory(ignored) && !it->is_symlink(ignored)) folders.push_back(it->path());
    if (it->is_regular_file(ignored) && it->path().extension() == ".json") {
      files.push_back(it->path());
    }
  }
  std::sort(files.begin(), files.end());
  std::sort(folders.begin(), folders.end());
  for (const fs::path& file : files) add_json(file, out);
  for (const fs::path& inner : folders) {
    if (depth == kMaxDepth) {
      skip(out, inner, "too deep");
    } else {
      walk(inner, depth + 1, out);
    }
  }
}

}  // namespace

std::optional<int> rank_of_path(const std::string& path) {
  std::optional<int> rank;
  for (const fs::path& part : fs::path(path)) {
    const std::string text = part.string();
    constexpr std::string_view kStart = "rank_";
    if (!text.starts_with(kStart)) continue;
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + kStart.size(), end, number);
    if (error == std::errc() && stop == end && number >= 0) rank = number;
  }
  return rank;
}

Result<Recordings> find_recordings(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return Error{ErrorCode::not_found,
                 path +
                     " does not exist: give a run, a trace file, an Inferix report, or a folder "
                     "of these"};
  }
  Recordings out;
  if (fs::is_directory(status)) {
    walk(path, 0, out);
    return out;
  }
  Recording one;
  one.path = path;
  one.rank = rank_of_path(path);
  if (path.ends_with(".json")) {
    one.kind = Recording::Kind::inferix_report;
  } else {
    one.segments = store::segments_of(path);
  }
  out.found.push_back(std::move(one));
  return out;
}

Result<Run> read_recording(const Recording& recording) {
  Result<Trace> trace = recording.segments.empty() ? read_trace(recording.path)
                                                   : store::read_listed(recording.segments);
  if (!trace.ok()) return trace.error();
  Run run;
  const bool alone = recording.traces <= 1 && !recording.run_dir.empty();
  run.path = alone ? recording.run_dir : recording.path;
  run.traces.push_back(std::move(*trace));
  Trace& t = run.traces.front();
  if (!t.process.rank) t.process.rank = recording.rank;
  const std::string named = recording.run_dir.empty() ? recording.path : recording.run_dir;
  store::complete_run(named, !recording.run_dir.empty(), run);
  return run;
}

}  // namespace genscope
