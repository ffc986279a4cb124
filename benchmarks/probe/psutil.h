// psutil as the yardstick: a Python process that reads the same tree at the same pace.
#pragma once

#include <sys/types.h>

#include <string>

namespace bench {

class Psutil {
 public:
  // Whether there is a Python with psutil here; `python` is then its name.
  static bool find(std::string& python);

  // Starts it; it waits a second, then counts its CPU time for `seconds`.
  Psutil(const std::string& python, pid_t root, double seconds);
  // Its share of a core over those seconds; below 0 if it failed.
  double finish();

 private:
  int out_ = -1;  // before pid_, whose initializer sets it
  pid_t pid_ = -1;
};

}  // namespace bench
