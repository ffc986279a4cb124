// A suite file: YAML -> Suite. The hash is of the tree, so that comments, blanks and the way in
// which a list is written do not count as a change; what the files of prompts and arrivals hold
// does.
#include <fmt/format.h>

#include <filesystem>

#include "base/checksum.h"
#include "base/file.h"
#include "bench/suite/sections.h"

namespace genscope::bench {
namespace {

using config::YamlValue;

void flatten(const YamlValue& value, std::string& out) {
  switch (value.kind) {
    case YamlValue::Kind::null:
      out += "~;";
      break;
    case YamlValue::Kind::scalar:
      out += fmt::format("{}:{};", value.text.size(), value.text);
      break;
    case YamlValue::Kind::list:
      out += '[';
      for (const YamlValue& item : value.items) flatten(item, out);
      out += ']';
      break;
    case YamlValue::Kind::map:
      out += '{';
      for (const config::YamlEntry& entry : value.entries) {
        out += fmt::format("{}:{}=", entry.name.size(), entry.name);
        flatten(entry.value, out);
      }
      out += '}';
      break;
  }
}

std::string suite_hash(const YamlValue& root, const Suite& suite) {
  std::string all;
  flatten(root, all);
  for (const std::string& prompt : suite.prompts.texts) all += prompt + '\n';
  if (suite.load) {
    for (const double seconds : suite.load->trace_s) all += fmt::format("{};", seconds);
  }
  return fmt::format("{:016x}", base::checksum(all.data(), all.size()));
}

// What fits no single field.
void check_whole(Section& root, const Suite& suite) {
  const SuiteRunner& runner = suite.runner;
  const bool has_command = !runner.command.empty() || !runner.argv.empty();
  if ((runner.kind == "command" || runner.kind == "recorder") && !has_command) {
    root.wrong(root.line(), "defaults.runner.command",
               "missing; write the command that is measured, such as [python, gen.py]");
  }
  if (runner.kind == "http" && runner.url.empty()) {
    root.wrong(root.line(), "defaults.runner.url", "missing; a runner of kind http needs it");
  }
  if (suite.load && runner.kind != "http") {
    root.wrong(root.any("load")->line, "load", "needs a runner of kind http");
  }
}

std::string folder_of(std::string_view file) {
  const std::filesystem::path parent = std::filesystem::path(file).parent_path();
  return parent.empty() ? "." : parent.string();
}

}  // namespace

Result<Suite> parse_suite(std::string_view text, std::string_view file) {
  const Result<YamlValue> tree = config::parse_yaml(text, file);
  if (!tree) return tree.error();
  Mistakes mistakes(file);
  Suite suite;
  suite.file = std::string(file);
  {
    Section root(*tree, "", mistakes);
    std::uint64_t version = 1;
    if (root.integer("version", version) && version != 1) {
      root.wrong(root.any("version")->line, "version", "this genscope reads version 1");
    }
    if (!root.text("suite", suite.name) || suite.name.empty()) {
      if (!root.has("suite") || suite.name.empty()) {
        root.wrong(root.line(), "suite", "missing; give the suite a name");
      }
    }
    read_defaults(root, suite, mistakes);
    read_matrix(root, suite, mistakes);
    read_prompts(root, folder_of(file), suite, mistakes);
    read_metrics(root, suite, mistakes);
    read_targets(root, suite, mistakes);
    read_load(root, folder_of(file), suite, mistakes);
    read_judging(root, suite, mistakes);
    check_whole(root, suite);
  }
  check_names(*tree, suite, mistakes);
  if (mistakes.empty()) {
    // Cells that cannot be told apart, or exclusions that cannot be decided, are mistakes too.
    const Result<std::vector<PlannedCell>> plan = plan_suite(suite);
    if (!plan) return plan.error();
  }
  if (!mistakes.empty()) return mistakes.error();
  suite.hash = suite_hash(*tree, suite);
  return suite;
}

Result<Suite> read_suite(const std::string& path) {
  const Result<std::string> text = base::read_file(path, config::kMaxYamlBytes);
  if (!text) return text.error();
  return parse_suite(*text, path);
}

}  // namespace genscope::bench
