// A program whose output we read: ffmpeg, or a user's own quality metric. Without a terminal and
// without input; ended with everything it started when it is not wanted any more.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "genscope/error.h"

namespace genscope::bench {

class Piped {
 public:
  // `timeout_s` from now on, for all of it.
  static Result<std::unique_ptr<Piped>> start(std::vector<std::string> argv, double timeout_s);
  ~Piped();
  Piped(const Piped&) = delete;
  Piped& operator=(const Piped&) = delete;

  // Up to `size` bytes of its output; 0 at the end.
  Result<std::size_t> read(char* data, std::size_t size);
  // Waits for its end. An error unless it exited with 0, with the last line of its stderr.
  Status finish();

 private:
  Piped() = default;
  Error failed(std::string_view how) const;

  std::string name_;
  pid_t pid_ = -1;  // -1: ended
  base::UniqueFd output_, errors_;
  std::int64_t deadline_ns_ = 0;  // CLOCK_MONOTONIC
};

// Its whole output, at most `limit` bytes of it.
Result<std::string> output_of(std::vector<std::string> argv, double timeout_s, std::size_t limit);

}  // namespace genscope::bench
