#include "cli/bench/tls_flags.h"

#include <cstdio>

namespace genscope::cli::bench {

void TlsFlags::add_options(Options& options) {
  const Option file = options.add("--cacert", ca_file_, "FILE",
                                  "https: certificates to trust, PEM; default: the system's");
  options.flag("--insecure", insecure_, "https: do not check the certificate").excludes(file);
}

void TlsFlags::apply(genscope::bench::HttpOptions& http) const {
  http.ca_file = ca_file_;
  http.insecure = insecure_;
  if (!insecure_ || warned_ || !http.url.starts_with("https://")) return;
  warned_ = true;
  std::fputs(
      "warning: --insecure: the server's certificate is not checked; whoever is on the way can "
      "read and change what is sent\n",
      stderr);
}

}  // namespace genscope::cli::bench
