#include "bench/output/page/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/output/words.h"
#include "bench/output/xml.h"

namespace genscope::bench::page {
namespace {

constexpr std::size_t kMostMaps = 12, kMostFields = 60;

struct HeatAxis {
  std::string name;
  std::vector<std::string> values;  // as they come; numbers by size
};

bool numeric_less(const std::string& a, const std::string& b) {
  char *a_end = nullptr, *b_end = nullptr;
  const double x = std::strtod(a.c_str(), &a_end), y = std::strtod(b.c_str(), &b_end);
  return a_end != a.c_str() && b_end != b.c_str() && x < y;
}

std::vector<HeatAxis> axes_of_cells(const BenchResult& r) {
  std::vector<HeatAxis> axes;
  for (const Cell& cell : r.cells) {
    for (const auto& [axis, value] : cell.params) {
      auto found = std::find_if(axes.begin(), axes.end(),
                                [&, &name = axis](const HeatAxis& a) { return a.name == name; });
      if (found == axes.end()) found = axes.insert(axes.end(), {axis, {}});
      if (std::find(found->values.begin(), found->values.end(), value) == found->values.end()) {
        found->values.push_back(value);
      }
    }
  }
  for (HeatAxis& axis : axes)
    std::stable_sort(axis.values.begin(), axis.values.end(), numeric_less);
  std::erase_if(axes, [](const HeatAxis& axis) {
    return axis.values.size() < 2 || axis.values.size() > kMostFields;
  });
  return axes;
}

// Takes the named axis, or the one with the most values.
std::optional<HeatAxis> take_axis(std::vector<HeatAxis>& axes, const std::string& wanted) {
  auto found = std::find_if(axes.begin(), axes.end(),
                            [&](const HeatAxis& axis) { return axis.name == wanted; });
  if (found == axes.end()) {
    found = std::max_element(axes.begin(), axes.end(), [](const HeatAxis& a, const HeatAxis& b) {
      return a.values.size() < b.values.size();
    });
  }
  if (found == axes.end()) return std::nullopt;
  HeatAxis taken = std::move(*found);
  axes.erase(found);
  return taken;
}

struct HeatField {
  std::string text, hint, verdict;
  std::optional<double> value;  // ln ratio, or the median
  bool failed = false;
};

std::string param_of(const Cell& cell, const std::string& axis) {
  for (const auto& [name, value] : cell.params) {
    if (name == axis) return value;
  }
  return "";
}

using Fields = std::map<std::pair<std::string, std::string>, HeatField>;
using Maps = std::map<std::string, Fields>;  // by the parameters that are on no axis

HeatField field_of(const Cell& cell, const Comparison* c, const std::string& metric_name) {
  HeatField field;
  field.hint = cell.id;
  if (cell.status != "ok") {
    field.failed = true;
    field.text = cell.status;
    if (cell.failure) field.hint += ": " + failure_words(*cell.failure);
    return field;
  }
  if (c != nullptr && c->judgement.ratio) {
    field.value = std::log(*c->judgement.ratio);
    field.text = change_text(*c->judgement.ratio);
    field.verdict = std::string(name(c->judgement.verdict));
    field.hint += ": " + verdict_words(c->judgement.verdict) + ", " + interval_words(*c);
    return field;
  }
  const auto side = cell.stats.find(shown_slot(cell));
  if (side == cell.stats.end()) return field;
  const auto stats = side->second.find(metric_name);
  if (stats == side->second.end()) return field;
  field.value = stats->second.median;
  field.text = figure(metric_name, stats->second.median);
  field.hint += ": " + interval_words(metric_name, stats->second.ci);
  return field;
}

// How strong the colour is, 0 to 1, and which one: worse, better, or plain size.
struct Shade {
  const char* css = "";
  double strength = 0;
};

Shade shade_of(const HeatField& field, bool changes, double low, double high, Direction direction) {
  if (!field.value) return {};
  if (!changes) {
    return {"size", high > low ? 0.06 + 0.44 * (*field.value - low) / (high - low) : 0.2};
  }
  // A change that was not shown to be one stays pale.
  const bool worse = (*field.value > 0) == (direction == Direction::lower_is_better);
  const double strength = std::min(std::fabs(*field.value) / 0.2, 1.0);
  const bool sure = field.verdict == "regressed" || field.verdict == "improved";
  return {worse ? "worse" : "better", sure ? 0.15 + 0.35 * strength : 0.08 * strength};
}

std::string map_table(const Fields& fields, const HeatAxis& x, const HeatAxis& y,
                      const std::string& caption, bool changes, Direction direction) {
  double low = 0, high = 0;
  bool any = false;
  for (const auto& [place, field] : fields) {
    if (!field.value) continue;
    low = any ? std::min(low, *field.value) : *field.value;
    high = any ? std::max(high, *field.value) : *field.value;
    any = true;
  }
  std::string out = "<figure class=\"wide\">";
  if (!caption.empty()) out += "<figcaption>" + xml_text(caption) + "</figcaption>";
  out += fmt::format("<table class=\"heat\"><thead><tr><th>{} \\ {}</th>", xml_text(y.name),
                     xml_text(x.name));
  for (const std::string& value : x.values) out += "<th>" + xml_text(value) + "</th>";
  out += "</tr></thead><tbody>";
  for (const std::string& row : y.values) {
    out += "<tr><th>" + xml_text(row) + "</th>";
    for (const std::string& column : x.values) {
      const auto found = fields.find({column, row});
      if (found == fields.end()) {
        out += "<td class=\"none\"></td>";
        continue;
      }
      const HeatField& field = found->second;
      const Shade shade = shade_of(field, changes, low, high, direction);
      out += fmt::format("<td class=\"{}\" style=\"--s:{:.0f}%\" title=\"{}\">{}</td>",
                         field.failed ? "failed" : shade.css, shade.strength * 100,
                         xml_text(field.hint), xml_text(field.text));
    }
    out += "</tr>";
  }
  return out + "</tbody></table></figure>";
}

}  // namespace

std::string heat_maps(const BenchResult& r, const ResultPageOptions& options) {
  std::vector<HeatAxis> axes = axes_of_cells(r);
  const auto x = take_axis(axes, options.x_axis);
  const auto y = take_axis(axes, options.y_axis);
  if (!x || !y) return "";
  std::map<std::string_view, const Comparison*> verdicts;
  for (const Comparison& c : r.comparisons) {
    if (c.metric == options.metric) verdicts[c.cell] = &c;
  }
  Maps maps;
  for (const Cell& cell : r.cells) {
    std::vector<std::string> others;
    for (const HeatAxis& axis : axes) {
      others.push_back(fmt::format("{} {}", axis.name, param_of(cell, axis.name)));
    }
    const auto verdict = verdicts.find(cell.id);
    maps[fmt::format("{}", fmt::join(others, ", "))]
        [{param_of(cell, x->name), param_of(cell, y->name)}] =
            field_of(cell, verdict != verdicts.end() ? verdict->second : nullptr, options.metric);
  }
  std::string out;
  std::size_t shown = 0;
  const Direction direction = metric(options.metric).direction;
  for (const auto& [caption, fields] : maps) {
    if (++shown > kMostMaps) break;
    out += map_table(fields, *x, *y, caption, !verdicts.empty(), direction);
  }
  if (maps.size() > kMostMaps) {
    out +=
        fmt::format("<p class=\"soft\">{} more tables are left out.</p>", maps.size() - kMostMaps);
  }
  return out;
}

}  // namespace genscope::bench::page
