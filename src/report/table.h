// Table: aligned columns that fit a width.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace genscope::report {

// Cells are printable text (printable.h). The first column is the one that gives way: it is
// shortened in the middle, down to kNarrowest columns; then whole columns are dropped, those with
// the highest `drop` first, never those with 0.
class Table {
 public:
  static constexpr std::size_t kNarrowest = 16;

  struct Column {
    std::string title;
    bool left = false;  // alignment
    int drop = 0;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const noexcept { return rows_.empty(); }

  // Lines with newlines, the titles first, each of at most `width` columns unless even the columns
  // that cannot be dropped need more. `bold_titles` wraps the titles in ANSI bold.
  std::string render(std::size_t width, bool bold_titles) const;

  // All columns as a Markdown table; cells are escaped, titles are taken as they are.
  std::string markdown() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace genscope::report
