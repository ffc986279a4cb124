// Of verbs that ask a URL: whom to trust behind https.
#pragma once

#include <string>

#include <genscope/bench.h>

#include "cli/options.h"

namespace genscope::cli::bench {

class TlsFlags {
 public:
  void add_options(Options& options);
  // Into `http`, whose URL is set. Warns once on stderr where nobody's certificate is checked.
  void apply(genscope::bench::HttpOptions& http) const;

 private:
  std::string ca_file_;
  bool insecure_ = false;
  mutable bool warned_ = false;
};

}  // namespace genscope::cli::bench
