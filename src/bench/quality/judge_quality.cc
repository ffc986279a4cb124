// From pairs to one verdict.
//
// The unit is the key (cell, prompt, seed): repeated pairs of a key are averaged, for they are not
// independent. Each metric that has a rule is judged by the interval of its mean against the limit
// (stats::non_inferiority); a user's metric without a rule gets a margin of 1 %, and without any
// such metric SSIM has to reach 0.95. One metric that is worse makes it lower; one that is open
// makes it unclear.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyze/quality/quality.h"
#include "analyze/statistics/statistics.h"
#include "bench/quality/pair.h"

namespace genscope::bench {
namespace {

struct MetricValues {
  std::vector<double> before, after;  // by key; `before` is empty for a metric of the pair
};

struct QualityFinding {
  stats::QualityChange change = stats::QualityChange::unclear;
  std::string text;
};

double mean_of_all(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Every metric that all compared keys have, averaged within each key.
std::map<std::string, MetricValues> values_by_metric(const QualityResult& result) {
  struct Sum {
    double before = 0, after = 0;
    std::size_t n = 0, with_before = 0;
  };
  std::map<std::string, std::map<std::string, Sum>> sums;  // metric -> key
  for (const QualityPair& pair : result.pairs) {
    const std::string key = fmt::format("{}\n{}\n{}", pair.cell, pair.prompt,
                                        pair.seed ? std::to_string(*pair.seed) : "");
    const auto add = [&](const std::string& metric, double after) -> Sum& {
      Sum& sum = sums[metric][key];
      sum.after += after;
      ++sum.n;
      return sum;
    };
    if (pair.same_bytes) add("ssim", 1);
    if (pair.ssim) add("ssim", *pair.ssim);
    if (pair.psnr_db && std::isfinite(*pair.psnr_db)) add("psnr_db", *pair.psnr_db);
    for (const auto& [metric, value] : pair.after) {
      Sum& sum = add(metric, value);
      if (const auto found = pair.before.find(metric); found != pair.before.end()) {
        sum.before += found->second;
        ++sum.with_before;
      }
    }
  }
  std::map<std::string, MetricValues> all;
  for (const auto& [metric, keys] : sums) {
    MetricValues& values = all[metric];
    for (const auto& [key, sum] : keys) {
      values.after.push_back(sum.after / static_cast<double>(sum.n));
      if (sum.with_before > 0) {
        values.before.push_back(sum.before / static_cast<double>(sum.with_before));
      }
    }
    if (values.before.size() != values.after.size()) values.before.clear();
  }
  return all;
}

// Values of a pair against a limit: sign is 1 for "at least", -1 for "at most".
QualityFinding against_limit(const std::string& metric, const std::vector<double>& values,
                             double limit, double sign, double confidence) {
  std::vector<double> wanted(values.size(), sign * limit), got;
  std::size_t beyond = 0;
  for (const double value : values) {
    got.push_back(sign * value);
    if (sign * value < sign * limit) ++beyond;
  }
  const char* const words = sign > 0 ? "at least" : "at most";
  QualityFinding finding;
  const auto judged = stats::non_inferiority(wanted, got, 0, confidence);
  if (values.size() < 2 || !judged) {
    finding.change = beyond == 0 ? stats::QualityChange::not_worse : stats::QualityChange::worse;
    finding.text =
        fmt::format("{} {:.4g}, {} {:g} is wanted (1 pair)", metric, values.at(0), words, limit);
    return finding;
  }
  finding.change = judged->change;
  double low = limit + sign * judged->low, high = limit + sign * judged->high;
  if (low > high) std::swap(low, high);
  finding.text =
      fmt::format("{} {:.4g} ({:g} %: {:.4g} to {:.4g}), {} {:g} is wanted, {} pairs", metric,
                  mean_of_all(values), confidence * 100, low, high, words, limit, values.size());
  if (beyond > 0 && finding.change == stats::QualityChange::not_worse) {
    finding.change = stats::QualityChange::unclear;
    finding.text += fmt::format("; {} of them {} it", beyond, sign > 0 ? "below" : "above");
  }
  return finding;
}

QualityFinding against_before(const std::string& metric, const MetricValues& values,
                              const QualityRule& rule, double confidence) {
  const double sign = rule.direction == Direction::higher_is_better ? 1 : -1;
  const double base = mean_of_all(values.before);
  const bool relative = rule.relative || !rule.margin;
  const double margin =
      relative ? rule.margin.value_or(kQualityMargin) * std::abs(base) : *rule.margin;
  std::vector<double> before, after;
  for (std::size_t i = 0; i < values.before.size(); ++i) {
    before.push_back(sign * values.before[i]);
    after.push_back(sign * values.after[i]);
  }
  QualityFinding finding;
  finding.text =
      fmt::format("{} {:.4g} before, {:.4g} after", metric, base, mean_of_all(values.after));
  const auto judged = stats::non_inferiority(before, after, margin, confidence);
  if (!judged) {
    finding.text += "; one pair shows nothing, give more prompts or seeds";
    return finding;
  }
  finding.change = judged->change;
  double low = sign * judged->low, high = sign * judged->high;
  if (low > high) std::swap(low, high);
  finding.text += fmt::format(" (difference {:g} %: {:+.3g} to {:+.3g}, margin {:.3g}), {} pairs",
                              confidence * 100, low, high, margin, values.before.size());
  return finding;
}

class QualityJudge {
 public:
  QualityJudge(const QualityOptions& options, const OwnDifference& own, QualityResult& result)
      : options_(options), own_(own), result_(result), values_(values_by_metric(result)) {}

  void judge() {
    count();
    if (result_.pairs.empty()) {
      return say("not_compared", "no output of both sides has the same prompt and seed");
    }
    if (broken_ > 0) {
      return say("lower_quality",
                 fmt::format("{} of {} outputs after are {}", broken_, result_.pairs.size(),
                             blank_ > 0 ? "blank" : "missing or cannot be read"));
    }
    if (compared_ == 0) return say("not_compared", result_.pairs.front().absent);
    judge_metrics();
    if (same_ == result_.pairs.size() && findings_.empty()) {
      return say("same_bytes", fmt::format("{} of {} bytes equal", same_, result_.pairs.size()));
    }
    conclude();
  }

 private:
  void say(const char* verdict, std::string reason) {
    result_.verdict = verdict;
    result_.reason = std::move(reason);
  }

  void count() {
    for (const QualityPair& pair : result_.pairs) {
      same_ += pair.same_bytes ? 1 : 0;
      compared_ += pair.absent.empty() ? 1 : 0;
      blank_ += pair.after.count("blank");
      broken_ += pair.after.count("blank") + pair.after.count("unreadable");
    }
  }

  void judge_metrics() {
    bool users = false;  // a metric of the user's own has decided: SSIM need not
    for (const auto& [metric, values] : values_) {
      const auto found = options_.rules.find(metric);
      const QualityRule rule = found != options_.rules.end() ? found->second : QualityRule{};
      if (rule.min) add(against_limit(metric, values.after, *rule.min, 1, options_.confidence));
      if (rule.max) add(against_limit(metric, values.after, *rule.max, -1, options_.confidence));
      if (!values.before.empty()) add(against_before(metric, values, rule, options_.confidence));
      users = users || !values.before.empty() || rule.min || rule.max;
    }
    for (const auto& [metric, rule] : options_.rules) {
      if (values_.count(metric) == 0 &&
          !(metric == "psnr_db" && same_ + equal_pixels() == compared_)) {
        add({stats::QualityChange::unclear, fmt::format("{} was not measured", metric)});
      }
    }
    const auto ssim = values_.find("ssim");
    if (users || same_ == result_.pairs.size()) return;
    if (ssim == values_.end()) {
      return add(
          {stats::QualityChange::unclear, "the files differ, and SSIM needs 11 x 11 pixels"});
    }
    double least = kLeastSsim;
    if (own_.differ > 0)
      least = std::min(least, own_.ssim_sum / static_cast<double>(own_.compared));
    add(against_limit("SSIM", ssim->second.after, least, 1, options_.confidence));
  }

  std::size_t equal_pixels() const {
    std::size_t equal = 0;
    for (const QualityPair& pair : result_.pairs) {
      equal += pair.psnr_db && !std::isfinite(*pair.psnr_db) ? 1 : 0;
    }
    return equal;
  }

  void add(QualityFinding finding) { findings_.push_back(std::move(finding)); }

  // The worst finding decides, and stands first.
  void conclude() {
    const auto is = [](stats::QualityChange change) {
      return [change](const QualityFinding& finding) { return finding.change == change; };
    };
    const char* verdict = "same_quality";
    auto first = std::find_if(findings_.begin(), findings_.end(), is(stats::QualityChange::worse));
    if (first != findings_.end()) {
      verdict = "lower_quality";
    } else if (first = std::find_if(findings_.begin(), findings_.end(),
                                    is(stats::QualityChange::unclear));
               first != findings_.end()) {
      verdict = "unclear";
    } else {
      first = findings_.begin();
    }
    std::rotate(findings_.begin(), first, first + 1);
    std::string reason;
    for (const QualityFinding& finding : findings_) {
      reason += (reason.empty() ? "" : "; ") + finding.text;
    }
    if (same_ > 0) reason += fmt::format("; {} of {} bytes equal", same_, result_.pairs.size());
    if (compared_ < result_.pairs.size()) {
      reason += fmt::format("; {} of {} could not be compared", result_.pairs.size() - compared_,
                            result_.pairs.size());
    }
    if (own_.differ > 0) reason += "; the outputs before differ from run to run themselves";
    say(verdict, std::move(reason));
  }

  const QualityOptions& options_;
  const OwnDifference& own_;
  QualityResult& result_;
  const std::map<std::string, MetricValues> values_;
  std::vector<QualityFinding> findings_;
  std::size_t same_ = 0, compared_ = 0, blank_ = 0, broken_ = 0;
};

}  // namespace

void judge_quality(const QualityOptions& options, const OwnDifference& own, QualityResult& result) {
  QualityJudge(options, own, result).judge();
}

std::string speed_and_quality(Verdict speed, const QualityResult& quality) {
  std::string words = speed == Verdict::improved    ? "faster"
                      : speed == Verdict::regressed ? "slower"
                      : speed == Verdict::unchanged ? "same_speed"
                                                    : "";
  if (words.empty()) return words;
  if (quality.verdict == "same_bytes" || quality.verdict == "same_quality")
    return words + "_same_quality";
  return words + (quality.verdict == "lower_quality" ? "_lower_quality" : "_unknown_quality");
}

}  // namespace genscope::bench
