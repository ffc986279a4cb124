#include "analyze/compare/series.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "analyze/generation/roles.h"

namespace genscope::analysis {
namespace {

struct Places {
  const std::string* loop = nullptr;      // of the stage or block that holds it
  const std::string* pipeline = nullptr;  // of the request
};

Places places_of(const Trace& trace, std::uint32_t span) {
  const auto named = [&](auto&& wanted) -> const std::string* {
    const std::uint32_t at = nearest_around(trace, span, wanted);
    return at == kNone ? nullptr : &trace.span_name(at);
  };
  return {named([&](std::uint32_t s) { return trace.kind(s) == SpanKind::stage; }),
          named([&](std::uint32_t s) { return trace.kind(s) == SpanKind::request; })};
}

std::string text_of(const std::string* loop, const std::string* pipeline,
                    const std::string& shape) {
  std::string text = loop == nullptr ? "" : *loop;
  if (pipeline != nullptr) text += (text.empty() ? "" : " of ") + *pipeline;
  if (!shape.empty()) text += fmt::format("{}({})", text.empty() ? "" : " ", shape);
  return text;
}

}  // namespace

StepNames::StepNames(const Run& run, const Shapes& shapes, const StepSeries& series) {
  using Key = std::tuple<const std::string*, const std::string*, std::uint32_t>;
  std::set<std::string> loops, pipelines;
  std::vector<Places> places(series.steps.size());
  for (std::size_t i = 0; i < series.steps.size(); ++i) {
    const StepPoint& step = series.steps[i];
    if (step.span == kNone) continue;
    places[i] = places_of(run.traces[series.trace_of_loop[step.loop]], step.span);
    if (places[i].loop != nullptr && loops.size() <= kMostNames) loops.insert(*places[i].loop);
    if (places[i].pipeline != nullptr && pipelines.size() <= kMostNames) {
      pipelines.insert(*places[i].pipeline);
    }
  }
  const bool by_loop = loops.size() <= kMostNames, by_pipeline = pipelines.size() <= kMostNames;
  std::map<Key, std::uint32_t> known;
  for (std::size_t i = 0; i < series.steps.size(); ++i) {
    const StepPoint& step = series.steps[i];
    Key key{nullptr, nullptr, 0};
    if (step.span != kNone) {
      key = {by_loop ? places[i].loop : nullptr, by_pipeline ? places[i].pipeline : nullptr,
             shapes.id(series.trace_of_loop[step.loop], step.span)};
    }
    const auto [at, is_new] = known.try_emplace(key, static_cast<std::uint32_t>(texts_.size()));
    if (is_new)
      texts_.push_back(
          text_of(std::get<0>(key), std::get<1>(key), shapes.text_of(std::get<2>(key))));
    name_of_.push_back(at->second);
  }
}

}  // namespace genscope::analysis
