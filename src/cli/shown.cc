#include "cli/shown.h"

#include <filesystem>

#include "base/terminal.h"
#include "serve/run_names.h"

namespace genscope::cli {

void Shown::add_options(Options& options) {
  options.flag("--full", full, "All that was measured, not only the first screen");
  constexpr double kFewest = 60, kMost = 1000;
  options.add("--columns", columns, "N", "Width of the text; default: the terminal's")
      .range(kFewest, kMost);
}

int Shown::width(int fd) const { return columns > 0 ? columns : base::output_width(fd); }

std::string word_for_new_run(const std::string& path) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return std::filesystem::equivalent(folder, serve::default_folder(), error) ? "" : path;
}

}  // namespace genscope::cli
