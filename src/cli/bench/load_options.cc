#include "cli/bench/load_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/file.h"
#include "base/file_reader.h"
#include "bench/result/timestamp.h"

namespace genscope::cli::bench {
namespace {

using genscope::bench::HttpOptions;
using genscope::bench::LoadOptions;
using genscope::bench::LoadSpec;

constexpr std::size_t kLoadFileBytes = 64u << 20;
constexpr const char* kDefaultPrompt = "a red cube on a wooden table, studio light";

Error wrong_option(std::string_view option, std::string_view what) {
  return {ErrorCode::invalid_argument, fmt::format("{}: {}", option, what)};
}

Status at_option(const char* option, const Error& error) {
  return Error{error.code, fmt::format("{}: {}", option, error.message)};
}

Result<std::vector<std::string>> read_prompts(const std::string& path) {
  const Result<std::string> text = base::read_file(path, kLoadFileBytes);
  if (!text) return text.error();
  std::vector<std::string> prompts;
  for (std::string_view rest = *text; !rest.empty();) {
    std::string_view line = base::next_part(rest, '\n');
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (!line.empty()) prompts.emplace_back(line);
  }
  if (prompts.empty()) return wrong_option(path, "no prompts in it; write one a line");
  return prompts;
}

Status fill_http(const LoadWords& words, HttpOptions& http) {
  if (!words.target.empty()) http.url = words.target;
  words.tls.apply(http);
  http.endpoint = words.endpoint;
  http.method = words.method;
  http.ok_status = words.status;
  if (words.connections) http.connections = *words.connections;
  if (!words.data.empty()) http.body = words.data;
  if (!words.template_file.empty()) {
    Result<std::string> text = base::read_file(words.template_file, kLoadFileBytes);
    if (!text) return text.error();
    http.body = *std::move(text);
  }
  for (const std::string& header : words.headers) {
    const std::size_t colon = header.find(':');
    if (colon == std::string::npos) return wrong_option("--header", "write 'Name: value'");
    std::size_t value = colon + 1;
    while (value < header.size() && header[value] == ' ') ++value;
    http.headers.emplace_back(header.substr(0, colon), header.substr(value));
  }
  if (!words.expect.empty()) {
    const std::size_t equals = words.expect.find('=');
    http.ok_pointer = words.expect.substr(0, equals);
    if (equals != std::string::npos) http.ok_value = words.expect.substr(equals + 1);
  }
  if (words.timeout.empty()) return Done{};
  const Result<double> seconds = genscope::bench::parse_seconds(words.timeout);
  if (!seconds) return at_option("--timeout", seconds.error());
  http.timeout_s = *seconds;
  return Done{};
}

Status fill_spec(const LoadWords& words, LoadSpec& spec) {
  spec = words.spec;
  spec.max_failed = words.max_failed_percent / 100;
  if (!words.trace_file.empty()) {
    const Result<std::string> text = base::read_file(words.trace_file, kLoadFileBytes);
    if (!text) return text.error();
    Result<std::vector<double>> times = genscope::bench::parse_trace(*text, words.trace_file);
    if (!times) return times.error();
    spec.trace_s = *std::move(times);
  }
  if (!words.duration.empty()) {
    const Result<double> seconds = genscope::bench::parse_seconds(words.duration);
    if (!seconds) return at_option("--duration", seconds.error());
    spec.duration_s = *seconds;
  }
  if (!words.slo.empty()) {
    const Result<genscope::bench::Slo> slo = genscope::bench::parse_slo(words.slo);
    if (!slo) return at_option("--slo", slo.error());
    spec.slo = *slo;
  }
  return Done{};
}

Status fill_generator(const LoadWords& words, LoadOptions& load) {
  if (!words.start_at.empty()) {
    const Result<std::int64_t> start = parse_start(words.start_at, base::realtime_ns());
    if (!start) return start.error();
    load.start_at_unix_ns = *start;
  }
  if (words.generator.empty()) return Done{};
  const std::size_t slash = words.generator.find('/');
  std::uint64_t own = 0, all = 0;
  if (slash == std::string::npos ||
      !base::parse_number(std::string_view(words.generator).substr(0, slash), own) ||
      !base::parse_number(std::string_view(words.generator).substr(slash + 1), all) || own == 0 ||
      own > all || all > 10'000) {
    return wrong_option("--generator", "write K/N, this one and all of them: 1/3, 2/3, 3/3");
  }
  load.generator = static_cast<std::uint32_t>(own);
  load.generators = static_cast<std::uint32_t>(all);
  return Done{};
}

}  // namespace

void add_load_options(Options& options, LoadWords& words) {
  options.add("TARGET", words.target, "", "URL (http:// or https://), or a suite file");
  options.add("--rate", words.spec.rate, "N", "Open loop: requests per second, Poisson").positive();
  options.add("--arrivals", words.spec.arrivals, "KIND", "poisson, gamma or constant, with --rate")
      .one_of({"poisson", "gamma", "constant"});
  options.add("--cv", words.spec.cv, "N",
              "With gamma: spread of the times between arrivals over their mean; 1 is Poisson");
  options.add("--trace", words.trace_file, "FILE",
              "Open loop: arrival times in seconds, one a line");
  options
      .add("--concurrency", words.spec.concurrency, "N",
           "Closed loop: users who ask in turn; default 1")
      .positive();
  options.add("--scenario", words.spec.scenario, "NAME",
              "MLPerf scenario: single-stream, multi-stream, server or offline");
  options.add("--duration", words.duration, "TIME", "How long requests are sent; default 10s");
  options.add("--requests", words.spec.requests, "N", "How many, at most").positive();
  options.add("--warmup", words.spec.warmup, "N", "Requests before, that do not count; default 1");
  options.add("--slo", words.slo, "TIME@PXX", "Limit for latency, such as 20s@p99");
  options
      .add("--min-goodput", words.spec.min_goodput, "N",
           "Answers within the SLO per second, at least")
      .positive();
  options.add("--max-failed", words.max_failed_percent, "PERCENT", "Requests that may fail")
      .range(0, 100)
      .show_default();
  options.flag("--find-peak", words.spec.find_peak, "Search the highest rate that meets the SLO");
  options.add("--seed", words.spec.seed, "N", "Seed of the arrivals and the requests")
      .show_default();
  options.add("--endpoint", words.endpoint, "NAME",
              "openai-images, openai-chat, comfyui or json; default: by the path");
  options.add("--method", words.method, "NAME", "Default: POST with a body, else GET");
  const Option data =
      options.add("--data", words.data, "JSON", "Body; {prompt}, {seed} and {name} are replaced");
  options.add("--template", words.template_file, "FILE", "The body is in there").excludes(data);
  options.add("--prompts", words.prompts_file, "FILE", "One prompt a line, taken in turn");
  options.add("--set", words.set, "NAME=VALUE", "A value for {NAME}, or a field of the request")
      .one_each();
  options.add("--header", words.headers, "TEXT", "'Name: value'; may be given again").one_each();
  options.add("--expect", words.expect, "POINTER[=VALUE]", "What a good answer holds: /data/0/url");
  options.add("--status", words.status, "N", "Status of a good answer; default: 200 to 299")
      .range(100, 599);
  options.add("--timeout", words.timeout, "TIME", "For one request; default 10m");
  options.add("--connections", words.connections, "N", "Open at once, at most; default 1024")
      .positive();
  words.tls.add_options(options);
  options.add("--start-at", words.start_at, "TIME", "Start then: 12:00:00 (UTC), RFC 3339 or +10s");
  options.add("--generator", words.generator, "K/N", "This is the K-th of N generators");
}

Result<LoadOptions> load_options_of(const LoadWords& words) {
  LoadOptions load;
  LoadSpec spec;
  if (const Status fine = fill_http(words, load.http); !fine) return fine.error();
  if (const Status fine = fill_spec(words, spec); !fine) return fine.error();
  if (!words.prompts_file.empty()) {
    Result<std::vector<std::string>> prompts = read_prompts(words.prompts_file);
    if (!prompts) return prompts.error();
    load.prompts = *std::move(prompts);
  }
  if (const auto wrong = genscope::bench::apply_spec(spec, load)) {
    return wrong_option("--" + wrong->field, wrong->what);
  }
  if (load.prompts.empty()) load.prompts = {kDefaultPrompt};  // ours is no set of samples
  if (const Status fine = fill_generator(words, load); !fine) return fine.error();
  for (const std::string& pair : words.set) {
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos)
      return wrong_option("--set", "write NAME=VALUE");
    load.params.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return load;
}

Result<std::int64_t> parse_start(const std::string& text, std::int64_t now_unix_ns) {
  constexpr std::int64_t kDay = 86'400'000'000'000;
  if (text.starts_with('+')) {
    const Result<double> seconds = genscope::bench::parse_seconds(std::string_view(text).substr(1));
    if (!seconds) return wrong_option("--start-at", seconds.error().message);
    return now_unix_ns + static_cast<std::int64_t>(*seconds * 1e9);
  }
  int hour = 0, minute = 0, second = 0, used = 0;
  const int read = std::sscanf(text.c_str(), "%2d:%2d:%2d%n", &hour, &minute, &second, &used);
  if (read == 3 && used == static_cast<int>(text.size()) && hour >= 0 && hour < 24 && minute >= 0 &&
      minute < 60 && second >= 0 && second < 60) {
    const std::int64_t since_midnight = ((hour * 60L + minute) * 60 + second) * 1'000'000'000;
    const std::int64_t today = now_unix_ns - now_unix_ns % kDay + since_midnight;
    return today >= now_unix_ns ? today : today + kDay;
  }
  if (const auto time = genscope::bench::parse_timestamp(text)) return *time;
  return wrong_option("--start-at", "write +10s, 12:00:00 (UTC) or 2026-01-31T12:00:00Z");
}

}  // namespace genscope::cli::bench
