// A folder of its own for each test, removed with it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace genscope::testing {

class TempDir {
 public:
  // In $TMPDIR or /tmp; `where` overrides.
  explicit TempDir(std::string where = "") {
    if (where.empty()) {
      const char* const tmp = std::getenv("TMPDIR");
      where = tmp != nullptr && *tmp != '\0' ? tmp : "/tmp";
    }
    path_ = where + "/genscope-test-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace genscope::testing
