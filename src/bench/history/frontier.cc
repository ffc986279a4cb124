// Values double until one fails, then the gap is halved: about 2 log2(n) runs of n values. That
// supposes that more of the parameter never fits better; what contradicts it is looked for where it
// costs little: one value beyond the first failure, peaks that fall, and both sides of the frontier
// a second time.
#include "bench/history/frontier.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

#include "base/file.h"
#include "bench/result/json_writer.h"

namespace genscope::bench {
namespace {

constexpr double kFallingPeak = 0.95;  // a larger value with less than this share of the peak

class FrontierSearch {
 public:
  FrontierSearch(const FrontierRange& range,
                 const std::function<FrontierTry(std::int64_t)>& attempt)
      : range_(range), attempt_(attempt) {}

  Frontier run() {
    const std::int64_t last = (range_.high - range_.low) / range_.step;
    std::optional<std::int64_t> fits, fails;
    for (std::int64_t place = 0, jump = 1;; jump *= 2) {
      (fits_at(place) ? fits : fails) = place;
      if (fails || place == last || out_.cancelled) break;
      place = std::min(last, place + jump);
    }
    if (fails && fits && !out_.cancelled) look_beyond(*fails, last);
    while (fits && fails && *fails - *fits > 1 && !out_.cancelled) {
      const std::int64_t middle = *fits + (*fails - *fits) / 2;
      (fits_at(middle) ? fits : fails) = middle;
    }
    if (fits && fails && !out_.cancelled) confirm(*fits, *fails);
    if (!out_.cancelled) {
      if (fits) out_.largest = value_of_place(*fits);
      if (fails) out_.smallest_not = value_of_place(*fails);
    }
    check_peaks();
    return std::move(out_);
  }

 private:
  std::int64_t value_of_place(std::int64_t place) const { return range_.low + place * range_.step; }

  bool fits_at(std::int64_t place) {
    out_.tries.push_back(attempt_(value_of_place(place)));
    const std::optional<Failure>& failure = out_.tries.back().failure;
    if (failure && failure->kind == FailureClass::cancelled) out_.cancelled = true;
    return !failure;
  }

  void look_beyond(std::int64_t fails, std::int64_t last) {
    const std::int64_t beyond = std::min(last, fails * 2);
    if (beyond == fails || !fits_at(beyond)) return;
    out_.violations.push_back(fmt::format("{} fits, though the smaller {} does not",
                                          value_of_place(beyond), value_of_place(fails)));
  }

  void confirm(std::int64_t fits, std::int64_t fails) {
    if (!fits_at(fits) && !out_.cancelled) {
      out_.violations.push_back(fmt::format(
          "{} fitted once and failed once: the frontier is not sharp", value_of_place(fits)));
    }
    if (!out_.cancelled && fits_at(fails)) {
      out_.violations.push_back(fmt::format(
          "{} failed once and fitted once: the frontier is not sharp", value_of_place(fails)));
    }
  }

  void check_peaks() {
    std::map<std::int64_t, double> peaks;
    for (const FrontierTry& one : out_.tries) {
      if (!one.failure && one.peak) peaks[one.value] = *one.peak;
    }
    const std::pair<const std::int64_t, double>* before = nullptr;
    for (const auto& now : peaks) {
      if (before != nullptr && now.second < before->second * kFallingPeak) {
        out_.violations.push_back(
            fmt::format("the peak falls from {} to {}", before->first, now.first));
      }
      before = &now;
      if (out_.largest == now.first) out_.peak = now.second;
    }
  }

  const FrontierRange& range_;
  const std::function<FrontierTry(std::int64_t)>& attempt_;
  Frontier out_;
};

std::optional<double> number_at(const std::map<std::string, std::string>& facts,
                                const std::string& key) {
  const auto found = facts.find(key);
  if (found == facts.end()) return std::nullopt;
  const double value = std::strtod(found->second.c_str(), nullptr);
  if (!(value > 0)) return std::nullopt;
  return value;
}

void write_try(JsonWriter& out, const FrontierTry& one) {
  out.begin('{');
  out.key("value");
  out.integer(one.value);
  out.key("fits");
  out.flag(!one.failure);
  if (one.failure) {
    out.key("failure");
    out.begin('{');
    out.key("class");
    out.text(name(one.failure->kind));
    out.key("detail");
    out.text(one.failure->detail);
    out.end('}');
  }
  for (const auto& [key, value] : {std::pair("peak", one.peak), {"latency_s", one.latency_s}}) {
    if (!value) continue;
    out.key(key);
    out.number(*value);
  }
  out.end('}');
}

}  // namespace

Result<FrontierRange> parse_range(std::string_view text) {
  const auto wrong = [&](const char* why) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("'{}' is not a range: {}; write e.g. 1..64, or 256..4096:64 for steps "
                             "of 64",
                             text, why)};
  };
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return wrong("there is no '..'");
  std::string_view low = text.substr(0, dots), high = text.substr(dots + 2), step = "1";
  if (const std::size_t colon = high.find(':'); colon != std::string_view::npos) {
    step = high.substr(colon + 1);
    high = high.substr(0, colon);
  }
  FrontierRange range;
  const auto read = [](std::string_view digits, std::int64_t& out) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (!read(low, range.low) || !read(high, range.high) || !read(step, range.step)) {
    return wrong("its ends and its step are whole numbers");
  }
  if (range.low < 0 || range.high < range.low) return wrong("it has to go up, from 0 or more");
  if (range.step < 1) return wrong("the step is at least 1");
  return range;
}

Frontier find_frontier(const FrontierRange& range,
                       const std::function<FrontierTry(std::int64_t)>& attempt) {
  return FrontierSearch(range, attempt).run();
}

bool is_out_of_memory(const Failure& failure) noexcept {
  return failure.kind == FailureClass::oom_gpu || failure.kind == FailureClass::oom_host;
}

std::optional<double> memory_limit(std::string_view metric, const Environment& environment,
                                   const std::string& sys_root) {
  if (metric.starts_with("vram")) return number_at(environment.fingerprint, "gpus.0.vram_bytes");
  if (!metric.starts_with("rss")) return std::nullopt;
  std::optional<double> limit = number_at(environment.fingerprint, "ram_bytes");
  const Result<std::string> group = base::read_file(sys_root + "/fs/cgroup/memory.max", 64);
  if (!group) return limit;
  const double most = std::strtod(group->c_str(), nullptr);  // "max": 0
  if (most > 0 && (!limit || most < *limit)) limit = most;
  return limit;
}

std::string frontier_json(const Frontier& found, const std::string& parameter,
                          const std::string& metric, const Environment& environment) {
  std::string text;
  JsonWriter out(text);
  out.begin('{');
  out.key("schema");
  out.text("genscope.frontier/1");
  out.key("parameter");
  out.text(parameter);
  out.key("metric");
  out.text(metric);
  out.key("environment_class");
  out.text(environment.klass);
  if (found.largest) {
    out.key("largest");
    out.integer(*found.largest);
  }
  if (found.smallest_not) {
    out.key("smallest_not");
    out.integer(*found.smallest_not);
  }
  for (const auto& [key, value] : {std::pair("peak", found.peak), {"limit", found.limit}}) {
    if (!value) continue;
    out.key(key);
    out.number(*value);
  }
  if (found.peak && found.limit) {
    out.key("headroom_ratio");
    out.number(1 - *found.peak / *found.limit);
  }
  out.key("violations");
  out.begin('[');
  for (const std::string& sentence : found.violations) out.text(sentence);
  out.end(']');
  out.key("tries");
  out.begin('[');
  for (const FrontierTry& one : found.tries) write_try(out, one);
  out.end(']');
  out.end('}');
  return text + "\n";
}

}  // namespace genscope::bench
