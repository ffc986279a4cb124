// Files that a command makes, kept from one run to the next, so that sides can be compared.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <genscope/bench.h>

namespace genscope::bench {

// A folder with copies, removed with this object unless it is to be kept. A file equal to the one
// that was kept before it is a link to that: a thousand equal pictures take the room of one.
class OutputFiles {
 public:
  explicit OutputFiles(std::string keep);  // empty: in $TMPDIR, and removed
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  // Copies what a run that began then has made. The path of the copy; or what is wrong: it is not
  // there, or older than the run.
  Result<std::string> take(const std::string& path, std::int64_t began_unix_ns);

 private:
  std::string folder_;
  bool keep_ = false;
  std::size_t count_ = 0;
  std::map<std::string, std::string> last_;  // by path: its last copy
};

}  // namespace genscope::bench
