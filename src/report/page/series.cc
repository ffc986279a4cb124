// Events and counters of a page.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_set>

#include "base/text.h"
#include "report/page/page.h"
#include "report/span_dump.h"
#include "report/thin.h"

namespace genscope::report {
namespace {

constexpr std::size_t kLongestText = 4096;  // of one argument; the rest is cut with an ellipsis

std::string value_json(const Trace& trace, ArgType type, std::uint64_t bits) {
  switch (type) {
    case ArgType::int64:
      return fmt::format("{}", static_cast<std::int64_t>(bits));
    case ArgType::uint64:
      return fmt::format("{}", bits);
    case ArgType::float64: {
      const auto value = std::bit_cast<double>(bits);
      return std::isfinite(value) ? fmt::format("{}", value) : "null";
    }
    case ArgType::boolean:
      return bits != 0 ? "true" : "false";
    case ArgType::text:
      break;
  }
  if (bits >= trace.texts.size()) return "null";
  const std::string& text = trace.texts[bits];
  if (text.size() <= kLongestText) return base::json_quote(text);
  return base::json_quote(std::string(base::cut_utf8(text, kLongestText)) + "\u2026");
}

// The user's counters that have a row of their own in the report; the others would be a page
// without end. Empty: all have.
std::unordered_set<std::string_view> counters_with_a_row(const Analysis& analysis) {
  std::unordered_set<std::string_view> names;
  if (analysis.counters.empty() || analysis.counters.back().folded == 0) return names;
  for (const CounterRow& row : analysis.counters) {
    if (row.folded == 0) names.insert(row.name);
  }
  return names;
}

}  // namespace

std::string args_json(const Trace& trace, const ArgColumns& args, std::size_t owner,
                      const PageLimits& limits, PageCuts& cuts) {
  const auto [first, last] = std::equal_range(args.owner.begin(), args.owner.end(), owner);
  if (first == last) return "";
  if (cuts.args_bytes >= limits.args_bytes) {
    cuts.args += 1;
    return "";
  }
  std::string out;
  for (auto it = first; it != last; ++it) {
    const auto i = static_cast<std::size_t>(it - args.owner.begin());
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",",
                       base::json_quote(trace.names[args.key[i]].text),
                       value_json(trace, args.type[i], args.bits[i]));
  }
  cuts.args_bytes += out.size();
  return "{" + out + "}";
}

std::string events_json(const Run& run, const Analysis& analysis, const PageLimits& limits,
                        PageNames& names, Blobs& blobs, PageCuts& cuts) {
  std::vector<double> at;
  std::vector<std::uint32_t> name, track;
  std::string args;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    const std::int64_t shift = shift_to_begin(analysis, t);
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      if (is_sampler_event(trace, i)) continue;
      const Name& event = trace.names[trace.events.name[i]];
      if (at.size() >= limits.events) {
        cuts.events += 1;
        continue;
      }
      if (const std::string text = args_json(trace, trace.event_args, i, limits, cuts);
          !text.empty()) {
        args += fmt::format("{}[{},{}]", args.empty() ? "" : ",", at.size(), text);
      }
      at.push_back(static_cast<double>(wrapping_add(trace.events.at_ns[i], shift)));
      name.push_back(names.number(event));
      track.push_back(trace.events.track[i]);
    }
  }
  return fmt::format(R"({{"at":{},"name_id":{},"track":{},"args":[{}]}})",
                     blobs.add(std::span<const double>(at)),
                     blobs.add(std::span<const std::uint32_t>(name)),
                     blobs.add(std::span<const std::uint32_t>(track)), args);
}

std::string counters_json(const Run& run, const Analysis& analysis, const PageLimits& limits,
                          Blobs& blobs, PageCuts& cuts) {
  const std::unordered_set<std::string_view> shown = counters_with_a_row(analysis);
  std::string out;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    const std::int64_t shift = shift_to_begin(analysis, t);
    const auto places = readings_by_name(trace);
    for (std::size_t n = 0; n < places.size(); ++n) {
      if (places[n].empty()) continue;
      const std::string& text = trace.names[n].text;
      const SampleSeries* const series = trace.samples.of_name(static_cast<std::uint32_t>(n));
      if (!shown.empty() && series == nullptr && !shown.contains(text)) {
        cuts.points += places[n].size();
        continue;
      }
      const std::vector<std::uint32_t> kept =
          thinned(places[n], trace.counters.value, limits.points);
      cuts.points += places[n].size() - kept.size();
      std::vector<double> at, value;
      for (const std::uint32_t i : kept) {
        at.push_back(static_cast<double>(wrapping_add(trace.counters.at_ns[i], shift)));
        value.push_back(trace.counters.value[i]);
      }
      out += fmt::format(
          R"({}{{"name":{},"entity":{},"metric":{},"unit":{},"pid":{},"at":{},"value":{}}})",
          out.empty() ? "" : ",", base::json_quote(text),
          series != nullptr ? base::json_quote(trace.samples.entities[series->entity].id) : "null",
          series != nullptr ? base::json_quote(series->metric->id) : "null",
          series != nullptr ? base::json_quote(series->metric->unit) : "null", trace.process.pid,
          blobs.add(std::span<const double>(at)), blobs.add(std::span<const double>(value)));
    }
  }
  return "[" + out + "]";
}

}  // namespace genscope::report
