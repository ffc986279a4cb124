#include "serve/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "report/format.h"
#include "store/manifest.h"
#include "store/recorded.h"

namespace genscope::serve {
namespace {

namespace fs = std::filesystem;

using MaybeRun = std::optional<RunEntry>;

RunEnding ending_of(const RunEntry& entry, bool closed) {
  Run run;
  run.exit_code = entry.exit_code;
  run.traces.resize(1);
  run.traces[0].integrity.in_progress = entry.in_progress;
  run.traces[0].integrity.closed = closed;
  return run_ending(run);
}

Result<MaybeRun> entry_of(const fs::path& path) {
  const Result<std::string> text = store::read_manifest(store::manifest_path(path.string()));
  if (!text && text.error().code == ErrorCode::io) return text.error();
  if (!text) return MaybeRun();
  const base::JsonObject manifest(*text);
  if (!manifest.valid()) return MaybeRun();
  RunEntry entry;
  entry.path = path.string();
  entry.id = path.filename().string();
  entry.name = manifest.text("name");
  entry.started_unix_ns = manifest.integer("started_unix_ns");
  entry.finished_unix_ns = manifest.integer("finished_unix_ns");
  entry.tags = manifest.texts("tags");
  if (manifest.has("wall_ns")) {
    entry.wall_ns = manifest.integer("wall_ns");
  } else if (entry.finished_unix_ns > entry.started_unix_ns) {
    entry.wall_ns = entry.finished_unix_ns - entry.started_unix_ns;
  }
  if (manifest.has("exit_code")) entry.exit_code = static_cast<int>(manifest.integer("exit_code"));
  std::error_code error, ignored;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".gst") continue;
    const std::uintmax_t bytes = it->file_size(ignored);
    entry.traces += 1;
    entry.bytes += ignored ? 0 : bytes;
  }
  if (error) return base::errno_error("cannot list", entry.path, error.value());
  if (entry.exit_code) {
    entry.ending = ending_of(entry, true);
    return MaybeRun(std::move(entry));
  }
  const Result<bool> recorded = store::is_recorded(entry.path);
  if (!recorded) return recorded.error();
  entry.in_progress = *recorded;
  entry.ending = ending_of(entry, entry.in_progress || store::all_closed(entry.path));
  return MaybeRun(std::move(entry));
}

std::string quoted(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ",") + base::json_quote(text);
  return out;
}

}  // namespace

Result<std::vector<RunEntry>> list_runs(const std::string& folder) {
  Result<MaybeRun> itself = entry_of(folder);
  if (!itself) return itself.error();
  std::vector<RunEntry> runs;
  if (*itself) {
    runs.push_back(**std::move(itself));
    return runs;
  }
  std::error_code error, ignored;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_directory(ignored)) continue;
    Result<MaybeRun> entry = entry_of(it->path());
    // A run that is being removed is no reason to show none.
    if (!entry && entry.error().code == ErrorCode::io) return entry.error();
    if (entry && *entry) runs.push_back(**std::move(entry));
  }
  if (error) return base::errno_error("cannot list", folder, error.value());
  std::sort(runs.begin(), runs.end(), [](const RunEntry& a, const RunEntry& b) {
    return std::pair(a.started_unix_ns, a.id) > std::pair(b.started_unix_ns, b.id);
  });
  return runs;
}

Result<std::optional<RunEntry>> run_at(const std::string& path) {
  std::string folder = path;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return entry_of(folder);
}

Result<std::optional<RunEntry>> find_run(const std::string& folder, std::string_view id) {
  // One name, so that no path can be asked for.
  if (id.empty() || id == "." || id == ".." ||
      id.find_first_of(std::string_view("/\0", 2)) != id.npos) {
    return MaybeRun();
  }
  Result<MaybeRun> itself = entry_of(folder);
  if (!itself) return itself;
  if (*itself) return (*itself)->id == id ? std::move(itself) : MaybeRun();
  return entry_of(fs::path(folder) / id);
}

Status tag_run(const RunEntry& run, const std::vector<std::string>& tags) {
  return store::write_tags(run.path, tags);
}

std::string runs_json(const std::vector<RunEntry>& runs,
                      const std::map<std::string, RunFigures>& figures, bool paths) {
  std::string out;
  for (const RunEntry& run : runs) {
    const auto known = figures.find(run.id);
    std::optional<std::int64_t> wall = run.wall_ns;
    std::string about;
    if (paths) about = R"(,"path":)" + base::json_quote(run.path);
    if (known != figures.end()) {
      const RunFigures& f = known->second;
      wall = f.wall_ns;
      about += fmt::format(R"(,"headline":{},"stages":[{}],"findings":{})",
                           base::json_quote(f.headline), quoted(f.stages), f.findings);
    }
    out += fmt::format(
        R"({}{{"id":{},"name":{},"started":{},"wall_ns":{},"state":{},"in_progress":{},"exit_code":{},"tags":[{}],"processes":{},"bytes":{}{}}})",
        out.empty() ? "" : ",", base::json_quote(run.id), base::json_quote(run.name),
        run.started_unix_ns != 0 ? base::json_quote(report::rfc3339(run.started_unix_ns)) : "null",
        wall ? fmt::format("{}", *wall) : "null", base::json_quote(ending_text(run.ending)),
        run.in_progress, run.exit_code ? fmt::format("{}", *run.exit_code) : "null",
        quoted(run.tags), run.traces, run.bytes, about);
  }
  return R"({"schema":"genscope.runs/1","runs":[)" + out + "]}";
}

}  // namespace genscope::serve
