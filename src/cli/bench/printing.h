// Text on stdout, and notes beside it.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/output.h"

namespace genscope::cli::bench {

inline Status print_text(std::string_view text, const std::string& path = "-") {
  Result<Output> output = Output::open(path);
  if (!output) return output.error();
  output->sink()(text);
  return output->commit();
}

// On stderr, for who reads stdout by program.
inline void print_notes(const std::vector<std::string>& notes, const Globals& globals) {
  if (globals.quiet) return;
  for (const std::string& note : notes) std::fprintf(stderr, "genscope: %s\n", note.c_str());
}

}  // namespace genscope::cli::bench
