#include "serve/runs.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include <genscope/store.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "report/format.h"

namespace genscope::serve {
namespace {

namespace fs = std::filesystem;

// Whether the process of "trace-<pid>-<n>.gst" is there: on another host it cannot be asked.
bool recorder_lives(std::string_view file) {
  constexpr std::string_view kPrefix = "trace-";
  if (!file.starts_with(kPrefix)) return false;
  file.remove_prefix(kPrefix.size());
  int pid = 0;
  const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), pid);
  if (error != std::errc() || pid <= 0) return false;
  return kill(pid, 0) == 0 || errno == EPERM;
}

std::optional<RunEntry> entry_of(const fs::path& path) {
  std::error_code error;
  const Result<std::string> text = base::read_file((path / "run.json").string());
  if (!text) return std::nullopt;
  const base::JsonObject manifest(*text);
  if (!manifest.valid()) return std::nullopt;
  RunEntry entry;
  entry.path = path.string();
  entry.id = path.filename().string();
  entry.name = manifest.text("name");
  entry.started_unix_ns = manifest.integer("started_unix_ns");
  entry.finished_unix_ns = manifest.integer("finished_unix_ns");
  if (manifest.has("exit_code")) entry.exit_code = static_cast<int>(manifest.integer("exit_code"));
  bool alive = false;
  for (const fs::directory_entry& file : fs::directory_iterator(path, error)) {
    if (file.path().extension() != ".gst") continue;
    alive |= recorder_lives(file.path().filename().string());
    entry.traces += 1;
    entry.bytes += file.is_regular_file(error) ? file.file_size(error) : 0;
  }
  entry.in_progress = alive && !entry.exit_code;
  return entry;
}

}  // namespace

std::vector<RunEntry> list_runs(const std::string& folder) {
  std::vector<RunEntry> runs;
  if (auto itself = entry_of(folder)) {
    runs.push_back(*std::move(itself));
    return runs;
  }
  std::error_code error;
  for (const fs::directory_entry& directory : fs::directory_iterator(folder, error)) {
    if (!directory.is_directory(error)) continue;
    if (auto entry = entry_of(directory.path())) runs.push_back(*std::move(entry));
  }
  std::sort(runs.begin(), runs.end(), [](const RunEntry& a, const RunEntry& b) {
    return std::pair(a.started_unix_ns, a.id) > std::pair(b.started_unix_ns, b.id);
  });
  return runs;
}

std::optional<RunEntry> find_run(const std::string& folder, std::string_view id) {
  // One name, so that no path can be asked for.
  if (id.empty() || id == "." || id == ".." ||
      id.find_first_of(std::string_view("/\0", 2)) != id.npos)
    return std::nullopt;
  if (auto itself = entry_of(folder)) return itself->id == id ? itself : std::nullopt;
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
