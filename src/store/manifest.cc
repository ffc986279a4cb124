#include "store/manifest.h"

#include <cstdlib>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/secrets.h"
#include "base/text.h"
#include "genscope/store.h"
#include "trace/recorded_command.h"
#include "trace/run_folder.h"

namespace genscope::store {
namespace {

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string folder_of(const RunRequest& request) {
  if (!request.out.empty()) return without_slashes(request.out);
  const char* const out = std::getenv("GENSCOPE_OUT");
  return out != nullptr && *out != '\0' ? without_slashes(out) : "genscope-runs";
}

// What a person would call the command: its program, or the script or module that Python runs.
std::string program_of(const std::vector<std::string>& command) {
  if (command.empty()) return "";
  std::string program = last_part(without_slashes(command.front()));
  const std::size_t version = program.starts_with("python") ? 6
                              : program.starts_with("pypy") ? 4
                                                            : 0;
  if (version == 0 || program.find_first_not_of("0123456789.t", version) != std::string::npos) {
    return program;
  }
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (!word.starts_with('-')) return last_part(without_slashes(word));
    if (word == "-m") return i + 1 < command.size() ? command[i + 1] : program;
    if (word == "-c" || word == "-") return program;
    if (word == "-X" || word == "-W") ++i;  // their value is a word of its own
  }
  return program;
}

std::string name_of(const RunRequest& request) {
  if (!request.name.empty()) return request.name;
  const std::string program = program_of(
      trace::keeps_args(request.keep_args) ? request.command : base::mask_secrets(request.command));
  return program.empty() ? "run" : program;
}

// Folders that cannot be made are the user's to choose again.
Error with_remedy(Error error) {
  error.message += "; choose another folder with --out or GENSCOPE_OUT";
  return error;
}

}  // namespace

Result<std::string> read_manifest(const std::string& file) {
  Result<std::string> text = base::read_file(file, kMaxManifestBytes);
  if (text.ok() || text.error().code != ErrorCode::bad_data) return text;
  Error error = text.error();
  error.message += "; move it away, the traces beside it stay readable";
  return error;
}

Status write_tags(const std::string& run_dir, const std::vector<std::string>& tags) {
  const std::string manifest = manifest_path(without_slashes(run_dir));
  const Result<std::string> before = read_manifest(manifest);
  if (!before.ok()) return before.error();
  const auto after = base::with_texts(*before, "tags", tags);
  if (!after) return Error{ErrorCode::bad_data, manifest + " is not a JSON object"};
  return base::write_file(manifest, *after + "\n");
}

std::string runs_folder() { return folder_of({}); }

}  // namespace genscope::store

namespace genscope {

Result<std::string> create_run_folder(const RunRequest& request) {
  const std::string path = store::without_slashes(request.path);
  if (!path.empty()) {
    if (Status made = base::make_directories(path); !made.ok()) {
      return store::with_remedy(made.error());
    }
    return path;
  }
  Result<std::string> made =
      trace::make_run_folder(store::folder_of(request), store::name_of(request));
  if (!made.ok()) return store::with_remedy(made.error());
  return made;
}

Result<std::string> create_run(const RunRequest& request) {
  Result<std::string> folder = create_run_folder(request);
  if (!folder.ok()) return folder;
  const std::string& path = *folder;
  const std::string manifest = store::manifest_path(path);
  const std::string command =
      trace::command_json(request.command, trace::keeps_args(request.keep_args));
  const Result<bool> created = base::create_file(
      manifest, trace::manifest_json(store::last_part(path), store::name_of(request), command));
  if (!created.ok()) return store::with_remedy(created.error());
  if (!*created) {
    return Error{ErrorCode::invalid_argument,
                 manifest + " exists: " + path + " is a run already; choose another folder"};
  }
  return path;
}

Status finish_run(const std::string& path, int exit_code, const CommandUse& use) {
  const std::string manifest = store::manifest_path(store::without_slashes(path));
  const Result<std::string> before = store::read_manifest(manifest);
  if (!before.ok()) {
    Error error = before.error();
    if (error.code != ErrorCode::bad_data) {
      error.message +=
          "; the run has no manifest to note the exit code in: make it with create_run";
    }
    return error;
  }
  auto after = base::with_integers(
      *before, {{"exit_code", exit_code}, {"finished_unix_ns", base::realtime_ns()}});
  for (const auto& [key, value] :
       {std::pair("max_rss_bytes", use.max_rss_bytes), std::pair("cpu_ns", use.cpu_ns),
        std::pair("cpu_wait_ns", use.cpu_wait_ns), std::pair("wall_ns", use.wall_ns)}) {
    if (after && value) after = base::with_integers(*after, {{key, *value}});
  }
  if (after) after = base::with_texts(*after, "last_words", use.last_words);
  if (!after) {
    return Error{ErrorCode::bad_data, manifest +
                                          " is not a JSON object, so the exit code was not noted "
                                          "in it; delete it, the traces beside it stay readable"};
  }
  return base::write_file(manifest, *after + "\n");
}

}  // namespace genscope
