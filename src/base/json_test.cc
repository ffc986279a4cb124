#include "base/json.h"

#include <gtest/gtest.h>

namespace genscope::base {
namespace {

TEST(JsonObject, GivesWhatIsThereAndFallbacksForTheRest) {
  const JsonObject o(R"({"a": "x", "n": -3, "u": 18446744073709551615, "f": 1e300, "b": true,
                         "list": ["p", 1, "q"]})");
  ASSERT_TRUE(o.valid());
  EXPECT_EQ(o.text("a"), "x");
  EXPECT_EQ(o.integer("n"), -3);
  EXPECT_EQ(o.natural("u"), ~std::uint64_t{0});
  EXPECT_EQ(o.number("f"), 1e300);
  EXPECT_TRUE(o.flag("b"));
  EXPECT_EQ(o.texts("list"), (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(o.text("n"), "");
  EXPECT_EQ(o.integer("f", 7), 7);  // no conversion of a float that does not fit
  EXPECT_EQ(o.natural("n", 9), 9u);
  EXPECT_FALSE(o.has("missing"));
}

TEST(JsonObject, IsEmptyForAnythingElse) {
  for (const char* text : {"", "[1]", "{", "nonsense", "{\"a\":1} x", "\xff"}) {
    const JsonObject o(text);
    EXPECT_FALSE(o.valid()) << text;
    EXPECT_EQ(o.integer("a", 5), 5) << text;
  }
}

TEST(WithIntegers, SetsAndReplacesAndKeepsTheRest) {
  const auto text = with_integers(R"({"list": [{"x": null}], "n": 1, "u": 18446744073709551615})",
                                  {{"n", -2}, {"new", 3}});
  EXPECT_EQ(text, R"({"list":[{"x":null}],"n":-2,"new":3,"u":18446744073709551615})");
}

TEST(WithIntegers, RefusesWhatIsNoObjectAndWhatIsTooDeep) {
  for (const char* text : {"", "[1]", "{", "3", "\xff", "{\"a\":1} x"}) {
    EXPECT_FALSE(with_integers(text, {{"n", 1}})) << text;
  }
  constexpr std::size_t kDeep = 1'000'000;
  EXPECT_FALSE(
      with_integers("{\"a\":" + std::string(kDeep, '[') + std::string(kDeep, ']') + "}", {}));
}

}  // namespace
}  // namespace genscope::base
