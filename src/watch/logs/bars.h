// Progress bars of tqdm: a bar is a stage (or the loading of something), its counts are steps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "watch/logs/lines.h"
#include "watch/logs/loop.h"

namespace genscope::watch {

class Bars {
 public:
  static constexpr std::size_t kMost = 8;  // at once; more are not followed

  // `unnamed`: the name of bars without a label. `parent`: of a bar that begins, 0 for none.
  void show(LogSink& sink, const TqdmBar& bar, std::string_view unnamed, std::uint64_t parent);
  // Another line of text came after a line feed: bars that stand above it are over.
  void text_below(LogSink& sink);
  void line_feed() { above_ = true; }
  void finish(LogSink& sink);

 private:
  struct Bar {
    std::string label;
    std::int64_t total = 0;
    bool loads = false;      // a span without steps
    std::uint64_t span = 0;  // of loads
    std::int64_t at = 0;
    StepLoop loop;
  };

  void begin(LogSink& sink, const TqdmBar& shown, std::string_view unnamed, std::uint64_t parent);
  void end(LogSink& sink, std::size_t bar, bool whole);

  std::vector<Bar> open_;
  TqdmBar finished_;  // the last one: it is drawn again when it is closed
  bool above_ = false;
};

}  // namespace genscope::watch
