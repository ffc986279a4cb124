#include <filesystem>

#include "base/json.h"
#include "genscope/store.h"
#include "store/manifest.h"
#include "store/segments.h"

namespace genscope {
namespace {

namespace fs = std::filesystem;

// What is missing or no JSON is noted; what is too large is an error.
Status take_manifest(const std::string& path, Run& run) {
  const Result<std::string> text = store::read_manifest(path);
  if (!text.ok()) {
    if (text.error().code == ErrorCode::bad_data) return text.error();
    run.notes.push_back("no manifest: " + text.error().message);
    return Done{};
  }
  const base::JsonObject json(*text);
  if (!json.valid()) {
    run.notes.push_back(path + " is not valid JSON; the name and the command are unknown");
    return Done{};
  }
  run.id = json.text("id");
  run.name = json.text("name");
  run.host = json.text("host");
  run.started_unix_ns = json.integer("started_unix_ns");
  if (json.has("exit_code")) run.exit_code = static_cast<int>(json.integer("exit_code"));
  if (const std::int64_t peak = json.integer("max_rss_bytes"); peak > 0) {
    run.max_rss_bytes = static_cast<std::uint64_t>(peak);
  }
  const auto amount = [&](const char* key) -> std::optional<std::int64_t> {
    if (!json.has(key) || json.integer(key) < 0) return std::nullopt;
    return json.integer(key);
  };
  run.cpu_ns = amount("cpu_ns");
  run.cpu_wait_ns = amount("cpu_wait_ns");
  run.command = json.texts("command");
  run.last_words = json.texts("last_words");
  return Done{};
}

// What the path and a trace know stands in for a manifest that says less.
void complete(const std::string& path, bool is_directory, Run& run) {
  const fs::path place(path);
  if (run.id.empty()) run.id = (is_directory ? place.filename() : place.stem()).string();
  if (run.name.empty()) run.name = run.id;
  if (run.traces.empty()) return;
  const ProcessInfo& p = run.traces.front().process;
  if (run.host.empty()) run.host = p.host;
  if (run.command.empty()) run.command = p.command;
  if (run.started_unix_ns == 0) run.started_unix_ns = p.started_ns + p.unix_offset_ns;
}

}  // namespace

void store::complete_run(const std::string& path, bool is_directory, Run& run) {
  if (is_directory) {
    const Status taken = take_manifest(store::manifest_path(path), run);
    if (!taken.ok()) run.notes.push_back(taken.error().message);
  }
  complete(path, is_directory, run);
}

Result<Run> read_run(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return Error{ErrorCode::not_found,
                 path + " does not exist: give a run directory or a .gst trace file"};
  }
  Run run;
  run.path = path;
  if (!fs::is_directory(status)) {
    Result<Trace> trace = read_trace(path);
    if (!trace.ok()) return trace.error();
    run.traces.push_back(std::move(*trace));
    complete(path, false, run);
    return run;
  }
  const std::vector<std::vector<std::string>> traces = store::traces_in(path);
  if (traces.empty()) {
    return Error{ErrorCode::not_found,
                 path + " holds no trace (trace-*.gst): is it a run directory?"};
  }
  if (Status taken = take_manifest(store::manifest_path(path), run); !taken.ok()) {
    return taken.error();
  }
  std::string first_error;
  for (const std::vector<std::string>& segments : traces) {
    Result<Trace> trace = store::read_listed(segments);
    if (trace.ok()) {
      run.traces.push_back(std::move(*trace));
    } else {
      run.notes.push_back(trace.error().message);
      if (first_error.empty()) first_error = trace.error().message;
    }
  }
  if (run.traces.empty()) return Error{ErrorCode::bad_data, first_error};
  complete(path, true, run);
  return run;
}

}  // namespace genscope
