// The vectors about two samples: two_sample, mann_whitney_ties, paired, multiple_comparisons,
// proportions, special_functions.
#include <gtest/gtest.h>

#include <cmath>

#include "analyze/distributions/distributions.h"
#include "analyze/inference/inference.h"
#include "analyze/statistics/normal.h"
#include "analyze/statistics/rank_sum.h"
#include "analyze/statistics/statistics.h"
#include "analyze/testing/vectors.h"

namespace genscope::stats {
namespace {

using testing::load_vectors;
using testing::VectorCase;

TEST(VectorsOfTwoSamples, SpecialFunctions) {
  const auto file = load_vectors("special_functions");
  for (const VectorCase& c : file.cases) {
    const std::vector<double>& a = c.list("in.args");
    const auto whole = [&](std::size_t i) { return static_cast<std::size_t>(a[i]); };
    double got = std::nan("");
    if (c.function == "norm_cdf") got = normal_cdf(a[0]);
    if (c.function == "norm_quantile") got = normal_quantile(a[0]);
    if (c.function == "t_cdf") got = t_cdf(a[0], a[1]);
    if (c.function == "t_quantile") got = t_quantile(a[0], a[1]);
    if (c.function == "beta_inc_reg") got = beta_cdf(a[0], a[1], a[2]);
    if (c.function == "binom_cdf") got = binomial_cdf(a[0], a[1], a[2]);
    if (c.function == "wilcoxon_u_cdf") got = NullU(whole(1), whole(2)).cdf(a[0]);
    if (c.function == "wilcoxon_u_quantile") {
      got = static_cast<double>(NullU(whole(1), whole(2)).quantile(a[0]));
    }
    if (c.function == "signrank_cdf") got = SignedRank(whole(1)).at_most(a[0]);
    if (c.function == "chisq_cdf") got = chi_square_cdf(a[0], a[1]);
    EXPECT_TRUE(c.agrees("out.value", got)) << c.function;
  }
  file.expect_all_read();
}

void check_mann_whitney(const VectorCase& c, const MannWhitney& test) {
  const auto check = [&](const char* path, std::optional<double> got) {
    if (c.has(path)) {
      EXPECT_TRUE(c.agrees(path, got.value_or(NAN)));
    }
  };
  check("out.U_base", test.u_before);
  check("out.U_new", test.u_after);
  check("out.a12_new_gt_base", test.a12);
  check("out.p_exact_two_sided_doubled", test.p_doubled);
  check("out.p_two_sided_doubled", test.p_doubled);
  check("out.p_exact_two_sided_central", test.p_central);
  check("out.p_two_sided_central", test.p_central);
  check("out.p_exact_new_greater", test.p_greater);
  check("out.p_base_less_equal", test.p_greater);
  check("out.p_exact_new_less", test.p_less);
  check("out.p_base_greater_equal", test.p_less);
  check("out.p_normal_tiecorr_cc_two_sided", test.p_normal);
  check("out.p_normal_tiecorr_nocc_two_sided", test.p_normal_uncorrected);
}

// R says what was asked for, unless the interval is far from reaching it: then two digits of that.
double level_as_r(double asked, double reached) {
  if (1 - reached <= 1.5 * (1 - asked)) return asked;
  const double alpha = 1 - reached;
  const double unit = std::pow(10, std::floor(std::log10(alpha)) - 1);
  return 1 - std::round(alpha / unit) * unit;
}

void check_shift(const VectorCase& c, const std::vector<double>& base,
                 const std::vector<double>& fresh) {
  const Shift s = *shift(base, fresh);
  EXPECT_TRUE(c.agrees("out.hl_shift_new_minus_base", s.estimate));
  EXPECT_TRUE(c.agrees("out.cliffs_delta_new_gt_base", s.effect));
  EXPECT_NEAR(s.p_value, c.number("out.p_exact_two_sided_doubled"), 1e-12);
  for (const auto& [level, name] :
       {std::pair{0.9, "out.hl_ci_0.9"}, std::pair{0.95, "out.hl_ci_0.95"},
        std::pair{0.99, "out.hl_ci_0.99"}}) {
    const std::string path = name;
    if (!c.has(path + ".lo")) continue;
    const Shift at = *shift(base, fresh, level);
    const IntervalRank rank = interval_rank(base.size(), fresh.size(), level);
    EXPECT_TRUE(c.agrees(path + ".lo", at.low));
    EXPECT_TRUE(c.agrees(path + ".hi", at.high));
    EXPECT_TRUE(c.agrees(path + ".k_order_stat", static_cast<double>(rank.k)));
    EXPECT_TRUE(c.agrees(path + ".achieved_level", level_as_r(level, at.confidence)));
  }
  if (!c.has("out.log_ratio_hl.ratio")) return;
  std::vector<double> log_base = base, log_fresh = fresh;
  for (double& v : log_base) v = std::log(v);
  for (double& v : log_fresh) v = std::log(v);
  const Shift ratio = *shift(log_base, log_fresh);
  EXPECT_TRUE(c.agrees("out.log_ratio_hl.ratio", std::exp(ratio.estimate)));
  EXPECT_TRUE(c.agrees("out.log_ratio_hl.ci95", {std::exp(ratio.low), std::exp(ratio.high)}));
  EXPECT_TRUE(c.agrees("out.log_ratio_hl.k_order_stat",
                       static_cast<double>(interval_rank(base.size(), fresh.size(), 0.95).k)));
}

TEST(VectorsOfTwoSamples, TwoSample) {
  const auto file = load_vectors("two_sample");
  for (const VectorCase& c : file.cases) {
    const auto& base = c.list("in.base");
    const auto& fresh = c.list("in.new");
    check_mann_whitney(c, *mann_whitney(base, fresh));
    check_shift(c, base, fresh);
    const EffectSize effect = *effect_size(base, fresh);
    EXPECT_TRUE(c.agrees("out.cohens_d_pooled", effect.cohens_d));
    EXPECT_TRUE(c.agrees("out.hedges_g", effect.hedges_g));
    const TTest welch = *welch_test(base, fresh);
    EXPECT_TRUE(c.agrees("out.welch.t_base_minus_new", welch.t));
    EXPECT_TRUE(c.agrees("out.welch.df", welch.df));
    EXPECT_TRUE(c.agrees("out.welch.p", welch.p_value));
    EXPECT_TRUE(
        c.agrees("out.welch.ci95_base_minus_new", {welch.interval.low, welch.interval.high}));
    const TTest pooled = *student_test(base, fresh);
    EXPECT_TRUE(c.agrees("out.student_pooled.t_base_minus_new", pooled.t));
    EXPECT_TRUE(c.agrees("out.student_pooled.df", pooled.df));
    EXPECT_TRUE(c.agrees("out.student_pooled.p", pooled.p_value));
    const DistributionTest ks = *kolmogorov_smirnov(base, fresh);
    EXPECT_TRUE(c.agrees("out.ks.D", ks.statistic));
    if (c.has("out.ks.p_exact")) {
      EXPECT_TRUE(c.agrees("out.ks.p_exact", ks.p_value));
    }
    if (!c.has("out.cramer_von_mises.T")) continue;
    const DistributionTest cvm = *cramer_von_mises(base, fresh);
    EXPECT_TRUE(c.agrees("out.cramer_von_mises.T", cvm.statistic));
    EXPECT_TRUE(c.agrees("out.cramer_von_mises.p", cvm.p_value));
    EXPECT_EQ(c.text("out.cramer_von_mises.method"), cvm.exact ? "exact" : "asymptotic");
  }
  file.expect_all_read();
}

TEST(VectorsOfTwoSamples, MannWhitneyTies) {
  const auto file = load_vectors("mann_whitney_ties");
  for (const VectorCase& c : file.cases) {
    const auto& base = c.list("in.base");
    const auto& fresh = c.list("in.new");
    check_mann_whitney(c, *mann_whitney(base, fresh));
    EXPECT_TRUE(c.agrees("out.p_two_sided_doubled", shift(base, fresh)->p_value));
  }
  file.expect_all_read();
}

TEST(VectorsOfTwoSamples, Paired) {
  const auto file = load_vectors("paired");
  for (const VectorCase& c : file.cases) {
    const auto& base = c.list("in.base");
    const auto& fresh = c.list("in.new");
    const PairedTests tests = *paired_tests(base, fresh);
    ASSERT_TRUE(tests.student && tests.signed_rank) << c.id;
    EXPECT_TRUE(c.agrees("out.student_paired.t_base_minus_new", tests.student->t));
    EXPECT_TRUE(c.agrees("out.student_paired.df", tests.student->df));
    EXPECT_TRUE(c.agrees("out.student_paired.p", tests.student->p_value));
    EXPECT_TRUE(c.agrees("out.student_paired.mean_base_minus_new", tests.student->difference));
    EXPECT_TRUE(c.agrees("out.student_paired.ci95",
                         {tests.student->interval.low, tests.student->interval.high}));
    EXPECT_TRUE(
        c.agrees("out.sign_test.n_pos_base_minus_new", static_cast<double>(tests.sign.positive)));
    EXPECT_TRUE(c.agrees("out.sign_test.n_neg", static_cast<double>(tests.sign.negative)));
    EXPECT_TRUE(c.agrees("out.sign_test.p_two_sided", tests.sign.p_value));
    const SignedRankTest& ranks = *tests.signed_rank;
    EXPECT_TRUE(c.agrees("out.V_base_minus_new", ranks.v));
    EXPECT_TRUE(c.agrees("out.signed_rank_normal_cc_p", ranks.p_normal));
    if (c.has("out.signed_rank_exact.p_two_sided")) {
      EXPECT_TRUE(ranks.exact);
      EXPECT_TRUE(c.agrees("out.signed_rank_exact.p_two_sided", ranks.p_two_sided));
      EXPECT_TRUE(c.agrees("out.signed_rank_exact.p_base_greater", ranks.p_greater));
      EXPECT_TRUE(c.agrees("out.signed_rank_exact.p_base_less", ranks.p_less));
      EXPECT_TRUE(
          c.agrees("out.signed_rank_exact.pseudomedian_base_minus_new", ranks.pseudomedian));
      EXPECT_TRUE(
          c.agrees("out.signed_rank_exact.ci95", {ranks.interval.low, ranks.interval.high}));
    }
    if (!c.has("out.paired_log_ratio.median_ratio_new_over_base")) continue;
    const PairedRatio ratio = *paired_ratio(base, fresh);
    ASSERT_TRUE(ratio.interval && tests.spearman) << c.id;
    EXPECT_TRUE(c.agrees("out.paired_log_ratio.median_ratio_new_over_base", ratio.ratio));
    EXPECT_TRUE(
        c.agrees("out.paired_log_ratio.sign_ci95", {ratio.interval->low, ratio.interval->high}));
    const MedianPlaces places = *median_places(base.size(), 0.95);
    EXPECT_TRUE(c.agrees("out.paired_log_ratio.order_stats_1based",
                         {static_cast<double>(places.low), static_cast<double>(places.high)}));
    EXPECT_TRUE(c.agrees("out.paired_log_ratio.spearman_rho_pairs", *tests.spearman));
  }
  file.expect_all_read();
}

TEST(VectorsOfTwoSamples, MultipleComparisons) {
  const auto file = load_vectors("multiple_comparisons");
  for (const VectorCase& c : file.cases) {
    const auto& p = c.list("in.p");
    EXPECT_TRUE(c.agrees("out.bonferroni", adjust(p, Correction::bonferroni)));
    EXPECT_TRUE(c.agrees("out.holm", adjust(p, Correction::holm)));
    EXPECT_TRUE(c.agrees("out.hochberg", adjust(p, Correction::hochberg)));
    EXPECT_TRUE(c.agrees("out.bh", adjust(p, Correction::benjamini_hochberg)));
    EXPECT_TRUE(c.agrees("out.by", adjust(p, Correction::benjamini_yekutieli)));
  }
  file.expect_all_read();
}

TEST(VectorsOfTwoSamples, Proportions) {
  const auto file = load_vectors("proportions");
  for (const VectorCase& c : file.cases) {
    const auto count = [&](const char* path) { return static_cast<std::uint64_t>(c.number(path)); };
    if (c.function == "proportion_ci") {
      const ProportionInterval p =
          *proportion(count("in.successes"), count("in.trials"), c.number("in.confidence"));
      EXPECT_TRUE(c.agrees("out.point", p.point));
      EXPECT_TRUE(c.agrees("out.wilson", {p.wilson.low, p.wilson.high}));
      EXPECT_TRUE(c.agrees("out.clopper_pearson", {p.clopper_pearson.low, p.clopper_pearson.high}));
    } else {
      ASSERT_EQ(c.function, "fisher_exact");
      const FisherTest test = *fisher_exact(count("in.base_ok"), count("in.base_fail"),
                                            count("in.new_ok"), count("in.new_fail"));
      EXPECT_TRUE(c.agrees("out.p_two_sided", test.p_two_sided));
      EXPECT_TRUE(c.agrees("out.p_new_worse", test.p_worse));
      EXPECT_TRUE(c.agrees("out.p_new_better", test.p_better));
    }
  }
  file.expect_all_read();
}

}  // namespace
}  // namespace genscope::stats
