// LastWords: the last lines that a command wrote to stderr, where they can be known: its stderr is
// a file that we may read. (What passes through us is kept by LogRelay.)
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace genscope::watch {

// The last lines of `bytes`, at most five, as a terminal would leave them: without escape
// sequences, of a progress bar only its last state. What looks like a secret is `***`.
std::vector<std::string> last_lines(std::string_view bytes);

class LastWords {
 public:
  // Before the command starts: what stands in the file by then is not the command's.
  LastWords();
  // The command has ended, and nobody of ours has written since. No lines: not known, or none.
  std::vector<std::string> read() const;

 private:
  off_t begin_ = -1;  // where the command's words begin; -1: stderr is no file
};

}  // namespace genscope::watch
