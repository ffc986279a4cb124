// The next candidate is the untried one nearest to the middle between the last good and the first
// bad one, so log2(n) judgements without skips; what could not be built or decided is left out of
// the choice, and stays a suspect if it ends up between the two. The state is the list of steps
// alone, so a search that was stopped goes on from its file.
//
// A step is judged against a floor halfway to the whole regression, in logarithms: a candidate has
// it or has it not, and the middle is where the two are told apart with the fewest runs.
#include "bench/history/bisect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "bench/result/json_reader.h"
#include "bench/result/json_writer.h"

namespace genscope::bench {
namespace {

constexpr StepVerdict kStepVerdicts[] = {StepVerdict::untried, StepVerdict::good, StepVerdict::bad,
                                         StepVerdict::inconclusive, StepVerdict::skipped};

struct BisectBounds {
  std::size_t good = 0, bad = 0;  // the last good before the first bad
};

BisectBounds bounds_of(const std::vector<BisectStep>& steps) {
  BisectBounds bounds{0, steps.size() - 1};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].verdict == StepVerdict::bad) {
      bounds.bad = i;
      break;
    }
  }
  for (std::size_t i = 0; i < bounds.bad; ++i) {
    if (steps[i].verdict == StepVerdict::good) bounds.good = i;
  }
  return bounds;
}

void write_step(JsonWriter& out, const BisectStep& step) {
  out.begin('{');
  for (const auto& [key, text] : {std::pair<const char*, std::string_view>{"id", step.id},
                                  {"title", step.title},
                                  {"verdict", name(step.verdict)},
                                  {"why", step.why}}) {
    out.key(key);
    out.text(text);
  }
  if (step.ratio) {
    out.key("ratio");
    out.number(*step.ratio);
  }
  if (step.interval) {
    out.key("ci");
    out.begin('[');
    out.number(step.interval->low);
    out.number(step.interval->high);
    out.end(']');
  }
  out.key("pairs");
  out.natural(step.pairs);
  out.end('}');
}

void read_step(JsonReader& in, BisectStep& step) {
  in.members([&](std::string_view key) {
    if (key == "id") return in.read(step.id);
    if (key == "title") return in.read(step.title);
    if (key == "why") return in.read(step.why);
    if (key == "ratio") return in.read(step.ratio.emplace());
    if (key == "pairs") {
      std::uint64_t pairs = 0;
      in.read(pairs);
      step.pairs = pairs;
      return;
    }
    if (key == "ci") {
      std::vector<double> ends;
      in.elements([&] { in.read(ends.emplace_back()); });
      if (in.ok() && ends.size() != 2) return in.fail("this should be two numbers, [low, high]");
      if (in.ok()) step.interval = stats::Interval{ends[0], ends[1], 0.95};
      return;
    }
    if (key != "verdict") return in.skip();
    std::string text;
    in.read(text);
    const auto found =
        std::ranges::find_if(kStepVerdicts, [&](StepVerdict one) { return name(one) == text; });
    if (found == std::end(kStepVerdicts)) return in.fail("this verdict is not known");
    step.verdict = *found;
  });
}

}  // namespace

std::string_view name(StepVerdict verdict) noexcept {
  switch (verdict) {
    case StepVerdict::untried:
      return "untried";
    case StepVerdict::good:
      return "good";
    case StepVerdict::bad:
      return "bad";
    case StepVerdict::inconclusive:
      return "inconclusive";
    case StepVerdict::skipped:
      return "skipped";
  }
  return "untried";
}

std::optional<std::size_t> next_step(const std::vector<BisectStep>& steps) {
  if (steps.size() < 2) return std::nullopt;
  const BisectBounds bounds = bounds_of(steps);
  const std::size_t middle = bounds.good + (bounds.bad - bounds.good) / 2;
  std::optional<std::size_t> nearest;
  const auto distance = [&](std::size_t i) { return i > middle ? i - middle : middle - i; };
  for (std::size_t i = bounds.good + 1; i < bounds.bad; ++i) {
    if (steps[i].verdict != StepVerdict::untried) continue;
    if (!nearest || distance(i) < distance(*nearest)) nearest = i;
  }
  return nearest;
}

std::vector<std::size_t> suspects_of(const std::vector<BisectStep>& steps) {
  std::vector<std::size_t> suspects;
  if (steps.size() < 2) return suspects;
  const BisectBounds bounds = bounds_of(steps);
  for (std::size_t i = bounds.good + 1; i <= bounds.bad; ++i) suspects.push_back(i);
  return suspects;
}

void bisect(Bisection& bisection, const std::function<bool(BisectStep&)>& attempt) {
  while (const std::optional<std::size_t> next = next_step(bisection.steps)) {
    if (attempt(bisection.steps[*next])) continue;
    bisection.cancelled = true;
    break;
  }
  bisection.suspects = suspects_of(bisection.steps);
}

double halfway(double ratio) { return std::sqrt(std::max(ratio, 1.0)) - 1; }

void judge_step(const Cell& cell, double floor, BisectStep& step) {
  const std::vector<double> before = unit_values(cell, 'A', "latency_s");
  const std::vector<double> after = unit_values(cell, 'B', "latency_s");
  JudgeOptions options;
  options.min_effect = floor;
  options.paired = before.size() == after.size();
  options.interleaved = true;
  const Judgement judged = judge(before, after, options);
  step.ratio = judged.ratio;
  step.interval = judged.interval;
  step.pairs = std::min(before.size(), after.size());
  step.why.clear();
  if (judged.verdict == Verdict::regressed) {
    step.verdict = StepVerdict::bad;
  } else if (judged.verdict == Verdict::unchanged || judged.verdict == Verdict::improved ||
             (judged.interval && judged.interval->high < 1 + floor)) {
    step.verdict = StepVerdict::good;
  } else {
    step.verdict = StepVerdict::inconclusive;
    step.why = judged.reason;
  }
}

std::string bisection_json(const Bisection& bisection) {
  std::string text;
  JsonWriter out(text);
  out.begin('{');
  out.key("schema");
  out.text("genscope.bisect/1");
  if (bisection.suspects.size() == 1) {
    out.key("first_bad");
    out.text(bisection.steps[bisection.suspects.front()].id);
  }
  out.key("suspects");
  out.begin('[');
  for (const std::size_t i : bisection.suspects) out.text(bisection.steps[i].id);
  out.end(']');
  out.key("steps");
  out.begin('[');
  for (const BisectStep& step : bisection.steps) {
    out.line();
    write_step(out, step);
  }
  out.end(']');
  out.end('}');
  return text + "\n";
}

Result<std::vector<BisectStep>> read_bisection(const std::string& path) {
  const Result<std::string> text = base::read_file(path, std::size_t{64} << 20);
  if (!text) return text.error();
  std::vector<BisectStep> steps;
  JsonReader reader(*text, path);
  reader.members([&](std::string_view key) {
    if (key != "steps") return reader.skip();
    reader.elements([&] { read_step(reader, steps.emplace_back()); });
  });
  reader.finish();
  if (reader.error()) return *reader.error();
  return steps;
}

}  // namespace genscope::bench
