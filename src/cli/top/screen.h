// Screen: the terminal as a full-screen program uses it, and given back on every way out.
//
// While one is entered, the terminal shows the alternate screen without a cursor and sends keys
// raw. leave(), the destructor, and a crash of this process restore what was before.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <genscope/error.h>

namespace genscope::cli::top {

// What came while we waited.
enum class Input {
  nothing,    // the time is up
  key,        // Event::key
  interrupt,  // SIGINT
  terminate,  // SIGTERM or SIGHUP, or the terminal is gone
  resize,     // or a redraw for another reason: we were stopped and go on
  suspend,    // Ctrl-Z or SIGTSTP: call suspend()
};
struct Event {
  Input input = Input::nothing;
  char key = 0;
};

// The bytes that turn what the terminal shows into `lines`; only lines that differ from `shown`.
std::string redraw(const std::vector<std::string>& shown, const std::vector<std::string>& lines,
                   std::size_t rows);

class Screen {
 public:
  // Enters. An error with the remedy if stdout is no terminal, or one that cannot be drawn on.
  static Result<std::unique_ptr<Screen>> open();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  std::size_t columns() const noexcept { return columns_; }
  std::size_t rows() const noexcept { return rows_; }
  // One write of what changed.
  void draw(const std::vector<std::string>& lines);
  // Waits for a key or a signal, at most so long.
  Event wait(double seconds);
  // Leaves, stops this process as Ctrl-Z does, and enters again when it goes on.
  void suspend();

 private:
  explicit Screen(int keys);
  void enter();
  void take_terminal();
  void leave();
  void measure();

  int keys_;  // the terminal's input
  std::size_t columns_ = 80;
  std::size_t rows_ = 24;
  std::vector<std::string> shown_;
};

}  // namespace genscope::cli::top
