// Records the spans of a log into the trace of this process, on a track of their own.
#pragma once

#include <genscope/record.h>

#include "watch/logs/loop.h"

namespace genscope::watch {

// Each has the argument source="log": its times are when lines came.
class LogRecorder final : public LogSink {
 public:
  std::uint64_t begin(SpanKind kind, std::string_view name, std::uint64_t parent) override {
    const Track track("logs");
    const Under under{.parent = Handle(parent), .track = track};
    return genscope::begin(kind, name, under, {{"source", "log"}}).id();
  }
  void number(std::uint64_t span, std::string_view key, std::int64_t value) override {
    Handle(span).arg(key, value);
  }
  void seconds(std::uint64_t span, std::string_view key, double value) override {
    Handle(span).arg(key, value);
  }
  void end(std::uint64_t span, bool failed) override {
    failed ? end_failed(Handle(span)) : genscope::end(Handle(span));
  }
  void fact(std::string_view key, std::string_view value) override {
    event("config", {{key, value}});
  }
};

}  // namespace genscope::watch
