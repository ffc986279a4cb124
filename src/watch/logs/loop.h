// A loop of steps as a log tells it: how far it is, each time a line says so.
//
// A step is from the line that told of the one before to the line that tells of it. Lines that a
// program left out (tqdm prints at most ten a second) make one span of several steps, which says
// so.
#pragma once

#include <cstdint>
#include <string_view>

#include <genscope/trace.h>

namespace genscope::watch {

// Where spans go that were read from a log. They begin and end when it is called.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // The span's id; 0: it is not kept. `parent`: 0 for none.
  virtual std::uint64_t begin(SpanKind kind, std::string_view name, std::uint64_t parent) = 0;
  virtual void number(std::uint64_t span, std::string_view key, std::int64_t value) = 0;
  virtual void seconds(std::uint64_t span, std::string_view key, double value) = 0;
  virtual void end(std::uint64_t span, bool failed) = 0;
  // A setting that the program told, for the advice.
  virtual void fact(std::string_view key, std::string_view value) = 0;
};

class StepLoop {
 public:
  static constexpr std::int64_t kUnknown = INT64_MAX;  // how many there will be

  // In the span `stage`, which the loop ends. `at` steps are done. `before`: steps of the loops
  // that ran in the same stage, from which this one counts on.
  void begin(LogSink& sink, std::uint64_t stage, std::int64_t at, std::int64_t total = kUnknown,
             std::int64_t before = 0);
  void set_total(std::int64_t total) { total_ = total; }
  // That many are done now. Less than before: nothing happens.
  void reach(LogSink& sink, std::int64_t at);
  // No more steps; the stage goes on. With `whole`, the last one is over; else it was cut short.
  void stop(LogSink& sink, bool whole);
  // The stage is over as well, and says if it was cut short.
  void end(LogSink& sink, bool whole);

  bool running() const { return running_; }
  bool stepping() const { return in_step_; }
  std::int64_t total() const { return total_; }
  std::int64_t steps() const { return before_ + at_; }  // of the stage
  bool complete() const { return at_ >= total_; }
  std::int64_t at() const { return at_; }
  std::uint64_t stage() const { return stage_; }

 private:
  void open_step(LogSink& sink);

  std::uint64_t stage_ = 0, step_ = 0;
  std::int64_t at_ = 0, total_ = 0, before_ = 0;
  bool running_ = false, in_step_ = false;
};

}  // namespace genscope::watch
