// LogReader: from the lines of a program's log to spans.
//
// One for all streams of a program. Not thread-safe. Whatever the lines are, what it began it ends
// once: finish() at the latest.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "watch/logs/bars.h"
#include "watch/logs/pieces.h"

namespace genscope::watch {

enum class LogFormat { automatic, tqdm, comfyui, sdcpp };

class LogReader {
 public:
  LogReader(LogFormat format, LogSink& sink) : format_(format), sink_(sink) {}

  void line(std::string_view text, PieceEnd end);
  // The command has ended: what is open was cut short.
  void finish();
  std::uint64_t understood() const { return understood_; }  // lines

 private:
  static constexpr std::size_t kMostLoads = 64;  // that wait for their turn

  bool wants(LogFormat format) const {
    return format_ == format || format_ == LogFormat::automatic;
  }
  void take(const ComfyLine& line);
  void begin_load();
  void end_load(bool partial);
  void begin_prompt();
  void end_prompt(const ComfyLine& line);
  void take(const SdLine& line);
  void begin_stage(const char* name);
  void end_stage(const SdLine* line);
  void begin_sampling();
  void next_loop();
  void take_step(const SdLine& line);
  void end_request(const SdLine* line, bool failed = false);

  const LogFormat format_;
  LogSink& sink_;
  std::uint64_t understood_ = 0;
  Bars bars_;
  // ComfyUI: one prompt at a time, further ones wait; models load one after the other.
  bool comfyui_ = false;  // such a line was seen
  bool in_prompt_ = false;
  std::uint64_t prompt_ = 0, waiting_ = 0;
  std::deque<std::string> loads_;
  bool in_load_ = false;
  std::uint64_t load_ = 0;
  // stable-diffusion.cpp: a request with stages in it. All its loops (images of a batch, the models
  // for high and low noise) are one stage, unless something else happens between them.
  bool in_request_ = false, in_stage_ = false, sampling_ = false, video_ = false;
  std::uint64_t request_ = 0, stage_ = 0;
  double sampled_seconds_ = 0;  // of the stage's loops, as the program said them
  StepLoop steps_;
};

}  // namespace genscope::watch
