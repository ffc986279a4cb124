// All mistakes of a file, so that who writes it mends them in one go.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <genscope/error.h>

namespace genscope::bench {

class Mistakes {
 public:
  static constexpr std::size_t kMost = 100;  // that are listed

  explicit Mistakes(std::string_view file) : file_(file) {}

  void add(int line, std::string what);
  bool empty() const noexcept { return found_.empty(); }
  std::size_t count() const noexcept { return found_.size(); }
  // "file:line: what" for each, in the order of the lines.
  Error error() const;

 private:
  std::string file_;
  std::vector<std::pair<int, std::string>> found_;
};

// "; did you mean 'x'?", or "; there are a, b and c", of few words.
std::string remedy(std::string_view word, const std::vector<std::string>& known);

}  // namespace genscope::bench
