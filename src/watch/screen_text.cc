#include "watch/screen_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace genscope::watch {
namespace {

constexpr const char* kSave =
    "\x1b"
    "7";
constexpr const char* kRestore =
    "\x1b"
    "8";
constexpr const char* kWholeScreen = "\x1b[r";  // also moves the cursor: between save and restore
constexpr const char* kEraseLine = "\x1b[0m\x1b[2K";

std::string go_to(std::size_t row) { return fmt::format("\x1b[{};1H", row); }

}  // namespace

std::string ScreenText::set_up(std::size_t height, std::size_t rows) {
  std::string out;
  // Index (ESC D) goes down a row like a line feed, scrolling at the end, but keeps the column.
  for (std::size_t i = 0; i < height; ++i)
    out +=
        "\x1b"
        "D";
  out += fmt::format("\x1b[{}A", height);
  out += kSave + fmt::format("\x1b[1;{}r", rows - height) + kRestore;
  shown_.assign(height, "\x01");  // no line is like this: all are drawn
  rows_ = rows;
  return out;
}

std::string ScreenText::draw(const std::vector<std::string>& lines, std::size_t rows) {
  std::string out;
  if (rows != rows_ && drawn()) out += forget();
  // A block that shrinks keeps its rows, so that the region does not jump about.
  const std::size_t height = std::max(lines.size(), shown_.size());
  if (height == 0 || height + 1 >= rows) return out;
  if (height != shown_.size()) {
    out += leave();
    out += set_up(height, rows);
  }
  std::string changed;
  for (std::size_t i = 0; i < height; ++i) {
    const std::string line = i < lines.size() ? lines[i] : "";
    if (line == shown_[i]) continue;
    changed += go_to(rows - height + 1 + i) + kEraseLine + line;
    shown_[i] = line;
  }
  if (!changed.empty()) out += kSave + changed + kRestore;
  return out;
}

std::string ScreenText::forget() {
  if (!drawn()) return "";
  shown_.clear();
  // Below the command's cursor there is nothing but what is left of the block.
  return std::string(kSave) + kWholeScreen + kRestore + "\x1b[J";
}

std::string ScreenText::leave() {
  if (!drawn()) return "";
  std::string out = std::string(kSave) + kWholeScreen;
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    out += go_to(rows_ - shown_.size() + 1 + i) + kEraseLine;
  }
  shown_.clear();
  return out + kRestore;
}

}  // namespace genscope::watch
