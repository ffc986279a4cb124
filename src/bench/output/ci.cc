// What a CI job gets without being asked: files with fixed names, and where the CI has one, its own
// summary.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

#include "base/file.h"
#include "base/suggest.h"
#include "base/text.h"
#include "bench/output/output.h"

namespace genscope::bench {
namespace {

bool is_set(const GetEnv& env, const char* name) {
  const std::optional<std::string> value = env(name);
  return value && !value->empty() && *value != "false" && *value != "0";
}

template <class Write>
std::string collected(Write&& write) {
  std::string out;
  write([&](std::string_view piece) { out += piece; });
  return out;
}

// Others append to the same file: ours must leave room, and is cut at a line.
Status append_summary(const std::string& path, std::string text) {
  const base::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return base::errno_error("cannot write", path, errno);
  struct stat now {};
  const std::size_t used = ::fstat(fd.get(), &now) == 0 ? static_cast<std::size_t>(now.st_size) : 0;
  constexpr std::string_view kCut = "\n\nThe rest is in genscope-summary.md.\n";
  const std::size_t room = used < kLargestSummary ? kLargestSummary - used : 0;
  if (text.size() > room) {
    if (room <= kCut.size()) return Done{};
    text.resize(base::cut_utf8(text, room - kCut.size()).size());
    text.resize(text.rfind('\n') + 1);
    text += kCut;
  }
  if (const int error = base::write_all(fd.get(), text.data(), text.size()); error != 0) {
    return base::errno_error("cannot write", path, error);
  }
  return Done{};
}

}  // namespace

std::string_view name(Ci ci) noexcept {
  constexpr std::string_view kNames[] = {"none", "github", "gitlab", "other"};
  return kNames[static_cast<std::size_t>(ci)];
}

GetEnv process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  };
}

Ci detect_ci(const GetEnv& env) {
  if (is_set(env, "GITHUB_ACTIONS")) return Ci::github;
  if (is_set(env, "GITLAB_CI")) return Ci::gitlab;
  for (const char* const name : {"BUILDKITE", "JENKINS_URL", "CI"}) {
    if (is_set(env, name)) return Ci::other;
  }
  return Ci::none;
}

Result<Ci> ci_of(std::string_view word, const GetEnv& env) {
  if (word == "auto") return detect_ci(env);
  for (const Ci ci : {Ci::none, Ci::github, Ci::gitlab}) {
    if (word == name(ci)) return ci;
  }
  const std::string near = base::nearest(word, {"auto", "github", "gitlab", "none"});
  return Error{ErrorCode::invalid_argument,
               "--ci should be auto, github, gitlab or none" +
                   (near.empty() ? "" : "; did you mean " + near + "?")};
}

Result<std::vector<std::string>> write_ci_files(const BenchResult& result, Ci ci,
                                                const std::string& folder, const Sink& sink,
                                                const GetEnv& env) {
  std::vector<std::string> written;
  if (ci == Ci::none) return written;
  if (const Status made = base::make_directories(folder); !made) return made.error();
  const std::string summary = collected([&](const Sink& to) { result_markdown(result, to); });
  const std::pair<const char*, std::string> files[] = {
      {"genscope-summary.md", summary},
      {"genscope-junit.xml", collected([&](const Sink& to) { result_junit(result, to); })},
      {"genscope-bench-smaller.json", collected([&](const Sink& to) {
         result_benchmark_action(result, Direction::lower_is_better, to);
       })},
      {"genscope-bench-bigger.json", collected([&](const Sink& to) {
         result_benchmark_action(result, Direction::higher_is_better, to);
       })},
      {"genscope-bmf.json", collected([&](const Sink& to) { result_bmf(result, to); })},
  };
  for (const auto& [file, content] : files) {
    const std::string path = folder + "/" + file;
    if (const Status done = base::write_file(path, content); !done) return done.error();
    written.push_back(path);
  }
  if (ci != Ci::github) return written;
  if (const auto path = env("GITHUB_STEP_SUMMARY"); path && !path->empty()) {
    if (const Status done = append_summary(*path, summary); !done) return done.error();
  }
  result_annotations(result, sink);
  return written;
}

}  // namespace genscope::bench
