// What a benchmark needs beside the commands: a server, started before them and stopped after them.
#pragma once

#include <memory>
#include <string>

#include <genscope/error.h>

#include "cli/bench/measure_flags.h"

namespace genscope::cli::bench {

class SetupOnce {
 public:
  // Starts it and waits until it is ready: its port, URL and file, those that are said. Without a
  // command there is nothing to do. An error with its last lines if it ends before, or takes too
  // long.
  static Result<std::unique_ptr<SetupOnce>> start(const MeasureFlags::SetupOnce& what);
  ~SetupOnce();  // stops it with everything it started

 private:
  SetupOnce();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace genscope::cli::bench
