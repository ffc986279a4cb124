#include "cli/run_word.h"

#include "serve/run_names.h"

namespace genscope::cli {

Result<std::string> run_path(const std::string& word) {
  return serve::resolve_run(word, serve::default_folder());
}

}  // namespace genscope::cli
