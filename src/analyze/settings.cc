// What is told is kept as a list per key, in which what repeats the last is left out: a service may
// tell its settings with each of a million requests. Keys with one value are done then. For the
// others, the requests that began between one telling and the next are counted by bisection in the
// sorted begins, so each costs the logarithm of the requests.
#include "analyze/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "trace/arguments.h"

namespace genscope::analysis {
namespace {

struct Telling {
  std::size_t trace;
  std::int64_t at_ns;
  SettingValue value;
};
// Key -> what was told, by process and then in the order of time. What repeats the last is not
// kept: a service may tell its settings with each of a million requests.
using Tellings = std::map<std::string, std::vector<Telling>, std::less<>>;

constexpr std::int64_t kFromTheBegin = std::numeric_limits<std::int64_t>::min();

// Arguments whose owners `wanted` approves; `at` gives the time from which they hold.
template <class Wanted, class At>
void take(const Run& run, std::size_t index, const ArgColumns& args, Tellings& tellings,
          Wanted&& wanted, At&& at) {
  const Trace& trace = run.traces[index];
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!wanted(args.owner[i])) continue;
    auto value = trace::argument_at(trace, args, i);
    if (!value) continue;
    std::vector<Telling>& told = tellings[trace.names[args.key[i]].text];
    const std::int64_t from = at(args.owner[i]);
    const bool again = !told.empty() && told.back().trace == index && told.back().at_ns <= from &&
                       told.back().value == *value;
    if (!again) told.push_back({index, from, *std::move(value)});
  }
}

// What is told inside of a request is about that request: it holds from its begin.
std::int64_t holds_from(const Trace& trace, std::uint32_t event) {
  std::int64_t from = trace.events.at_ns[event];
  for (std::uint32_t span = trace.events.span[event]; span != kNone && span < trace.spans.size();
       span = trace.spans.parent[span]) {
    if (trace.kind(span) == SpanKind::request) from = trace.spans.begin_ns[span];
  }
  return from;
}

Tellings tellings_of(const Run& run) {
  Tellings tellings;
  for (std::size_t index = 0; index < run.traces.size(); ++index) {
    const Trace& trace = run.traces[index];
    take(
        run, index, trace.span_args, tellings,
        [&](std::uint32_t span) { return trace.kind(span) == SpanKind::session; },
        [](std::uint32_t) { return kFromTheBegin; });
    take(
        run, index, trace.event_args, tellings,
        [&](std::uint32_t event) {
          const std::string& name = trace.names[trace.events.name[event]].text;
          return name == "config" || name == "environment";
        },
        [&](std::uint32_t event) { return holds_from(trace, event); });
  }
  return tellings;
}

bool is_one_value(const std::vector<Telling>& told) {
  return std::all_of(told.begin(), told.end(),
                     [&](const Telling& each) { return each.value == told.front().value; });
}

// Begins of the requests of each process, ascending.
std::vector<std::vector<std::int64_t>> requests_of(const Run& run) {
  std::vector<std::vector<std::int64_t>> begins(run.traces.size());
  for (std::size_t index = 0; index < run.traces.size(); ++index) {
    const Trace& trace = run.traces[index];
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
      if (trace.kind(i) == SpanKind::request) begins[index].push_back(trace.spans.begin_ns[i]);
    }
    std::sort(begins[index].begin(), begins[index].end());
  }
  return begins;
}

std::vector<SettingUse> uses_of(std::vector<Telling> told,
                                const std::vector<std::vector<std::int64_t>>& requests) {
  std::stable_sort(told.begin(), told.end(), [](const Telling& a, const Telling& b) {
    return a.trace != b.trace ? a.trace < b.trace : a.at_ns < b.at_ns;
  });
  std::vector<SettingUse> uses;
  std::map<SettingValue, std::size_t> known;
  for (std::size_t i = 0; i < told.size(); ++i) {
    const std::vector<std::int64_t>& begins = requests[told[i].trace];
    const auto from = std::lower_bound(begins.begin(), begins.end(), told[i].at_ns);
    const bool last = i + 1 == told.size() || told[i + 1].trace != told[i].trace;
    const auto to = last ? begins.end() : std::lower_bound(from, begins.end(), told[i + 1].at_ns);
    const auto [place, is_new] = known.try_emplace(told[i].value, uses.size());
    if (is_new) uses.push_back({told[i].value, 0});
    uses[place->second].requests += static_cast<std::uint64_t>(to - from);
  }
  return uses;
}

}  // namespace

ToldSettings told_settings(const Run& run) {
  ToldSettings result;
  std::vector<std::vector<std::int64_t>> requests;
  for (auto& [key, told] : tellings_of(run)) {
    if (is_one_value(told)) {
      result.values.emplace(key, told.front().value);
      continue;
    }
    if (requests.empty()) requests = requests_of(run);
    std::vector<SettingUse> uses = uses_of(told, requests);
    const auto most = std::max_element(
        uses.begin(), uses.end(),
        [](const SettingUse& a, const SettingUse& b) { return a.requests < b.requests; });
    result.values.emplace(key, most->value);
    std::erase_if(uses, [](const SettingUse& use) { return use.requests == 0; });
    if (uses.size() > 1) result.mixed.push_back({key, std::move(uses)});
  }
  return result;
}

std::string setting_text(const SettingValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return fmt::format("{}", std::get<double>(value));
}

}  // namespace genscope::analysis
