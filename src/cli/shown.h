// How `run`, `demo` and `report` show a run: the first screen, or with --full all of it.
#pragma once

#include <unistd.h>

#include <string>

#include <genscope/advise.h>
#include <genscope/report.h>

#include "cli/options.h"

namespace genscope::cli {

struct Shown {
  bool full = false;
  int columns = 0;  // 0: the terminal's

  void add_options(Options& options);
  int width(int fd = STDOUT_FILENO) const;
};

// How the next commands name a run that has just been made: nothing where it is the newest of the
// folder in which they look, else its path.
std::string word_for_new_run(const std::string& path);

}  // namespace genscope::cli
