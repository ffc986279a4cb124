// The vectors about one sample: descriptive, median_order_ci, outliers_modz, hampel, trend,
// clustered_runs, bootstrap_bca.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "analyze/inference/inference.h"
#include "analyze/statistics/outliers.h"
#include "analyze/statistics/statistics.h"
#include "analyze/testing/vectors.h"

namespace genscope::stats {
namespace {

using testing::load_vectors;
using testing::VectorCase;

std::vector<double> values_of(const VectorCase& c) {
  if (!c.has("in.pattern.first")) return c.list("in.values");
  std::vector<double> values{c.number("in.pattern.first")};
  for (int i = 0; i < static_cast<int>(c.number("in.pattern.times")); ++i) {
    for (const double value : c.list("in.pattern.then_repeat")) values.push_back(value);
  }
  EXPECT_EQ(static_cast<double>(values.size()), c.number("in.n"));
  return values;
}

// "p05" is 0.05.
double share_of(const std::string& name) { return std::stod("0." + name.substr(1)); }

TEST(VectorsOfOneSample, Quantiles) {
  const auto file = load_vectors("descriptive");
  using Quantile = std::function<std::optional<double>(std::span<const double>, double)>;
  const auto by = [](QuantileMethod method) -> Quantile {
    return [method](std::span<const double> v, double p) { return quantile(v, p, method); };
  };
  const std::vector<std::pair<std::string, Quantile>> kinds{
      {"out.q_type6.", by(QuantileMethod::weibull)},
      {"out.q_type7.", by(QuantileMethod::linear)},
      {"out.q_type8.", by(QuantileMethod::median_unbiased)},
      {"out.nearest_rank.", by(QuantileMethod::nearest_rank)},
      {"out.harrell_davis.", harrell_davis},
      {"out.loadgen_index.", loadgen_percentile}};
  for (const VectorCase& c : file.cases) {
    const std::vector<double> values = values_of(c);
    for (const auto& [path, number] : c.numbers) {
      for (const auto& [prefix, function] : kinds) {
        if (!path.starts_with(prefix)) continue;
        const auto got = function(values, share_of(path.substr(prefix.size())));
        ASSERT_TRUE(got) << path;
        EXPECT_TRUE(c.agrees(path, *got));
      }
    }
  }
}

// What Quantiles above reads.
bool is_quantile(const std::string& path) {
  return path.starts_with("out.q_type") || path.starts_with("out.nearest_rank") ||
         path.starts_with("out.harrell_davis") || path.starts_with("out.loadgen_index");
}

TEST(VectorsOfOneSample, Descriptive) {
  const auto file = load_vectors("descriptive");
  for (const VectorCase& c : file.cases) {
    const std::vector<double> values = values_of(c);
    const Description d = describe(values);
    const auto check = [&](const char* path, std::optional<double> got) {
      if (!c.has(path)) return;
      ASSERT_TRUE(got) << c.id << ": " << path;
      EXPECT_TRUE(c.agrees(path, *got));
    };
    check("out.n", static_cast<double>(d.count));
    check("out.mean", d.mean);
    check("out.sd", d.stddev);
    check("out.cv", d.cv);
    check("out.median", d.median);
    check("out.mad_raw", d.mad);
    check("out.mad_scaled", 1.4826 * *d.mad);
    check("out.iqr7", d.iqr);
    check("out.trim10", d.trimmed_mean);
    check("out.geomean", geometric_mean(values));
    check("out.acf1", autocorrelation(values));
    check("out.ess_ar1", effective_count(values));
    for (const auto& [path, level] :
         {std::pair{"out.mean_ci95", 0.95}, std::pair{"out.mean_ci99", 0.99}}) {
      if (!c.has(path)) continue;
      const Interval i = *mean_interval(values, level);
      EXPECT_TRUE(c.agrees(path, {i.low, i.high}));
    }
    if (c.has("out.shapiro_wilk.W")) {
      const ShapiroWilk test = *shapiro_wilk(values);
      EXPECT_TRUE(c.agrees("out.shapiro_wilk.W", test.w));
      EXPECT_TRUE(c.agrees("out.shapiro_wilk.p", test.p_value));
    }
    const std::string fences = "out.tukey.fences_severe_low_mild_low_mild_high_severe_high";
    if (c.has(fences)) {
      const TukeyFences f = *tukey_fences(values);
      EXPECT_TRUE(c.agrees(fences, {f.severe_low, f.mild_low, f.mild_high, f.severe_high}));
      check("out.tukey.count_low_severe", static_cast<double>(f.severe_below));
      check("out.tukey.count_low_mild", static_cast<double>(f.mild_below));
      check("out.tukey.count_high_mild", static_cast<double>(f.mild_above));
      check("out.tukey.count_high_severe", static_cast<double>(f.severe_above));
    }
    std::erase_if(c.unread, is_quantile);
  }
  file.expect_all_read();
}

TEST(VectorsOfOneSample, MedianOrderInterval) {
  const auto file = load_vectors("median_order_ci");
  for (const VectorCase& c : file.cases) {
    const double confidence = c.number("in.confidence");
    const bool named = c.has("in.values");
    const auto n = named ? c.list("in.values").size() : static_cast<std::size_t>(c.number("in.n"));
    const auto places = median_places(n, confidence);
    if (c.has("out.none")) {
      EXPECT_TRUE(c.flag("out.none"));
      EXPECT_FALSE(places) << c.id;
      if (named) {
        EXPECT_FALSE(median_interval(c.list("in.values"), confidence));
      }
      if (c.has("out.min_n")) {
        EXPECT_TRUE(c.agrees("out.min_n", static_cast<double>(least_for_median(confidence))));
      }
      continue;
    }
    ASSERT_TRUE(places) << c.id;
    EXPECT_TRUE(c.agrees("out.coverage", places->confidence));
    if (named) {
      const Interval i = *median_interval(c.list("in.values"), confidence);
      EXPECT_TRUE(c.agrees("out.lo", i.low));
      EXPECT_TRUE(c.agrees("out.hi", i.high));
      EXPECT_TRUE(c.agrees("out.median", *quantile(c.list("in.values"), 0.5)));
    } else {
      EXPECT_TRUE(c.agrees("out.lo_order_1based", static_cast<double>(places->low)));
      EXPECT_TRUE(c.agrees("out.hi_order_1based", static_cast<double>(places->high)));
    }
  }
  file.expect_all_read();
}

TEST(VectorsOfOneSample, ModifiedZ) {
  const auto file = load_vectors("outliers_modz");
  for (const VectorCase& c : file.cases) {
    const auto& values = c.list("in.values");
    const Description d = describe(values);
    EXPECT_TRUE(c.agrees("out.median", *d.median));
    EXPECT_TRUE(c.agrees("out.mad", *d.mad));
    // The vectors measure in MADs, we in sigmas.
    const auto places = modified_z_outliers(values, 14.826 * 0.6745);
    EXPECT_TRUE(c.agrees("out.count_abs_modz_gt_14.826", static_cast<double>(places.size())));
    if (!c.has("out.modified_z")) continue;
    std::vector<double> z = modified_z(values);
    for (double& score : z) score /= 0.6745;
    EXPECT_TRUE(c.agrees("out.modified_z", z));
  }
  file.expect_all_read();
}

TEST(VectorsOfOneSample, Hampel) {
  const auto file = load_vectors("hampel");
  for (const VectorCase& c : file.cases) {
    const auto& series = c.list("in.series");
    const auto half = static_cast<std::size_t>(c.number("in.half_window"));
    EXPECT_TRUE(c.agrees("out.sigma_from_diffs", sigma_of_differences(series)));
    const auto places = hampel_outliers(series, half, c.number("in.k"));
    EXPECT_TRUE(c.agrees("out.replaced", std::vector<double>(places.begin(), places.end())));
    EXPECT_TRUE(c.agrees("out.filtered", hampel_filter(series, half, c.number("in.k"))));
  }
  file.expect_all_read();
}

TEST(VectorsOfOneSample, Trend) {
  const auto file = load_vectors("trend");
  for (const VectorCase& c : file.cases) {
    const auto& y = c.list("in.series");
    std::vector<double> x(y.size());
    std::iota(x.begin(), x.end(), 0.0);
    const struct Trend t = *trend(x, y);
    EXPECT_TRUE(c.agrees("out.theil_sen_slope", t.slope));
    EXPECT_TRUE(c.agrees("out.theil_sen_intercept_median_residual", t.intercept));
    EXPECT_TRUE(c.agrees("out.theil_sen_ci95", {t.low, t.high}));
    EXPECT_TRUE(c.agrees("out.mann_kendall_p", t.p_value));
    EXPECT_TRUE(c.agrees("out.kendall_tau_b", t.tau));
    const MannKendall test = *mann_kendall(x, y);
    EXPECT_TRUE(c.agrees("out.mann_kendall_S", test.s));
    EXPECT_TRUE(c.agrees("out.mann_kendall_var", test.variance));
    EXPECT_TRUE(c.agrees("out.mann_kendall_z_cc", test.z));
    const Line line = *least_squares(x, y);
    EXPECT_TRUE(c.agrees("out.ols_slope", line.slope));
    EXPECT_TRUE(c.agrees("out.ols_intercept", line.intercept));
    EXPECT_TRUE(c.agrees("out.ols_r2", line.r2.value_or(NAN)));
    EXPECT_TRUE(c.agrees("out.ols_slope_stderr", line.slope_error.value_or(NAN)));
  }
  file.expect_all_read();
}

TEST(VectorsOfOneSample, ClusteredRuns) {
  const auto file = load_vectors("clustered_runs");
  for (const VectorCase& c : file.cases) {
    const auto got = clusters(c.table("in.processes"));
    ASSERT_TRUE(got && got->icc && got->f && got->p_value) << c.id;
    EXPECT_TRUE(c.agrees("out.ms_between", got->ms_between));
    EXPECT_TRUE(c.agrees("out.ms_within", got->ms_within));
    EXPECT_TRUE(c.agrees("out.icc1", *got->icc));
    EXPECT_TRUE(c.agrees("out.icc1_clamped", std::max(0.0, *got->icc)));
    EXPECT_TRUE(c.agrees("out.design_effect", got->design_effect));
    EXPECT_TRUE(c.agrees("out.effective_n", got->effective_count));
    EXPECT_TRUE(c.agrees("out.anova_F", *got->f));
    EXPECT_TRUE(c.agrees("out.anova_p", *got->p_value));
    EXPECT_TRUE(c.agrees("out.process_medians", got->medians));
  }
  file.expect_all_read();
}

double mean_of_values(std::span<const double> v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

Statistic statistic_named(const std::string& name) {
  if (name == "mean") return [](auto samples) { return mean_of_values(samples[0]); };
  if (name == "median") return [](auto samples) { return *quantile(samples[0], 0.5); };
  if (name.starts_with("mean(new)/mean(base)")) {
    return [](auto samples) { return mean_of_values(samples[1]) / mean_of_values(samples[0]); };
  }
  if (name.starts_with("population variance")) {
    return [](auto samples) {
      const double mean = mean_of_values(samples[0]);
      double sum = 0;
      for (const double v : samples[0]) sum += (v - mean) * (v - mean);
      return sum / static_cast<double>(samples[0].size());
    };
  }
  ADD_FAILURE() << "no statistic " << name;
  return [](auto) { return 0.0; };
}

// The statistic of every ordered resample of every sample.
std::vector<double> all_resamples(const std::vector<std::vector<double>>& samples,
                                  const Statistic& statistic) {
  std::vector<std::size_t> digits, bases;
  for (const auto& sample : samples) bases.insert(bases.end(), sample.size(), sample.size());
  digits.assign(bases.size(), 0);
  std::vector<double> replicates;
  std::vector<std::vector<double>> drawn = samples;
  while (true) {
    std::size_t at = 0;
    for (std::size_t s = 0; s < samples.size(); ++s) {
      for (double& value : drawn[s]) value = samples[s][digits[at++]];
    }
    replicates.push_back(statistic(drawn));
    std::size_t carry = 0;
    while (carry < digits.size() && ++digits[carry] == bases[carry]) digits[carry++] = 0;
    if (carry == digits.size()) return replicates;
  }
}

std::vector<std::vector<double>> jackknife_of(const std::vector<std::vector<double>>& samples,
                                              const Statistic& statistic) {
  std::vector<std::vector<double>> jackknife(samples.size());
  for (std::size_t s = 0; s < samples.size(); ++s) {
    for (std::size_t i = 0; i < samples[s].size(); ++i) {
      auto rest = samples;
      rest[s].erase(rest[s].begin() + static_cast<std::ptrdiff_t>(i));
      jackknife[s].push_back(statistic(rest));
    }
  }
  return jackknife;
}

TEST(VectorsOfOneSample, BootstrapBca) {
  const auto file = load_vectors("bootstrap_bca");
  for (const VectorCase& c : file.cases) {
    std::vector<std::vector<double>> samples;
    for (const char* path : {"in.values", "in.base", "in.new"}) {
      if (c.has(path)) samples.push_back(c.list(path));
    }
    const Statistic statistic = statistic_named(c.text("in.statistic"));
    const double confidence = 1 - 2 * c.number("in.alpha_each_side");
    const double estimate = statistic(samples);
    if (c.has("out.ci_published")) {  // drawn at random, from a book and from scipy
      BootstrapOptions options;
      options.resamples = 20'000;
      options.confidence = confidence;
      const Bootstrap got = *bootstrap(samples, statistic, options);
      EXPECT_NEAR(got.estimate / c.number("out.theta_hat"), 1, 1e-9);
      EXPECT_NEAR(got.bca.acceleration / c.number("out.a"), 1, 1e-9);
      EXPECT_NEAR(got.bca.z0, c.number("out.z0_published"), 0.03);
      for (const char* path : {"out.ci_published", "out.ci_scipy_B20000_seed1"}) {
        EXPECT_NEAR(got.bca.interval.low, c.list(path)[0], 6) << path;
        EXPECT_NEAR(got.bca.interval.high, c.list(path)[1], 6) << path;
      }
      continue;
    }
    const std::vector<double> replicates = all_resamples(samples, statistic);
    const auto got = bca(estimate, replicates, jackknife_of(samples, statistic), confidence);
    ASSERT_TRUE(got) << c.id;
    EXPECT_TRUE(c.agrees("out.theta_hat", estimate));
    EXPECT_TRUE(c.agrees("out.B", static_cast<double>(replicates.size())));
    EXPECT_TRUE(c.agrees("out.prop_below_midrank", got->below));
    EXPECT_TRUE(c.agrees("out.z0", got->z0));
    EXPECT_TRUE(c.agrees("out.a", got->acceleration));
    EXPECT_TRUE(c.agrees("out.alpha1", got->alpha_low));
    EXPECT_TRUE(c.agrees("out.alpha2", got->alpha_high));
    EXPECT_TRUE(c.agrees("out.ci", {got->interval.low, got->interval.high}));
    EXPECT_TRUE(c.agrees("out.percentile_ci", {got->percentile.low, got->percentile.high}));
    EXPECT_TRUE(c.agrees("out.boot_se_population", got->standard_error));
  }
  file.expect_all_read();
}

}  // namespace
}  // namespace genscope::stats
