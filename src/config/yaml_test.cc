#include "config/yaml.h"

#include <gtest/gtest.h>

namespace genscope::config {
namespace {

std::string message(std::string_view text) {
  const Result<YamlValue> parsed = parse_yaml(text, "f.yaml");
  return parsed.ok() ? "parsed" : parsed.error().message;
}

TEST(Yaml, KeepsOrderLinesAndQuotes) {
  const Result<YamlValue> root = parse_yaml("a: 1\nb:\n  - x\n  - \"y\"\n\nc: {d: ~}\n", "f");
  ASSERT_TRUE(root.ok()) << root.error().message;
  ASSERT_EQ(root->entries.size(), 3u);
  EXPECT_EQ(root->entries[0].name, "a");
  EXPECT_EQ(root->entries[0].value.text, "1");
  EXPECT_EQ(root->entries[1].line, 2);
  ASSERT_EQ(root->entries[1].value.items.size(), 2u);
  EXPECT_FALSE(root->entries[1].value.items[0].quoted);
  EXPECT_TRUE(root->entries[1].value.items[1].quoted);
  EXPECT_EQ(root->entries[1].value.items[1].line, 4);
  EXPECT_EQ(root->entries[2].line, 6);
  EXPECT_EQ(root->entries[2].value.entries[0].value.kind, YamlValue::Kind::null);
}

TEST(Yaml, AnEmptyValueStandsWhereItsNameDoes) {
  const Result<YamlValue> root = parse_yaml("a:\n\n\nb: 1\n", "f");
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(root->entries[0].value.line, 1);
}

TEST(Yaml, ReadsNothingAsNull) {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n"}) {
    const Result<YamlValue> root = parse_yaml(text, "f");
    ASSERT_TRUE(root.ok()) << text;
    EXPECT_EQ(root->kind, YamlValue::Kind::null) << text;
  }
}

TEST(Yaml, KeepsRepeatedNames) {
  const Result<YamlValue> root = parse_yaml("a: 1\na: 2\n", "f");
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(root->entries.size(), 2u);
}

TEST(Yaml, RefusesAnchorsTagsAndOddNames) {
  EXPECT_EQ(message("a: &x 1\n"),
            "f.yaml:1: anchors and aliases are not supported; write the value out");
  EXPECT_EQ(message("a: 1\nb: !!python/object x\n"),
            "f.yaml:2: tag tag:yaml.org,2002:python/object is not supported; remove it");
  EXPECT_EQ(message("[a]: 1\n"), "f.yaml:1: a name must be a word, not a list or a map");
  EXPECT_EQ(message("a: 1\n---\nb: 2\n"), "f.yaml:3: a second document; a settings file has one");
}

TEST(Yaml, NamesTheLineOfBrokenText) {
  EXPECT_EQ(message("a: 1\nb: [1, 2\n").substr(0, 20), "f.yaml:3: not YAML: ");
  EXPECT_EQ(message("a: 1\n b: 2\n").substr(0, 20), "f.yaml:2: not YAML: ");
  EXPECT_EQ(message(std::string("a: \0b", 5)), "f.yaml: a zero byte at 3");
}

TEST(Yaml, RefusesDepthBeforeItHurts) {
  EXPECT_EQ(message("a: " + std::string(10'000, '[')),
            "f.yaml:1: a name must be a word, not a list or a map");
  EXPECT_EQ(message(std::string(10'000, '{')),
            "f.yaml:1: a name must be a word, not a list or a map");
  std::string deep;
  for (int i = 0; i < 400; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(message(deep), "f.yaml:17: nested deeper than 16 levels");
}

TEST(Yaml, RefusesBombsManyValuesAndLargeTexts) {
  std::string bomb = "a: &a [x, x]\n";
  for (char c = 'b'; c < 'z'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [*" + char(c - 1) + ", *" + char(c - 1) + "]\n";
  }
  EXPECT_EQ(message(bomb), "f.yaml:1: anchors and aliases are not supported; write the value out");
  std::string many;
  for (int i = 0; i < 30'000; ++i) many += "- 1\n";
  EXPECT_EQ(message(many), "f.yaml:20000: more than 20000 values");
  EXPECT_EQ(message(std::string(kMaxYamlBytes + 1, '#')),
            "f.yaml: 1048577 bytes; a settings file has at most 1048576");
}

TEST(Yaml, PrintableEscapesAndCuts) {
  EXPECT_EQ(printable("a\x1b[31mb\n"), "a\\x1b[31mb\\x0a");
  EXPECT_EQ(printable(std::string(100, 'x')), std::string(60, 'x') + "...");
}

}  // namespace
}  // namespace genscope::config
