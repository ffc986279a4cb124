#include "watch/logs/loop.h"

namespace genscope::watch {

void StepLoop::begin(LogSink& sink, std::uint64_t stage, std::int64_t at, std::int64_t total,
                     std::int64_t before) {
  stage_ = stage;
  before_ = before;
  at_ = at;
  total_ = total;
  running_ = true;
  open_step(sink);
}

void StepLoop::open_step(LogSink& sink) {
  in_step_ = at_ < total_;
  if (!in_step_) return;
  step_ = sink.begin(SpanKind::step, "step", stage_);
  sink.number(step_, "index", before_ + at_);
}

void StepLoop::reach(LogSink& sink, std::int64_t at) {
  if (!running_ || at <= at_) return;
  if (in_step_) {
    if (at - at_ > 1) sink.number(step_, "steps", at - at_);
    sink.end(step_, false);
  }
  at_ = at;
  open_step(sink);
}

void StepLoop::stop(LogSink& sink, bool whole) {
  if (!in_step_) return;
  if (!whole) sink.number(step_, "incomplete", 1);
  sink.end(step_, false);
  in_step_ = false;
}

void StepLoop::end(LogSink& sink, bool whole) {
  if (!running_) return;
  stop(sink, whole);
  if (!whole) sink.number(stage_, "incomplete", 1);
  sink.end(stage_, false);
  running_ = false;
}

}  // namespace genscope::watch
