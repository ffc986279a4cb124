#include "store/manifest.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/secrets.h"
#include "base/text.h"
#include "genscope/store.h"
#include "genscope/version.h"
#include "trace/recorded_command.h"

namespace genscope::store {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

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

Result<std::string> make_folder(const std::string& out, const std::string& name) {
  if (Status made = base::make_directories(out); !made.ok()) return with_remedy(made.error());
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> stamp{};
  std::strftime(stamp.data(), stamp.size(), "%Y%m%d-%H%M%S", &local);
  const std::string stem = out + "/" + stamp.data() + "-" + base::file_name_from(name, 40) + "-" +
                           std::to_string(::getpid());
  for (int i = 0;; ++i) {
    const std::string path = i == 0 ? stem : stem + "-" + std::to_string(i);
    if (::mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST || i > 10'000) {
      return with_remedy(base::errno_error("cannot create folder", path, errno));
    }
  }
}

std::string manifest_json(const std::string& id, const RunRequest& request) {
  const auto text = [](const char* key, const std::string& value) {
    return base::json_quote(key) + ":" + base::json_quote(value) + ",";
  };
  return "{" + text("schema", "genscope.run/1") + text("id", id) + text("name", name_of(request)) +
         "\"started_unix_ns\":" + std::to_string(base::realtime_ns()) + "," +
         text("host", host_name()) + "\"command\":" +
         trace::command_json(request.command, trace::keeps_args(request.keep_args)) + "," +
         "\"version\":" + base::json_quote(GENSCOPE_VERSION_STRING) + "}\n";
}

}  // namespace

Result<std::string> read_manifest(const std::string& file) {
  Result<std::string> text = base::read_file(file, kMaxManifestBytes);
  if (text.ok() || text.error().code != ErrorCode::bad_data) return text;
  Error error = text.error();
  error.message += "; move it away, the traces beside it stay readable";
  return error;
}

}  // namespace genscope::store

namespace genscope {

Result<std::string> create_run(const RunRequest& request) {
  std::string path = store::without_slashes(request.path);
  if (path.empty()) {
    Result<std::string> made =
        store::make_folder(store::folder_of(request), store::name_of(request));
    if (!made.ok()) return made.error();
    path = std::move(*made);
  } else if (Status made = base::make_directories(path); !made.ok()) {
    return store::with_remedy(made.error());
  }
  const std::string manifest = store::manifest_path(path);
  const Result<bool> created =
      base::create_file(manifest, store::manifest_json(store::last_part(path), request));
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
        std::pair("cpu_wait_ns", use.cpu_wait_ns)}) {
    if (after && value) after = base::with_integers(*after, {{key, *value}});
  }
  if (!after) {
    return Error{ErrorCode::bad_data, manifest +
                                          " is not a JSON object, so the exit code was not noted "
                                          "in it; delete it, the traces beside it stay readable"};
  }
  return base::write_file(manifest, *after + "\n");
}

}  // namespace genscope
