// The vectors about verdicts: verdicts, scores.
#include <gtest/gtest.h>

#include <cmath>

#include "analyze/statistics/rank_sum.h"
#include "analyze/testing/vectors.h"
#include "analyze/verdict/verdict.h"

namespace genscope {
namespace {

using testing::load_vectors;
using testing::VectorCase;

TEST(VectorsOfVerdicts, Verdicts) {
  const auto file = load_vectors("verdicts");
  for (const VectorCase& c : file.cases) {
    const auto& base = c.list("in.base");
    const auto& fresh = c.list("in.new");
    JudgeOptions options;
    options.min_effect = c.number("in.delta");
    options.confidence = c.number("in.confidence");
    options.direction = c.text("in.direction") == "higher_is_better" ? Direction::higher_is_better
                                                                     : Direction::lower_is_better;
    const Judgement j = judge(base, fresh, options);
    EXPECT_EQ(c.text("out.verdict"), name(j.verdict)) << c.id;
    EXPECT_TRUE(c.agrees("out.ratio", j.ratio.value_or(NAN)));
    if (!c.has("out.ratio_ci")) {
      EXPECT_FALSE(j.interval) << c.id;
      continue;
    }
    ASSERT_TRUE(j.interval) << c.id;
    EXPECT_TRUE(c.agrees("out.ratio_ci", {j.interval->low, j.interval->high}));
    EXPECT_TRUE(c.agrees("out.achieved_level", j.interval->confidence));
    const auto rank = stats::interval_rank(base.size(), fresh.size(), options.confidence);
    EXPECT_TRUE(c.agrees("out.k_order_stat", static_cast<double>(rank.k)));
  }
  file.expect_all_read();
}

TEST(VectorsOfVerdicts, Scores) {
  const auto file = load_vectors("scores");
  for (const VectorCase& c : file.cases) {
    if (c.function == "target_score") {
      const auto score = target_score(c.number("in.target_s"), c.number("in.measured_s"));
      ASSERT_TRUE(score) << c.id;
      EXPECT_TRUE(c.agrees("out.score", score->score));
      EXPECT_EQ(c.flag("out.met"), score->met) << c.id;
    } else if (c.function == "before_after") {
      const auto score = before_after_score(c.number("in.before_s"), c.number("in.after_s"));
      ASSERT_TRUE(score) << c.id;
      EXPECT_TRUE(c.agrees("out.improvement_factor", score->factor));
      EXPECT_TRUE(c.agrees("out.improvement_percent", score->percent));
    } else {
      ASSERT_EQ(c.function, "composite_score");
      std::vector<ScorePart> parts;
      for (const auto& row : c.table("in.parts")) parts.push_back({row.at(0), row.at(1)});
      EXPECT_TRUE(c.agrees("out.score", composite_score(parts).value_or(NAN)));
    }
  }
  file.expect_all_read();
}

}  // namespace
}  // namespace genscope
