#include "bench/suite/fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checksum.h"
#include "base/text.h"
#include "bench/run/quantities.h"
#include "bench/suite/mistakes.h"
#include "config/yaml.h"

namespace genscope::bench {
namespace {

using advice::FactType;

constexpr std::size_t kMaxCellId = 120;

bool is_flag_word(std::string_view text) { return text == "true" || text == "false"; }

template <class Test>
bool all_of(const std::vector<std::string>& values, const Test& test) {
  return !values.empty() && std::all_of(values.begin(), values.end(), test);
}

std::vector<std::string> axis_values(const SuiteMatrix& matrix, const SuiteAxis& axis) {
  std::vector<std::string> values = axis.values;
  for (const Params& cell : matrix.include) {
    for (const auto& [name, value] : cell) {
      if (name == axis.name) values.push_back(value);
    }
  }
  return values;
}

}  // namespace

MatrixFields::MatrixFields(const SuiteMatrix& matrix) {
  for (const SuiteAxis& axis : matrix.axes) {
    const std::vector<std::string> values = axis_values(matrix, axis);
    FactType type = FactType::text;
    if (all_of(values, [](const std::string& text) { return number_in(text).has_value(); })) {
      type = FactType::number;
    } else if (all_of(values, is_flag_word)) {
      type = FactType::flag;
    } else if (all_of(values, [](const std::string& text) { return size_in(text).has_value(); })) {
      for (const char* part : {".w", ".h", ".pixels"}) {
        types_.emplace(axis.name + part, FactType::number);
      }
      const auto has_frames = [](const std::string& text) { return size_in(text)->frames; };
      if (all_of(values, has_frames)) types_.emplace(axis.name + ".frames", FactType::number);
    }
    types_.emplace(axis.name, type);
  }
}

std::vector<std::string> MatrixFields::all() const {
  std::vector<std::string> names;
  for (const auto& [name, type] : types_) names.push_back(name);
  return names;
}

advice::Names MatrixFields::names() const {
  return {.type = [this](std::string_view field) -> std::optional<FactType> {
            const auto known = types_.find(field);
            if (known == types_.end()) return std::nullopt;
            return known->second;
          },
          .unknown =
              [this](std::string_view field) {
                return fmt::format("no axis is called '{}'{}", config::printable(field),
                                   remedy(field, all()));
              }};
}

bool MatrixFields::is_number(std::string_view field) const {
  const auto known = types_.find(field);
  return known != types_.end() && known->second == FactType::number;
}

Facts MatrixFields::facts(const Params& params) const {
  Facts facts;
  for (const auto& [name, value] : params) {
    const auto type = types_.find(name);
    if (type == types_.end()) continue;
    if (type->second == FactType::number) {
      facts.set(name, *number_in(value));
    } else if (type->second == FactType::flag) {
      facts.set(name, value == "true");
    } else {
      facts.set(name, value);
    }
    const std::optional<PixelSize> size = size_in(value);
    if (!size || types_.find(name + ".w") == types_.end()) continue;
    facts.set(name + ".w", double(size->w));
    facts.set(name + ".h", double(size->h));
    facts.set(name + ".pixels", double(size->w) * double(size->h));
    if (size->frames) facts.set(name + ".frames", double(*size->frames));
  }
  return facts;
}

std::optional<double> MatrixFields::number(const Params& params, std::string_view field) const {
  const Facts known = facts(params);
  const FactValue* const value = known.find(field);
  if (value == nullptr || !std::holds_alternative<double>(*value)) return std::nullopt;
  return std::get<double>(*value);
}

std::string cell_id(const Params& params) {
  if (params.empty()) return "all";
  Params sorted = params;
  std::sort(sorted.begin(), sorted.end());
  std::string exact, id;
  for (const auto& [name, value] : sorted) {
    exact += fmt::format("{}={}\n", name, value);
    id += fmt::format("{}{}={}", id.empty() ? "" : ",", name,
                      base::file_name_from(value, kMaxCellId));
  }
  std::string plain = exact;
  std::replace(plain.begin(), plain.end(), '\n', ',');
  plain.pop_back();
  if (plain == id && id.size() <= kMaxCellId) return id;
  const std::uint64_t sum = base::checksum(exact.data(), exact.size());
  return fmt::format("{}-{:08x}", base::cut_utf8(id, kMaxCellId), sum & 0xFFFFFFFF);
}

}  // namespace genscope::bench
