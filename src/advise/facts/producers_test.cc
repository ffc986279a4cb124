// Every fact of every rule has somebody in the product who gives it its value, or is one that the
// page of rules lists as the program's own.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "advise/expression.h"
#include "advise/fact_names.h"
#include "advise/facts/fields.h"
#include "analyze/testing/trace_builder.h"
#include "test_paths.h"
#include "testing/units.h"

namespace genscope::advice {
namespace {

std::set<std::string> fields() {
  std::set<std::string> names = {"advice.fired"};  // of the rules themselves
  for (const FactField& field : fact_fields()) names.emplace(field.fact);
  // Families: "stage_groups.count[x]" of a run that has all of them is "stage_groups.count[]".
  testing::TraceBuilder t;
  for (int i = 0; i < 3; ++i) t.span("x", SpanKind::stage, i * testing::kMs, testing::kMs);
  t.counter("x", 0, 1);
  const Run run = testing::make_run(t.trace());
  const Facts facts = facts_of(analyze(run));
  for (const auto& [name, value] : facts.all()) {
    if (name.ends_with("[x]")) names.insert(name.substr(0, name.size() - 2) + "]");
  }
  return names;
}

// What hooks, readers of logs and monitors are made of.
std::string source_text() {
  std::string all;
  for (const char* const folder :
       {"python/genscope", "src/cli/watch", "src/watch", "src/monitor"}) {
    const std::filesystem::path root = std::filesystem::path(GENSCOPE_SOURCE_DIR) / folder;
    if (!std::filesystem::exists(root)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      const std::string name = entry.path().filename().string();
      const bool code = name.ends_with(".py") || name.ends_with(".cc");
      if (!code || name.ends_with("_test.cc")) continue;
      std::ifstream file(entry.path());
      all.append(std::istreambuf_iterator<char>(file), {});
    }
  }
  return all;
}

// "set.offload" may be written so, as set_offload (an argument of Python), or as "offload", which
// means the same; a family with its key; set.vae_tiling by a loop over what begins with set.vae_.
bool is_told_in(const std::string& text, std::string_view fact) {
  std::string stem(fact.substr(0, fact.find('[')));
  if (text.find(stem) != std::string::npos) return true;
  if (fact.starts_with("set.vae_")) return text.find("f\"set.vae_{") != std::string::npos;
  if (!fact.starts_with("set.")) return false;
  stem[3] = '_';
  return text.find(stem) != std::string::npos ||
         text.find("\"" + stem.substr(4) + "\"") != std::string::npos;
}

TEST(Producers, AFactIsAFieldIfAndOnlyIfTheTableSaysSo) {
  const std::set<std::string> known = fields();
  for (const FactName& row : all_facts()) {
    EXPECT_EQ(row.source == FactSource::field, known.contains(std::string(row.name))) << row.name;
  }
  for (const std::string& name : known) {
    const bool listed = std::any_of(all_facts().begin(), all_facts().end(),
                                    [&](const FactName& row) { return row.name == name; });
    EXPECT_TRUE(listed) << name;
  }
}

TEST(Producers, WhatHooksSayIsInTheirCode) {
  const std::string text = source_text();
  for (const FactName& row : all_facts()) {
    if (row.source == FactSource::hooks) {
      EXPECT_TRUE(is_told_in(text, row.name)) << row.name << ": nothing says it; give it to the "
                                              << "program (kProgram), or write the hook";
    }
  }
}

TEST(Producers, EveryFactOfEveryRuleHasOneOrIsListedAsTheProgramsOwn) {
  std::ifstream file(GENSCOPE_SOURCE_DIR "/docs/rules.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const Rule& rule : built_in_rules()) {
    const Result<Expression> condition = Expression::parse(rule.condition);
    ASSERT_TRUE(condition.ok()) << rule.id;
    for (const std::string& fact : condition->facts()) {
      const FactName* const row = find_fact(fact);
      ASSERT_NE(row, nullptr) << fact;
      if (row->source != FactSource::program) continue;
      const std::size_t begin = page.find("\n| " + rule.id + " | ");
      ASSERT_NE(begin, std::string::npos) << rule.id << " needs " << fact;
      const std::string line = page.substr(begin + 1, page.find('\n', begin + 1) - begin);
      EXPECT_NE(line.find("`" + fact + "`"), std::string::npos) << line;
    }
  }
}

}  // namespace
}  // namespace genscope::advice
