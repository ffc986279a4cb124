#include "advise/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "advise/testing/facts.h"

namespace genscope::advice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

std::string parse_error(const std::string& condition) {
  const Result<Expression> parsed = Expression::parse(condition);
  return parsed.ok() ? "parsed" : parsed.error().message;
}

Outcome outcome(const std::string& condition, const Facts& facts = {}) {
  const Result<Expression> parsed = Expression::parse(condition);
  EXPECT_TRUE(parsed.ok()) << condition << ": " << parsed.error().message;
  return parsed.ok() ? parsed->evaluate(facts) : Outcome{};
}

Truth truth(const std::string& condition, const Facts& facts = {}) {
  return outcome(condition, facts).truth;
}

TEST(Expression, Computes) {
  for (const char* yes : {
           "1 + 2 * 3 == 7",
           "(1 + 2) * 3 == 9",
           "7 - 2 - 1 == 4",
           "8 / 2 / 2 == 2",
           "-3 < -2",
           "--3 == 3",
           "1e3 == 1000",
           "min(3, 1, 2) == 1",
           "max(3, 1, 2) == 3",
           "abs(2 - 5) == 3",
           "\"a\" == 'a'",
           "\"a\" != \"b\"",
           "contains(\"fp8_e4m3\", \"fp8\")",
           "one_of(2, 1, 2)",
           "!one_of(\"x\", \"a\", \"b\")",
           "true && !false",
           "false || true && true",
           "true == true",
           "1 <= 1 && 1 >= 1",
           "version(\"2.10\") > version(\"2.9.1\")",
           "version(\"2.9.1+cu128\") == version(\"2.9.1\")",
       }) {
    EXPECT_EQ(truth(yes), Truth::yes) << yes;
  }
  for (const char* no : {"1 > 2", "!true", "1 == 2", "2 >= 3", "contains(\"a\", \"b\")"}) {
    EXPECT_EQ(truth(no), Truth::no) << no;
  }
}

TEST(Expression, ReadsFactsOfAllTypesAndKeys) {
  const Facts facts = testing::facts(
      "steps.steady_p50_ns=88 set.autocast=true set.attn=sdpa "
      "stage_groups.exclusive_share[my.own-stage]=0.5");
  EXPECT_EQ(truth("steps.steady_p50_ns / 2 == 44", facts), Truth::yes);
  EXPECT_EQ(truth("set.autocast && set.attn == \"sdpa\"", facts), Truth::yes);
  EXPECT_EQ(truth("stage_groups.exclusive_share[my.own-stage] > 0.4", facts), Truth::yes);
  EXPECT_EQ(truth("stage_groups.exclusive_share[other] > 0.4", facts), Truth::unknown);
}

// U: nothing is known of host.* here.
TEST(Expression, KnowsThreeTruths) {
  const std::string u = "host.rss_growth_ratio > 1";
  const auto is = [&](std::string condition) {
    for (std::size_t at; (at = condition.find('U')) != std::string::npos;)
      condition.replace(at, 1, u);
    return truth(condition);
  };
  constexpr Truth kYes = Truth::yes, kNo = Truth::no, kUnknown = Truth::unknown;
  EXPECT_EQ(is("U"), kUnknown);
  EXPECT_EQ(is("!(U)"), kUnknown);
  EXPECT_EQ(is("false && U"), kNo);
  EXPECT_EQ(is("U && false"), kNo);
  EXPECT_EQ(is("true && U"), kUnknown);
  EXPECT_EQ(is("U && true"), kUnknown);
  EXPECT_EQ(is("U && U"), kUnknown);
  EXPECT_EQ(is("true || U"), kYes);
  EXPECT_EQ(is("U || true"), kYes);
  EXPECT_EQ(is("false || U"), kUnknown);
  EXPECT_EQ(is("U || false"), kUnknown);
  EXPECT_EQ(is("U || U"), kUnknown);
  EXPECT_EQ(is("(U && false) || true"), kYes);
  EXPECT_EQ(is("has(host.rss_growth_ratio)"), kNo);
  EXPECT_EQ(is("!has(host.rss_growth_ratio) || U"), kYes);
  EXPECT_EQ(is("has(host.rss_growth_ratio) && U"), kNo);
  EXPECT_EQ(is("host.rss_growth_ratio == host.rss_growth_ratio"), kUnknown);
  EXPECT_EQ(is("max(host.rss_growth_ratio, 1) > 0"), kUnknown);
}

TEST(Expression, NamesTheFactsThatMattered) {
  Facts facts = testing::facts("steps.steady_p50_ns=1 steps.steady_cv=0.5");
  facts.set_missing("gpu.busy_ratio", "no GPU was found");
  EXPECT_THAT(outcome("gpu.busy_ratio < 0.5 && steps.steady_p50_ns > 0", facts).missing,
              ElementsAre(Pair("gpu.busy_ratio", "no GPU was found")));
  EXPECT_THAT(
      outcome("(steps.first_ratio > 2 && steps.steady_p50_ns > 5) || gpu.busy_ratio < 0.5", facts)
          .missing,
      ElementsAre(Pair("gpu.busy_ratio", "no GPU was found")));
  EXPECT_THAT(
      outcome("steps.first_ratio > 2 && steps.first_ratio < utilisation.mfu", facts).missing,
      ElementsAre(Pair("steps.first_ratio", "not known"), Pair("utilisation.mfu", "not known")));
  EXPECT_TRUE(outcome("steps.first_ratio > 2 && steps.steady_p50_ns > 5", facts).missing.empty());
}

TEST(Expression, AResultThatIsNoneIsUnknown) {
  Facts facts = testing::facts("steps.steady_p50_ns=0 steps.steady_cv=1 env.torch=git");
  facts.set("utilisation.mfu", std::numeric_limits<double>::quiet_NaN());
  facts.set("gpu.busy_ratio", std::string("busy"));
  EXPECT_THAT(outcome("steps.steady_cv / steps.steady_p50_ns > 1", facts).missing,
              ElementsAre(Pair("steps.steady_cv", HasSubstr("no result")),
                          Pair("steps.steady_p50_ns", HasSubstr("no result"))));
  EXPECT_EQ(truth("1e308 * 10 > steps.steady_cv", facts), Truth::unknown);
  EXPECT_EQ(truth("1 / 0 > 1"), Truth::unknown);
  EXPECT_EQ(truth("version(env.torch) > version(\"2\")", facts), Truth::unknown);
  EXPECT_THAT(outcome("utilisation.mfu < 1", facts).missing,
              ElementsAre(Pair("utilisation.mfu", "is not a finite number")));
  EXPECT_THAT(outcome("gpu.busy_ratio < 1", facts).missing,
              ElementsAre(Pair("gpu.busy_ratio", "is not a number")));
}

TEST(Expression, ListsItsFactsOnceInOrder) {
  const Result<Expression> parsed = Expression::parse(
      "steps.steady_p50_ns > 1 && utilisation.mfu < steps.steady_p50_ns && has(set.attn)");
  ASSERT_TRUE(parsed.ok());
  EXPECT_THAT(parsed->facts(), ElementsAre("steps.steady_p50_ns", "utilisation.mfu", "set.attn"));
}

TEST(Expression, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(parse_error("steps.steady_p5_ns > 1"),
            "at 1: no fact is called 'steps.steady_p5_ns'; did you mean 'steps.steady_p50_ns'?");
  EXPECT_EQ(parse_error("1 < 2 && stage_groups.exclusive_shar[save] > 1"),
            "at 10: no fact is called 'stage_groups.exclusive_shar[save]'; did you mean "
            "'stage_groups.exclusive_share[save]'?");
  EXPECT_EQ(parse_error("stage_groups.exclusive_share > 1"),
            "at 1: no fact is called 'stage_groups.exclusive_share'; did you mean "
            "'stage_groups.exclusive_share[KEY]'?");
  EXPECT_EQ(parse_error("zzzzzzzzzz > 1"),
            "at 1: no fact is called 'zzzzzzzzzz'; docs/rules.md lists them");
  EXPECT_EQ(parse_error("steps.steady_p50_ns"),
            "at 1: a condition is true or false, this is a number; compare it with something");
  EXPECT_EQ(parse_error("steps.steady_p50_ns = 1"), "at 21: a single =; equality is ==");
  EXPECT_EQ(parse_error("1 < steps.steady_p50_ns < 2"),
            "at 25: comparisons do not chain; write a < b && b < c");
  EXPECT_EQ(parse_error("true and false"), "at 6: `and`, `or`, `not` are written &&, ||, !");
  EXPECT_EQ(parse_error("set.attn > 1"), "at 10: > takes a number, this is a text");
  EXPECT_EQ(parse_error("set.attn == 1"), "at 10: == takes a text, this is a number");
  EXPECT_EQ(parse_error("set.autocast + 1 > 0"), "at 14: + takes a number, this is a flag");
  EXPECT_EQ(parse_error("!steps.steady_p50_ns"), "at 1: ! takes a flag, this is a number");
  EXPECT_EQ(parse_error("(1 < 2"), "at 1: this ( is never closed");
  EXPECT_EQ(parse_error("1 < 2)"), "at 6: ')' is not expected here");
  EXPECT_EQ(parse_error("1 <"), "at 4: the condition ends too early");
  EXPECT_EQ(parse_error(""), "at 1: an empty condition");
  EXPECT_EQ(parse_error("set.attn == \"x"), "at 13: a text whose closing quote is missing");
  EXPECT_EQ(parse_error("utilisation.mfu < 30%"),
            "at 21: a number has no unit; write 30 % as 0.3 and 1 GB as 1e9");
  EXPECT_EQ(parse_error("1e999 > 1"), "at 1: a number that is too large; facts are below 1e308");
  EXPECT_THAT(parse_error("stage_groups.exclusive_share[x > 1"),
              StartsWith("at 29: this [ is never closed"));
  EXPECT_THAT(parse_error("stage_groups.exclusive_share[] > 1"), HasSubstr("no fact is called"));
  EXPECT_EQ(parse_error("max(1) > 0"),
            "at 1: max has another number of arguments; write max(a, b)");
  EXPECT_EQ(parse_error("has(1)"),
            "at 1: has() takes the name of a fact; write has(steps.steady_p50_ns)");
  EXPECT_THAT(parse_error("system(\"rm\")"),
              StartsWith("at 1: no function is called 'system'; there are"));
  EXPECT_EQ(parse_error("one_of(set.attn, 1)"), "at 1: one_of takes a text, this is a number");
  EXPECT_EQ(parse_error("1 < 2 ; true"), "at 7: ';' has no meaning here");
  EXPECT_EQ(parse_error(std::string("\x1b") + "[31m"), "at 1: '\\x1b' has no meaning here");
}

TEST(Expression, IsBounded) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "true" + std::string(depth, ')');
  };
  EXPECT_EQ(parse_error(nested(kMaxDepth - 1)), "parsed");
  EXPECT_THAT(parse_error(nested(kMaxDepth)), HasSubstr("nested deeper than 32 levels"));
  EXPECT_THAT(parse_error(std::string(1900, '!') + "true"), HasSubstr("nested deeper"));
  EXPECT_THAT(parse_error(std::string(1990, '-') + "1 > 0"), HasSubstr("nested deeper"));
  EXPECT_THAT(parse_error(std::string(5000, ' ') + "true"), HasSubstr("at most 2000 bytes"));
  std::string sum = "1";
  while (sum.size() < 1900) sum += "+1";
  EXPECT_EQ(truth(sum + " > 1"), Truth::yes);
  std::string many = "true";
  for (int i = 0; i < 65; ++i) many += " && tag[" + std::to_string(i) + "] == ''";
  EXPECT_THAT(parse_error(many), HasSubstr("more than 64 facts"));
  std::string arguments = "max(1";
  for (int i = 0; i < 40; ++i) arguments += ",1";
  EXPECT_NE(parse_error(arguments + ") > 0"), "parsed");
}

}  // namespace
}  // namespace genscope::advice
