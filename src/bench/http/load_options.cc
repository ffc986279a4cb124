// What a load run is asked to be: texts become options, scenarios fill in their rules.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file_reader.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "bench/http/load.h"
#include "bench/http/load_text.h"
#include "report/format.h"

namespace genscope::bench {
namespace {

constexpr double kMlperfSeconds = 600;
constexpr double kDefaultSeconds = 10;
constexpr double kLeastCv = 0.01, kMostCv = 100;
constexpr std::uint64_t kOfflineSamples = 24'576;
constexpr std::size_t kMultiStreamSamples = 8;

Error bad_text(std::string_view text, std::string_view why) {
  return {ErrorCode::invalid_argument, fmt::format("'{}': {}", base::shorten(text, 60), why)};
}

using Mistaken = std::optional<LoadMistake>;

// Rate, users and arrivals, and whether they go together.
Mistaken apply_arrivals(const LoadSpec& spec, LoadOptions& options) {
  const bool traced = !spec.trace_s.empty();
  const bool open = spec.rate || traced || spec.find_peak;
  if (open && spec.concurrency) {
    return LoadMistake{"concurrency",
                       "an open loop has a rate, a closed one a concurrency; give one"};
  }
  if (spec.rate && traced)
    return LoadMistake{"rate", "a trace has its own times; give one of both"};
  if (!spec.arrivals.empty() && !open) return LoadMistake{"arrivals", "needs a rate"};
  if (traced != (spec.arrivals == "trace") && !spec.arrivals.empty()) {
    return LoadMistake{"arrivals", "times of a file are arrivals of the kind trace"};
  }
  const bool gamma = spec.arrivals == "gamma";
  if (gamma && !spec.cv) {
    return LoadMistake{"cv", "missing; gamma arrivals need it: 1 is Poisson, 2 comes in bursts"};
  }
  if (!gamma && spec.cv) return LoadMistake{"cv", "is for gamma arrivals"};
  if (spec.cv && !(*spec.cv >= kLeastCv && *spec.cv <= kMostCv)) {
    return LoadMistake{"cv", fmt::format("is from {} to {}", kLeastCv, kMostCv)};
  }
  options.rate = spec.rate.value_or(0);
  options.cv = spec.cv.value_or(1);
  options.concurrency = spec.concurrency.value_or(1);
  options.trace_s = spec.trace_s;
  if (!open) return std::nullopt;
  options.arrivals = traced                        ? Arrivals::trace
                     : gamma                       ? Arrivals::gamma
                     : spec.arrivals == "constant" ? Arrivals::constant
                                                   : Arrivals::poisson;
  return std::nullopt;
}

Mistaken apply_named(const LoadSpec& spec, LoadOptions& options) {
  const bool closed = options.arrivals == Arrivals::closed;
  if (spec.scenario.empty()) return std::nullopt;
  if (spec.scenario == "closed") {
    if (closed) return std::nullopt;
    return LoadMistake{"scenario", "a closed loop has users, not a rate"};
  }
  if ((spec.scenario == "open" || spec.scenario == "server") && closed) {
    return LoadMistake{
        "rate", fmt::format("missing; {} needs a rate, or the search for the peak", spec.scenario)};
  }
  if (spec.scenario == "open") return std::nullopt;
  const Status fine = apply_scenario(spec.scenario, options);
  if (!fine) return LoadMistake{"scenario", fine.error().message};
  return std::nullopt;
}

}  // namespace

std::string_view name(Arrivals arrivals) noexcept {
  switch (arrivals) {
    case Arrivals::closed:
      return "closed";
    case Arrivals::poisson:
      return "poisson";
    case Arrivals::gamma:
      return "gamma";
    case Arrivals::constant:
      return "constant";
    case Arrivals::trace:
      return "trace";
    case Arrivals::at_once:
      return "at_once";
  }
  return "";
}

Result<double> parse_seconds(std::string_view text) {
  struct TimeUnit {
    std::string_view name;
    double seconds;
  };
  constexpr TimeUnit kUnits[] = {{"ms", 1e-3}, {"us", 1e-6}, {"min", 60}, {"s", 1},
                                 {"m", 60},    {"h", 3600},  {"", 1}};
  for (const TimeUnit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    double value = 0;
    if (!base::parse_number(text.substr(0, text.size() - unit.name.size()), value)) break;
    if (!(value > 0) || !std::isfinite(value)) return bad_text(text, "a time above 0 is needed");
    return value * unit.seconds;
  }
  return bad_text(text, "not a time; write 250ms, 20s, 10m or 2h");
}

Result<Slo> parse_slo(std::string_view text) {
  const std::size_t at = text.find('@');
  const std::string_view time = text.substr(0, at);
  const Result<double> seconds = parse_seconds(time);
  if (!seconds) return seconds.error();
  // Who writes 500 means milliseconds, and every request would be within 500 s.
  if (std::isdigit(static_cast<unsigned char>(time.back())) != 0) {
    return bad_text(text, "the time needs its unit, such as 500ms or 20s");
  }
  Slo slo{.latency_s = *seconds};
  if (at == std::string_view::npos) return slo;
  std::string_view rank = text.substr(at + 1);
  if (rank.starts_with('p')) rank.remove_prefix(1);
  double percent = 0;
  if (!base::parse_number(rank, percent) || !(percent > 0) || !(percent < 100)) {
    return bad_text(text, "an SLO is a time and a percentile, such as 20s@p99");
  }
  slo.percentile = percent / 100;
  return slo;
}

Result<std::vector<double>> parse_trace(std::string_view text, std::string_view file) {
  std::vector<double> times;
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::string_view part = base::next_part(text, '\n');
    part = part.substr(0, part.find('#'));
    const std::string_view word = base::next_word(part);
    if (word.empty() || word == "\r") continue;
    const std::string_view digits = word.ends_with('\r') ? word.substr(0, word.size() - 1) : word;
    double value = 0;
    std::string_view wrong;
    if (!base::parse_number(digits, value) || !std::isfinite(value) || value < 0) {
      wrong = "not a time; write seconds since the start, one a line";
    } else if (!times.empty() && value < times.back()) {
      wrong = "earlier than the line before; sort the file";
    }
    if (!wrong.empty()) {
      return Error{ErrorCode::bad_data,
                   fmt::format("{}:{}: '{}': {}", file, line, base::shorten(word, 40), wrong)};
    }
    times.push_back(value);
  }
  if (times.empty()) {
    return Error{ErrorCode::bad_data, fmt::format("{}: no arrival times in it", file)};
  }
  return times;
}

Status apply_scenario(std::string_view asked, LoadOptions& options) {
  std::string scenario(asked);
  std::replace(scenario.begin(), scenario.end(), '_', '-');
  const auto at_least_600_s = [&] {
    if (!options.duration_s && !options.requests) options.duration_s = kMlperfSeconds;
  };
  if (scenario == "single-stream") {
    options.arrivals = Arrivals::closed;
    options.concurrency = 1;
    at_least_600_s();
  } else if (scenario == "multi-stream") {
    options.arrivals = Arrivals::closed;
    options.concurrency = 1;
    options.samples_per_query = kMultiStreamSamples;
    at_least_600_s();
  } else if (scenario == "server") {
    if (options.arrivals == Arrivals::closed) options.arrivals = Arrivals::poisson;
    at_least_600_s();
  } else if (scenario == "offline") {
    options.arrivals = Arrivals::at_once;
    if (!options.requests) {
      options.requests = options.prompts.empty() ? kOfflineSamples : options.prompts.size();
    }
  } else {
    const std::string meant =
        base::nearest(scenario, {"single-stream", "multi-stream", "server", "offline"});
    return bad_text(scenario, meant.empty()
                                  ? "scenarios are single-stream, multi-stream, server and offline"
                                  : "no such scenario; did you mean '" + meant + "'?");
  }
  options.scenario = scenario;
  return Done{};
}

std::optional<LoadMistake> apply_spec(const LoadSpec& spec, LoadOptions& options) {
  options.requests = spec.requests;
  options.duration_s = spec.duration_s;
  options.slo = spec.slo;
  options.min_goodput = spec.min_goodput;
  options.max_failed = spec.max_failed;
  options.seed = spec.seed;
  if (spec.warmup) options.warmup = *spec.warmup;
  if (spec.min_goodput && !spec.slo) {
    return LoadMistake{"slo", "missing; goodput is what is answered within the SLO"};
  }
  if (spec.find_peak && !spec.slo) {
    return LoadMistake{"slo", "missing; the peak is the highest rate that meets it"};
  }
  if (Mistaken wrong = apply_arrivals(spec, options)) return wrong;
  if (Mistaken wrong = apply_named(spec, options)) return wrong;
  const bool searchable = options.arrivals == Arrivals::poisson ||
                          options.arrivals == Arrivals::gamma ||
                          options.arrivals == Arrivals::constant;
  if (spec.find_peak && !searchable) {
    return LoadMistake{"arrivals", "the peak is searched with Poisson, gamma or constant arrivals"};
  }
  const bool bounded =
      options.duration_s || options.requests || options.arrivals == Arrivals::trace;
  if (!bounded && !spec.find_peak) options.duration_s = kDefaultSeconds;
  return std::nullopt;
}

std::string load_words(const LoadOptions& options, bool find_peak) {
  const auto time = [](double seconds) { return report::duration(seconds * 1e9); };
  std::string out = options.scenario.empty() ? "" : options.scenario + ": ";
  out +=
      arrival_words(options.arrivals, options.cv, options.concurrency, options.samples_per_query);
  if (options.rate > 0) out += fmt::format(", {}{:g}/s", find_peak ? "from " : "", options.rate);
  if (find_peak) out += ", up to the peak";
  if (options.duration_s) out += ", for " + time(*options.duration_s);
  if (options.requests) {
    out += fmt::format(", {}", report::counted(*options.requests, "request", "requests"));
  }
  if (options.slo) {
    out += fmt::format("; {} within {}", report::percent(options.slo->percentile),
                       time(options.slo->latency_s));
  }
  return out;
}

std::vector<std::string> departures_from_rules(const LoadOptions& options, const LoadRun& run) {
  std::vector<std::string> notes;
  const auto add = [&](std::string text) { notes.push_back("not by MLPerf's rules: " + text); };
  const std::string& scenario = options.scenario;
  const bool timed =
      scenario == "single-stream" || scenario == "multi-stream" || scenario == "server";
  std::int64_t last_ns = 0;
  for (const LoadRequest& request : run.requests) last_ns = std::max(last_ns, request.done_ns);
  if (timed && static_cast<double>(last_ns) * 1e-9 < kMlperfSeconds * 0.999) {
    add(fmt::format("{} runs for at least {} s", scenario, kMlperfSeconds));
  }
  if (scenario == "server" && options.arrivals != Arrivals::poisson) {
    add("server has Poisson arrivals");
  }
  if (scenario == "server" && !options.slo) add("server has a latency bound; give --slo");
  if (scenario == "server" && options.slo && options.slo->percentile != 0.99) {
    add("server judges p99");
  }
  const std::uint64_t least =
      options.prompts.empty() ? kOfflineSamples
                              : std::min<std::uint64_t>(kOfflineSamples, options.prompts.size());
  if (scenario == "offline" && run.requests.size() < least) {
    add(fmt::format("offline takes at least {} samples, or all of its set", kOfflineSamples));
  }
  return notes;
}

}  // namespace genscope::bench
