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
  if (manifest.has("exit_code")) entry.exit_code = static_cast<int>(manifest.integer("exit_code"));
  std::error_code error, ignored;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".gst") continue;
    const std::uintmax_t bytes = it->file_size(ignored);
    entry.traces += 1;
    entry.bytes += ignored ? 0 : bytes;
  }
  if (error) return base::errno_error("cannot list", entry.path, error.value());
  if (entry.exit_code) return MaybeRun(std::move(entry));
  const Result<bool> recorded = store::is_recorded(entry.path);
  if (!recorded) return recorded.error();
  entry.in_progress = *recorded;
  return MaybeRun(std::move(entry));
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

std::string runs_json(const std::vector<RunEntry>& runs) {
  std::string out;
  for (const RunEntry& run : runs) {
    out += fmt::format(
        R"({}{{"id":{},"name":{},"started":{},"wall_ns":{},"in_progress":{},"exit_code":{},"processes":{},"bytes":{}}})",
        out.empty() ? "" : ",", base::json_quote(run.id), base::json_quote(run.name),
        run.started_unix_ns != 0 ? base::json_quote(report::rfc3339(run.started_unix_ns)) : "null",
        run.finished_unix_ns > run.started_unix_ns
            ? fmt::format("{}", run.finished_unix_ns - run.started_unix_ns)
            : "null",
        run.in_progress, run.exit_code ? fmt::format("{}", *run.exit_code) : "null", run.traces,
        run.bytes);
  }
  return R"({"schema":"genscope.runs/1","runs":[)" + out + "]}";
}

}  // namespace genscope::serve
