#include "report/table.h"

#include <algorithm>

#include "report/printable.h"

namespace genscope::report {
namespace {

constexpr std::size_t kWideGap = 2;
constexpr std::size_t kNarrowGap = 1;

void append_cell(std::string& line, const std::string& cell, std::size_t width, bool left) {
  const std::size_t used = columns(cell);
  const std::string padding(width > used ? width - used : 0, ' ');
  line += left ? cell + padding : padding + cell;
}

// The columns that are shown, how wide, and what is between them.
struct Layout {
  std::vector<std::size_t> shown;
  std::vector<std::size_t> widths;  // of all columns
  std::size_t gap = kWideGap;

  std::size_t total() const {
    std::size_t sum = shown.empty() ? 0 : gap * (shown.size() - 1);
    for (const std::size_t c : shown) sum += widths[c];
    return sum;
  }
};

void fit(Layout& layout, const std::vector<Table::Column>& all, std::size_t width) {
  if (layout.total() <= width) return;
  layout.gap = kNarrowGap;
  const std::size_t full = layout.widths[0];
  const std::size_t narrowest = std::min(full, Table::kNarrowest);
  layout.widths[0] = narrowest;
  while (layout.total() > width) {
    const auto last =
        std::max_element(layout.shown.begin(), layout.shown.end(),
                         [&](std::size_t a, std::size_t b) { return all[a].drop < all[b].drop; });
    if (last == layout.shown.end() || all[*last].drop == 0) break;
    layout.shown.erase(last);
  }
  const std::size_t used = layout.total();
  if (used < width) layout.widths[0] = std::min(full, narrowest + (width - used));
}

}  // namespace

std::string Table::render(std::size_t width, bool bold_titles) const {
  Layout layout;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = columns(columns_[c].title);
    for (const auto& row : rows_) widest = std::max(widest, columns(row[c]));
    layout.widths.push_back(widest);
    layout.shown.push_back(c);
  }
  fit(layout, columns_, width);

  std::string out;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (const std::size_t c : layout.shown) {
      if (c != layout.shown.front()) line.append(layout.gap, ' ');
      const std::string& cell = cell_of(c);
      append_cell(line, c == 0 ? shorten(cell, layout.widths[0]) : cell, layout.widths[c],
                  columns_[c].left);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  const std::string titles =
      add_line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  out += bold_titles ? "\x1b[1m" + titles + "\x1b[0m\n" : titles + "\n";
  for (const auto& row : rows_) {
    out += add_line([&](std::size_t c) -> const std::string& { return row[c]; }) + "\n";
  }
  return out;
}

std::string Table::markdown() const {
  std::string titles = "|", rule = "|", body;
  for (const Column& column : columns_) {
    titles += " " + column.title + " |";
    rule += column.left ? "---|" : "---:|";
  }
  for (const auto& row : rows_) {
    body += "|";
    for (const std::string& cell : row) body += " " + markdown_text(cell) + " |";
    body += "\n";
  }
  return titles + "\n" + rule + "\n" + body;
}

}  // namespace genscope::report
