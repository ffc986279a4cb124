// `matrix`: axes, what is left out, what is added, what to do about memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/run/quantities.h"
#include "bench/suite/fields.h"
#include "bench/suite/sections.h"

namespace genscope::bench {
namespace {

using config::YamlEntry;
using config::YamlValue;

constexpr std::size_t kMostAxisValues = 10'000;
const std::vector<std::string> kReserved = {"prompt", "seed", "iteration", "port"};

bool is_axis_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9');
  });
}

// {from: 10, to: 50, step: 10}, both ends included.
void read_range(const YamlValue& value, SuiteAxis& axis, Mistakes& mistakes) {
  Section section(value, "matrix.axes." + axis.name, mistakes);
  double from = 0, to = 0, step = 1;
  const bool has_from = section.number("from", from, -1e12, 1e12);
  const bool has_to = section.number("to", to, -1e12, 1e12);
  const bool bad_step = section.has("step") && !section.number("step", step, 1e-9, 1e12);
  section.any("step");
  if (!section.has("from") || !section.has("to")) {
    section.wrong(value.line, "", "a range is written {from: 10, to: 50, step: 10}");
    return;
  }
  if (!has_from || !has_to || bad_step) return;
  const double count = std::floor((to - from) / step + 1e-9) + 1;
  if (!(count >= 1 && count <= double(kMostAxisValues))) {
    section.wrong(value.line, "", fmt::format("a range has from 1 to {} values", kMostAxisValues));
    return;
  }
  for (double i = 0; i < count; ++i) axis.values.push_back(fmt::format("{:.12g}", from + i * step));
}

void read_axis(Section& section, const YamlEntry& entry, SuiteMatrix& matrix, Mistakes& mistakes) {
  SuiteAxis axis;
  axis.name = entry.name;
  const std::string shown = config::printable(entry.name);
  if (!is_axis_name(entry.name)) {
    section.wrong(entry.line, shown, "an axis is named with letters, digits and _");
  }
  if (std::find(kReserved.begin(), kReserved.end(), entry.name) != kReserved.end()) {
    section.wrong(entry.line, shown, "is taken: genscope fills in prompt, seed, iteration, port");
  }
  if (entry.value.kind == YamlValue::Kind::map) {
    read_range(entry.value, axis, mistakes);
  } else {
    const std::string name = entry.name;
    section.texts(name.c_str(), axis.values);
  }
  std::vector<std::string> sorted = axis.values;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    section.wrong(entry.line, shown,
                  fmt::format("'{}' is listed twice", config::printable(*twice)));
  }
  if (axis.values.empty() && entry.value.kind != YamlValue::Kind::map) {
    section.wrong(entry.line, shown, "has no value");
  }
  matrix.axes.push_back(std::move(axis));
}

void read_axes(Section& section, SuiteMatrix& matrix, Mistakes& mistakes) {
  const YamlValue* const axes = section.any("axes");
  if (axes == nullptr) return;
  Section all(*axes, "matrix.axes", mistakes);
  for (const YamlEntry& entry : axes->entries) {
    all.any(entry.name.c_str());
    const auto same = [&](const SuiteAxis& axis) { return axis.name == entry.name; };
    if (std::none_of(matrix.axes.begin(), matrix.axes.end(), same)) {
      read_axis(all, entry, matrix, mistakes);
    }
  }
}

// Every axis, and nothing else.
void read_include(Section& section, SuiteMatrix& matrix) {
  Params cell;
  std::vector<std::string> missing;
  for (const SuiteAxis& axis : matrix.axes) {
    std::string value;
    if (section.text(axis.name.c_str(), value)) cell.emplace_back(axis.name, value);
    if (!section.has(axis.name)) missing.push_back(axis.name);
  }
  for (const std::string& name : missing) {
    section.wrong(section.line(), name, "missing; an included cell names every axis");
  }
  matrix.include.push_back(std::move(cell));
}

void read_exclude(Section& section, SuiteMatrix& matrix) {
  SuiteExclude exclude;
  exclude.line = section.line();
  if (!section.text("when", exclude.when)) {
    if (!section.has("when")) section.wrong(section.line(), "when", "missing");
    section.text("why", exclude.why);
    return;
  }
  if (!section.text("why", exclude.why) || exclude.why.empty()) {
    section.wrong(section.line(), "why", "missing; say why these cells are left out");
  }
  const MatrixFields fields(matrix);
  const advice::Names names = fields.names();
  const auto parsed = advice::Expression::parse(exclude.when, names);
  if (!parsed) section.wrong(section.any("when")->line, "when", parsed.error().message);
  matrix.exclude.push_back(std::move(exclude));
}

void read_oom(Section& section, SuiteMatrix& matrix, Mistakes& mistakes) {
  const YamlValue* const value = section.any("oom");
  if (value == nullptr) return;
  Section oom(*value, "matrix.oom", mistakes);
  matrix.has_oom = true;
  oom.texts("dominance", matrix.oom_dominance);
  oom.flag("remember", matrix.oom_remember);
  const MatrixFields fields(matrix);
  for (const std::string& field : matrix.oom_dominance) {
    if (fields.is_number(field)) continue;
    const std::vector<std::string> known = fields.all();
    const bool there = std::find(known.begin(), known.end(), field) != known.end();
    oom.wrong(oom.any("dominance")->line, "dominance",
              there ? fmt::format("'{}' is not a number", field)
                    : fmt::format("no axis is called '{}'{}", config::printable(field),
                                  remedy(field, known)));
  }
}

void read_sample(Section& section, SuiteMatrix& matrix) {
  std::string text;
  if (!section.text("sample", text)) return;
  if (text == "all" || text == "pairwise") {
    matrix.sample = text;
    return;
  }
  const std::optional<double> count =
      text.starts_with("random:") ? number_in(std::string_view(text).substr(7)) : std::nullopt;
  if (!count || *count < 1 || *count > 1e6 || *count != std::floor(*count)) {
    section.wrong(
        section.any("sample")->line, "sample",
        fmt::format("expected all, pairwise or random:N, found '{}'", config::printable(text)));
    return;
  }
  matrix.sample = "random";
  matrix.sample_count = static_cast<std::size_t>(*count);
}

}  // namespace

void read_matrix(Section& root, Suite& suite, Mistakes& mistakes) {
  const YamlValue* const value = root.any("matrix");
  if (value == nullptr) return;
  Section section(*value, "matrix", mistakes);
  SuiteMatrix& matrix = suite.matrix;
  read_axes(section, matrix, mistakes);
  // What is included decides the types of the axes that conditions name: first.
  each_in_list(section, "include", mistakes, [&](Section& item) { read_include(item, matrix); });
  each_in_list(section, "exclude", mistakes, [&](Section& item) { read_exclude(item, matrix); });
  read_oom(section, matrix, mistakes);
  read_sample(section, matrix);
}

}  // namespace genscope::bench
