// {name} in what a suite runs. A value that never reaches the program is the mistake that a matrix
// hides best: every cell then measures the same thing.
//
// In a command, braces may be the shell's or another language's: only a name that nearly is one of
// ours, or a part of an axis that it has not, is a mistake. In a request they are always ours.
#include <fmt/format.h>

#include <algorithm>

#include "base/suggest.h"
#include "bench/http/template.h"
#include "bench/suite/fields.h"
#include "bench/suite/sections.h"

namespace genscope::bench {
namespace {

using config::YamlValue;

const YamlValue* entry_of(const YamlValue* map, std::string_view name) {
  if (map == nullptr) return nullptr;
  for (const config::YamlEntry& entry : map->entries) {
    if (entry.name == name) return &entry.value;
  }
  return nullptr;
}

class NameChecker {
 public:
  NameChecker(const Suite& suite, Mistakes& mistakes) : suite_(suite), mistakes_(mistakes) {
    known_ = MatrixFields(suite.matrix).all();
    for (const char* ours : {"prompt", "seed", "iteration"}) known_.emplace_back(ours);
    if (suite.runner.kind == "http") known_.emplace_back("port");
  }

  void check(const YamlValue& value, const std::string& path, bool always_ours) {
    for (const YamlValue& item : value.items) check(item, path, always_ours);
    for (const config::YamlEntry& entry : value.entries) check(entry.value, path, always_ours);
    if (value.kind != YamlValue::Kind::scalar) return;
    for (const std::string& name : names_in(value.text)) {
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      if (value.text.find("${" + name) != std::string::npos) continue;  // the shell's
      if (!always_ours && !is_meant(name)) continue;
      mistakes_.add(value.line, fmt::format("{}: there is no value for {{{}}}{}", path,
                                            config::printable(name), remedy(name, known_)));
    }
  }

 private:
  bool is_meant(const std::string& name) const {
    const std::string axis = name.substr(0, name.find('.'));
    const auto is_axis = [&](const SuiteAxis& one) { return one.name == axis; };
    return !base::nearest(name, known_).empty() ||
           std::any_of(suite_.matrix.axes.begin(), suite_.matrix.axes.end(), is_axis);
  }

  const Suite& suite_;
  Mistakes& mistakes_;
  std::vector<std::string> known_;
};

}  // namespace

void check_names(const YamlValue& root, const Suite& suite, Mistakes& mistakes) {
  const YamlValue* const runner = entry_of(entry_of(&root, "defaults"), "runner");
  NameChecker checker(suite, mistakes);
  const auto check = [&](const char* field, bool always_ours) {
    const YamlValue* const value = entry_of(runner, field);
    if (value != nullptr) {
      checker.check(*value, std::string("defaults.runner.") + field, always_ours);
    }
  };
  for (const char* field : {"command", "prepare", "cleanup", "env", "outputs", "ready"}) {
    check(field, false);
  }
  if (suite.runner.kind != "http") return;
  for (const char* field : {"url", "body", "headers"}) check(field, true);
}

std::vector<std::string> suite_doubts(const Suite& suite) {
  const SuiteRunner& runner = suite.runner;
  std::vector<std::string> doubts;
  if (runner.kind == "callable") return doubts;  // it gets them all
  std::vector<std::string> texts = {runner.command, runner.prepare, runner.cleanup,
                                    runner.url,     runner.body,    runner.ready};
  texts.insert(texts.end(), runner.argv.begin(), runner.argv.end());
  texts.insert(texts.end(), runner.outputs.begin(), runner.outputs.end());
  for (const auto& [header, value] : runner.headers) texts.push_back(value);
  for (const auto& [variable, value] : runner.env) texts.push_back(value);
  std::vector<std::string> used;
  for (const std::string& text : texts) {
    if (text.find("GENSCOPE_PARAM_") != std::string::npos) return doubts;
    for (const std::string& name : names_in(text)) used.push_back(name.substr(0, name.find('.')));
  }
  for (const SuiteAxis& axis : suite.matrix.axes) {
    if (axis.values.size() < 2 || std::find(used.begin(), used.end(), axis.name) != used.end()) {
      continue;
    }
    doubts.push_back(
        runner.kind == "http"
            ? fmt::format("{{{}}} is in no request: its cells all ask for the same.", axis.name)
            : fmt::format("{{{}}} is in no command: only a program that reads $GENSCOPE_PARAM_{} "
                          "sees its values.",
                          axis.name, axis.name));
  }
  return doubts;
}

}  // namespace genscope::bench
