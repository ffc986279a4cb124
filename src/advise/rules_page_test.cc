#include "advise/rules_page.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <genscope/advise.h>

#include "test_paths.h"

namespace genscope::advice {
namespace {

constexpr const char* kPage = GENSCOPE_SOURCE_DIR "/docs/rules.md";

std::string read_page() {
  std::ifstream file(kPage);
  return {std::istreambuf_iterator<char>(file), {}};
}

// tools/approve_rules sets the variable and writes the page.
TEST(RulesPage, IsUpToDate) {
  const std::string page = read_page();
  const std::string made = with_generated(page);
  ASSERT_FALSE(made.empty()) << "docs/rules.md lacks a mark";
  if (std::getenv("GENSCOPE_APPROVE") != nullptr) {
    std::ofstream(kPage) << made;
    return;
  }
  EXPECT_TRUE(page == made) << "docs/rules.md is not what the rules are; run tools/approve_rules";
}

TEST(RulesPage, HasEveryRule) {
  const std::string page = read_page();
  for (const Rule& rule : built_in_rules()) {
    EXPECT_NE(page.find("\n#### " + rule.id + "\n"), std::string::npos) << rule.id;
    EXPECT_NE(page.find("`" + rule.condition + "`"), std::string::npos) << rule.id;
  }
}

TEST(RulesPage, NeedsItsMarks) {
  EXPECT_EQ(with_generated("no marks"), "");
  EXPECT_EQ(with_generated("<!-- generated: rules --> <!-- generated: facts -->"), "");
}

}  // namespace
}  // namespace genscope::advice
