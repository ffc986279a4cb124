// The options of `bench load`, as words; load_options.cc makes LoadOptions of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/http/load.h"
#include "cli/bench/tls_flags.h"
#include "cli/options.h"

namespace genscope::cli::bench {

struct LoadWords {
  std::string target;  // a URL or a suite file
  std::string endpoint, method, data, template_file, prompts_file, expect;
  std::vector<std::string> headers, set;
  std::optional<int> status;
  genscope::bench::LoadSpec spec;  // what needs no reading
  std::string duration, timeout, slo, trace_file, start_at, generator;
  std::optional<std::uint64_t> connections;
  double max_failed_percent = 1;
  TlsFlags tls;
};

void add_load_options(Options& options, LoadWords& words);

// What the words ask for. Errors name the option.
Result<genscope::bench::LoadOptions> load_options_of(const LoadWords& words);

// "2026-01-31T12:00:00Z", "12:00:00" (UTC, the next), "+10s"; in ns since 1970.
Result<std::int64_t> parse_start(const std::string& text, std::int64_t now_unix_ns);

}  // namespace genscope::cli::bench
