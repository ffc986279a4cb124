#include "bench/history/git.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/printable.h"
#include "bench/quality/piped.h"

namespace genscope::bench {
namespace {

constexpr double kGitSeconds = 600;
constexpr std::size_t kGitOutput = std::size_t{64} << 20;

Result<std::string> git(const std::string& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"git", "-C", folder});
  Result<std::string> text = output_of(std::move(words), kGitSeconds, kGitOutput);
  if (text) {
    while (text->ends_with('\n')) text->pop_back();
  }
  return text;
}

Result<std::string> commit_of(const std::string& folder, const std::string& name) {
  const Result<std::string> id =
      git(folder, {"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"});
  if (id) return id;
  return Error{ErrorCode::not_found,
               fmt::format("git knows no commit '{}'; `git log --oneline` lists some",
                           base::printable(name))};
}

bool is_folder(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

}  // namespace

Result<GitRange> read_git_range(const std::string& folder, const std::string& good,
                                const std::string& bad) {
  GitRange range;
  const Result<std::string> top = git(folder, {"rev-parse", "--show-toplevel"});
  if (!top) {
    return Error{ErrorCode::not_found,
                 "this folder is in no git repository; go to one, or give --settings FILE"};
  }
  range.top = *top;
  const Result<std::string> prefix = git(folder, {"rev-parse", "--show-prefix"});
  if (prefix) range.prefix = *prefix;
  const Result<std::string> first = commit_of(folder, good), last = commit_of(folder, bad);
  if (!first) return first.error();
  if (!last) return last.error();
  range.good = *first;
  range.bad = *last;
  const Error unrelated{ErrorCode::invalid_argument,
                        fmt::format("'{}' does not contain '{}': --good must come before --bad",
                                    base::printable(bad), base::printable(good))};
  if (*first == *last || !git(folder, {"merge-base", "--is-ancestor", *first, *last})) {
    return unrelated;
  }
  const Result<std::string> list =
      git(folder, {"log", "--first-parent", "--reverse", "--format=%H %s", *first + ".." + *last});
  if (!list) return list.error();
  range.steps.push_back({*first, good, StepVerdict::good, {}, {}, 0, ""});
  std::string_view rest = *list;
  while (!rest.empty() && range.steps.size() < kMostCommits) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t space = std::min(line.find(' '), line.size());
    BisectStep& step = range.steps.emplace_back();
    step.id = line.substr(0, space);
    step.title = base::printable(line.substr(std::min(space + 1, line.size())));
  }
  if (range.steps.size() < 2) return unrelated;
  return range;
}

Result<WorkTree> WorkTree::open(const std::string& repository, const std::string& path) {
  WorkTree tree(repository, path);
  if (is_folder(path + "/") && git(path, {"rev-parse", "--git-dir"})) return tree;
  (void)git(repository, {"worktree", "prune"});
  const Result<std::string> made =
      git(repository, {"worktree", "add", "--detach", "--force", "--no-checkout", path});
  if (!made) return made.error();
  return tree;
}

Status WorkTree::check_out(const std::string& commit) {
  const Result<std::string> done =
      git(path_, {"checkout", "--detach", "--force", "--quiet", commit});
  if (!done) return done.error();
  return Done{};
}

void WorkTree::remove() {
  (void)git(repository_, {"worktree", "remove", "--force", "--force", path_});
  (void)git(repository_, {"worktree", "prune"});
}

}  // namespace genscope::bench
