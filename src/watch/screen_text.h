// ScreenText: the bytes that keep a block of lines at the bottom of a terminal, under a scroll
// region in which somebody else goes on writing. Pure: no terminal is touched here.
//
//   row 1        ┐
//   ...          │ scroll region: the command's output scrolls here, its cursor stays here
//   row R-H      ┘
//   row R-H+1    ┐
//   ...          │ the block, H lines
//   row R        ┘
//
// Invariants: 1. whatever is written, the cursor is afterwards where the command left it (moved up
// with its text when the block took its row), with its colours. 2. The cursor's visibility and all
// other modes are the command's: never touched. 3. leave() undoes everything.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace genscope::watch {

class ScreenText {
 public:
  // The bytes that bring `lines` to a terminal of `rows` rows; only what differs from last time.
  std::string draw(const std::vector<std::string>& lines, std::size_t rows);
  // The terminal was resized, or others wrote over it: what was drawn counts as lost.
  std::string forget();
  // Removes block and region; empty if there is none.
  std::string leave();
  bool drawn() const { return !shown_.empty(); }

 private:
  std::string set_up(std::size_t height, std::size_t rows);

  std::vector<std::string> shown_;
  std::size_t rows_ = 0;
};

}  // namespace genscope::watch
