// Every pair of rules: what has the names of both is never surely one of them, unless a stated fact
// excludes the other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "inspect/identify/match.h"
#include "inspect/identify/test_file.h"

namespace genscope::inspect {
namespace {

void add_names(Names names, std::set<std::string>& out) {
  for (const std::string_view name : names) {
    out.insert(name.ends_with('.') ? std::string(name) + "0.weight" : std::string(name));
  }
}

// What a rule asks for, besides names.
void add_tested(const Rule& rule, std::set<std::string>& out) {
  for (const Test& test : rule.tests) {
    if (test.kind == Test::Kind::has) add_names({test.name}, out);
  }
}

TestFile file_of(const std::set<std::string>& names) {
  TestFile file;
  for (const std::string& name : names) file.add(name, {64, 64});
  return file;
}

// Nothing, or what is wrong.
std::string unfounded(const Rule& a, const Rule& b, const TestFile& file) {
  const TensorIndex index(file.file());
  std::vector<std::uint32_t> all(file.file().tensors.size());
  for (std::uint32_t id = 0; id < all.size(); ++id) all[id] = id;
  const Matching matching = match(TensorView(index, all, ""));
  if (!matching.found || matching.found->identity.confidence != Confidence::high) return {};
  const Rule* const said = matching.found->rule;
  for (const Rule* rule : {&a, &b}) {
    if (rule->generic || rule->architecture == said->architecture) continue;
    const std::string begin = "not " + std::string(rule->title) + ": ";
    const bool stated =
        std::any_of(matching.excluded.begin(), matching.excluded.end(),
                    [&](const std::string& fact) { return fact.starts_with(begin); });
    if (!stated) {
      return std::string(said->title) + " is sure, and nothing is said of " +
             std::string(rule->title);
    }
  }
  return {};
}

TEST(Rivals, ANameIsSureOnlyIfAFactExcludesTheOthers) {
  const std::vector<const Rule*> rules = all_rules();
  ASSERT_GT(rules.size(), 100U);
  std::size_t pairs = 0;
  for (const Rule* a : rules) {
    for (const Rule* b : rules) {
      if (a >= b || a->architecture == b->architecture) continue;
      // The first naming of each: further ones share its exclusions.
      std::set<std::string> names;
      add_names(a->namings.begin()->has, names);
      add_names(b->namings.begin()->has, names);
      add_tested(*a, names);
      add_tested(*b, names);
      EXPECT_EQ(unfounded(*a, *b, file_of(names)), "");
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 5'000U);
}

// Names alone do not settle what the tests of two rules leave open.
TEST(Rivals, ARelativeIsUnknownAndTheFactIsStated) {
  TestFile file;
  file.add("adaln_single.linear.weight", {432, 72}).add("pos_embed.proj.weight", {72, 4, 2, 2});
  file.add("transformer_blocks.0.scale_shift_table", {6, 72}).add("proj_out.weight", {32, 72});
  EXPECT_EQ(file.only().identity.architecture, "pixart");
  file.add("spectral_blocks.0.weight", {72, 72});
  const Identity identity = file.only().identity;
  EXPECT_EQ(identity.architecture, "");
  EXPECT_EQ(identity.confidence, Confidence::none);
  EXPECT_THAT(identity.evidence, ::testing::Contains("not PixArt: it has no 'spectral_blocks'"));
}

}  // namespace
}  // namespace genscope::inspect
