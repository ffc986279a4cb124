// git, as a bisection needs it. It never touches the user's checkout: commits are looked at in
// work trees of their own.
#pragma once

#include <string>
#include <vector>

#include <genscope/error.h>

#include "bench/history/bisect.h"

namespace genscope::bench {

struct GitRange {
  std::string top;     // of the repository
  std::string prefix;  // from there to the folder that was asked from; empty or "src/"
  std::string good, bad;
  // The good one first, the bad one last, first parents only: a merge is one step.
  std::vector<BisectStep> steps;
};
inline constexpr std::size_t kMostCommits = 100'000;
// The commits from `good` to `bad`. Errors: no repository, no such commit, `bad` does not contain
// `good`.
Result<GitRange> read_git_range(const std::string& folder, const std::string& good,
                                const std::string& bad);

// A detached work tree in a folder of ours. It stays when this object goes: a build in it is worth
// keeping for the next step or the next start; remove() ends it.
class WorkTree {
 public:
  // Made, or taken over if it is there.
  static Result<WorkTree> open(const std::string& repository, const std::string& path);
  Status check_out(const std::string& commit);
  void remove();
  const std::string& path() const { return path_; }

 private:
  WorkTree(std::string repository, std::string path)
      : repository_(std::move(repository)), path_(std::move(path)) {}
  std::string repository_, path_;
};

}  // namespace genscope::bench
