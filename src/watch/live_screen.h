// LiveScreen: the terminal on which the live block is drawn.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "watch/cells.h"
#include "watch/screen_text.h"

namespace genscope::watch {

class LiveScreen {
 public:
  // `live`: never, auto (stderr is a terminal that can do it) or always (any terminal: stderr's,
  // else the controlling one). Null when there is nothing to draw on.
  static std::unique_ptr<LiveScreen> open(const std::string& live, const std::string& color);
  ~LiveScreen();  // leaves
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // Asks the terminal for its size.
  void measure();
  const Look& look() const { return look_; }
  // How many lines a block may have here; 0 when the terminal is too low or too narrow for one.
  std::size_t max_lines() const;
  // Whether the terminal is ours to draw on now: it is not while another process group has it, nor
  // while the command reads keys raw (an editor, a pager, a prompt with line editing).
  bool is_free() const;
  // One write, of what changed.
  void draw(const std::vector<std::string>& lines);
  // After a resize, or when it was not free meanwhile.
  void forget();
  // Takes the block away and gives the whole screen back.
  void leave();

 private:
  LiveScreen(int fd, Look look);
  // A terminal that takes nothing (Ctrl-S, a dead connection) does not hold up the watching.
  void put(const std::string& bytes, int patience_ms = 100);

  int fd_;
  Look look_;
  std::size_t rows_ = 0;
  ScreenText text_;
};

}  // namespace genscope::watch
