// `load`: a LoadSpec, in the words of `bench load`.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "bench/suite/sections.h"

namespace genscope::bench {
namespace {

using config::YamlValue;

constexpr std::size_t kMaxTraceFile = std::size_t{64} << 20;

void read_arrivals(Section& section, const std::string& folder, LoadSpec& load,
                   Mistakes& mistakes) {
  const YamlValue* const value = section.any("arrivals");
  if (value == nullptr) return;
  Section arrivals(*value, "load.arrivals", mistakes);
  arrivals.word("kind", load.arrivals, {"poisson", "gamma", "constant", "trace"});
  arrivals.number("rate", load.rate, 1e-6, 1e6);
  arrivals.number("cv", load.cv, 0, 1e6);
  arrivals.integer("seed", load.seed);
  std::string file;
  if (!arrivals.text("file", file)) return;
  const int line = arrivals.any("file")->line;
  const std::string path = file.starts_with('/') ? file : folder + "/" + file;
  const Result<std::string> text = base::read_file(path, kMaxTraceFile);
  if (!text) return arrivals.wrong(line, "file", text.error().message);
  Result<std::vector<double>> times = parse_trace(*text, path);
  if (!times) return arrivals.wrong(line, "file", times.error().message);
  load.trace_s = *std::move(times);
}

void read_slo(Section& section, LoadSpec& load, Mistakes& mistakes) {
  const YamlValue* const value = section.any("slo");
  if (value == nullptr) return;
  Section limit(*value, "load.slo", mistakes);
  std::optional<double> seconds, percentile;
  limit.quantity("latency_s", seconds, "latency_s");
  limit.number("percentile", percentile, 1, 99.99);
  if (!limit.has("latency_s")) {
    return limit.wrong(value->line, "latency_s", "missing; write 500ms or 20s");
  }
  if (!seconds) return;
  load.slo = Slo{*seconds, percentile.value_or(99) / 100};
}

void count_of(Section& section, const char* name, std::optional<std::uint64_t>& out,
              std::size_t low, std::size_t high) {
  std::size_t value = 0;
  if (section.count(name, value, low, high)) out = value;
}

// Where a field of a LoadSpec stands in the file.
std::string place_of(std::string field) {
  if (field == "arrivals") return "arrivals.kind";
  if (field == "rate" || field == "cv") return "arrivals." + field;
  return field;
}

}  // namespace

void read_load(Section& root, const std::string& folder, Suite& suite, Mistakes& mistakes) {
  const YamlValue* const value = root.any("load");
  if (value == nullptr) return;
  Section section(*value, "load", mistakes);
  LoadSpec load;
  section.word("scenario", load.scenario,
               {"single_stream", "multi_stream", "server", "offline", "open", "closed"});
  read_arrivals(section, folder, load, mistakes);
  section.duration("duration", load.duration_s);
  count_of(section, "concurrency", load.concurrency, 1, 10'000);
  count_of(section, "requests", load.requests, 1, 20'000'000);
  count_of(section, "warmup", load.warmup, 0, 1'000'000);
  read_slo(section, load, mistakes);
  section.number("min_goodput", load.min_goodput, 0, 1e9);
  section.share("max_failed", load.max_failed);
  section.flag("find_peak", load.find_peak);
  LoadOptions tried;
  tried.prompts = suite.prompts.texts;
  if (const auto wrong = apply_spec(load, tried)) {
    section.wrong(value->line, place_of(wrong->field), wrong->what);
  }
  suite.load = std::move(load);
}

}  // namespace genscope::bench
