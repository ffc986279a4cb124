#include <fmt/format.h>

#include <algorithm>

#include "cli/inspect/view.h"
#include "watch/figures.h"

namespace genscope::cli::inspect {
namespace {

using watch::Line;
using watch::Look;
using watch::Style;

// 11901408320 as "11.90 B".
std::string count_text(std::uint64_t count) {
  struct Unit {
    double size;
    const char* name;
  };
  for (const Unit unit : {Unit{1e9, "B"}, Unit{1e6, "M"}, Unit{1e3, "k"}}) {
    const double value = static_cast<double>(count) / unit.size;
    if (value >= 1) return fmt::format("{:.2f} {}", value, unit.name);
  }
  return std::to_string(count);
}

std::string bytes_text(std::uint64_t bytes) {
  return watch::bytes_text(static_cast<double>(bytes));
}

std::string dtypes_text(const Component& component) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, component.dtypes.size()); ++i) {
    if (i > 0) text += '+';
    text += genscope::name(component.dtypes[i].dtype);
  }
  return component.dtypes.size() > kShown ? text + "+..." : text;
}

std::string what_text(const Identity& identity) {
  if (identity.architecture.empty() && identity.title.empty()) return "unknown";
  return identity.title;
}

std::string layers_text(const Dimensions& d) {
  if (d.layers == 0) return "";
  return d.single_layers == 0 ? std::to_string(d.layers)
                              : fmt::format("{}+{}", d.layers, d.single_layers);
}

std::string number_text(std::uint64_t value) { return value == 0 ? "" : std::to_string(value); }

Style style_of(Confidence confidence) {
  switch (confidence) {
    case Confidence::high:
      return Style::good;
    case Confidence::medium:
    case Confidence::low:
      return Style::warn;
    case Confidence::none:
      return Style::bad;
  }
  return Style::plain;
}

class Text {
 public:
  explicit Text(const Look& look) : look_(look) {}

  std::string make(const Model& model, const std::vector<TensorFile>& files) {
    head(model);
    notes(model);
    components(model);
    for (const Component& component : model.components) lora(component);
    evidence(model);
    for (const TensorFile& file : files) tensors(file);
    return std::move(text_);
  }

 private:
  using Row = std::vector<std::string>;

  void finish(const Line& line) { text_ += line.text() + "\n"; }

  void head(const Model& model) {
    const Identity& identity = model.identity;
    Line title(look_);
    title.add(what_text(identity), Style::bold);
    if (!identity.architecture.empty()) {
      title.add(fmt::format("  {}{}{}, {}", identity.architecture,
                            identity.variant.empty() ? "" : " ", identity.variant,
                            genscope::name(identity.family)));
    }
    finish(title);
    fact("path", fmt::format("{} ({})", model.path, genscope::name(model.container)));
    if (!model.pipeline_class.empty()) fact("pipeline", model.pipeline_class);
    fact("parameters", fmt::format("{} ({})", model.parameters, count_text(model.parameters)));
    fact("weights", bytes_text(model.bytes));
    Line line(look_);
    line.add("  confidence  ");
    line.add(genscope::name(identity.confidence), style_of(identity.confidence));
    finish(line);
  }

  void fact(std::string_view what, std::string_view value) {
    finish(Line(look_).add(fmt::format("  {:<12}", what)).add(value));
  }

  void notes(const Model& model) {
    for (const std::string& note : ordered_notes(model)) {
      finish(Line(look_).add("! ", Style::warn).add(note));
    }
  }

  void components(const Model& model) {
    std::vector<Row> rows = {{"PART", "WHAT", "FAMILY", "PARAMETERS", "BYTES", "DTYPES", "QUANT",
                              "LAYERS", "WIDTH", "HEADS"}};
    for (const Component& c : model.components) {
      const Dimensions& d = c.identity.dimensions;
      rows.push_back({c.name.empty() ? "-" : c.name, what_text(c.identity),
                      std::string(genscope::name(c.identity.family)),
                      c.tensors == 0 ? "" : count_text(c.parameters),
                      c.tensors == 0 ? "" : bytes_text(c.bytes), dtypes_text(c), c.quantisation,
                      layers_text(d), number_text(d.width), number_text(d.heads)});
    }
    text_ += "\n";
    table(rows);
  }

  // Columns as wide as their widest cell; those that are empty in all rows are left out.
  void table(const std::vector<Row>& rows) {
    constexpr std::size_t kWidest = 44;
    std::vector<std::size_t> widths(rows.front().size(), 0);
    for (std::size_t r = 1; r < rows.size(); ++r) {
      for (std::size_t c = 0; c < widths.size(); ++c) {
        widths[c] = std::max(widths[c], watch::columns(watch::clean(rows[r][c], look_.unicode)));
      }
    }
    for (const Row& row : rows) {
      Line line(look_);
      std::size_t column = 0;
      for (std::size_t c = 0; c < widths.size(); ++c) {
        if (widths[c] == 0) continue;
        const std::size_t width =
            std::min(kWidest, std::max(widths[c], watch::columns(rows.front()[c])));
        line.to_column(column);
        line.add(watch::cut(watch::clean(row[c], look_.unicode), width),
                 &row == &rows.front() ? Style::dim : Style::plain);
        column += width + 2;
      }
      finish(line);
    }
  }

  void lora(const Component& component) {
    if (!component.lora) return;
    const Lora& lora = *component.lora;
    text_ += "\n";
    fact("kind", lora.kind);
    fact("rank", lora.ranks.empty() ? "n/a" : fmt::format("{}", fmt::join(lora.ranks, ", ")));
    fact("modules", std::to_string(lora.modules));
    fact("target", lora.target.empty() ? "unknown" : lora.target);
    fact("text part", lora.text_encoder ? "adapted too" : "no");
  }

  void evidence(const Model& model) {
    text_ += "\n";
    finish(Line(look_).add("Evidence", Style::dim));
    for (const Component& component : model.components) {
      for (const std::string& line : component.identity.evidence) {
        Line out(look_);
        out.add("  ");
        if (!component.name.empty()) out.add(component.name + ": ");
        out.add(line);
        finish(out);
      }
    }
  }

  void tensors(const TensorFile& file) {
    text_ += "\n";
    finish(Line(look_).add(fmt::format("Tensors of {}", file.path), Style::dim));
    for (const Tensor& tensor : file.tensors) {
      text_ += fmt::format("{:<10} {:>16} {:<24} {}\n", genscope::name(tensor.dtype), tensor.bytes,
                           fmt::format("[{}]", fmt::join(tensor.shape.span(), ", ")),
                           watch::clean(tensor.name, look_.unicode));
    }
  }

  const Look& look_;
  std::string text_;
};

}  // namespace

std::string model_text(const Model& model, const std::vector<TensorFile>& files, const Look& look) {
  return Text(look).make(model, files);
}

}  // namespace genscope::cli::inspect
