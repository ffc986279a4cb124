// genscope, the command.
#include "cli/app.h"
#include "cli/output.h"
#include "cli/watch/signals.h"

int main(int argc, char** argv) {
  genscope::cli::keep_standard_descriptors();
  genscope::cli::watch::remember_signals();
  genscope::cli::clean_up_on_signals();
  return genscope::cli::run_app(argc, argv, genscope::cli::all_commands());
}
