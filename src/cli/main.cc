// genscope, the command.
#include <csignal>

#include "cli/app.h"
#include "cli/output.h"
#include "watch/signals.h"

int main(int argc, char** argv) {
  genscope::cli::keep_standard_descriptors();
  genscope::watch::remember_signals();
  genscope::cli::clean_up_on_signals();
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write() instead
  return genscope::cli::run_app(argc, argv, genscope::cli::all_commands());
}
