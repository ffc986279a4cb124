// What dumps share: walking a run, and the texts of a trace made ready once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <genscope/report.h>

namespace genscope::report {

using Buffer = fmt::memory_buffer;

inline void append(Buffer& out, std::string_view text) {
  out.append(text.data(), text.data() + text.size());
}

// Sums of times from a damaged trace may not fit; wrapping is defined and harmless here.
std::int64_t wrapping_add(std::int64_t a, std::int64_t b) noexcept;
// What to add to a time of that trace to have it since the run's begin.
std::int64_t shift_to_begin(const Analysis& analysis, std::size_t trace) noexcept;
// Whether a span of another track started this one: a kernel, by its launch.
bool started_elsewhere(const Trace& trace, std::uint32_t span) noexcept;
// Which spans started one on another track.
std::vector<bool> starters(const Trace& trace);
// Empties `buffer` into `sink` once it is large.
void pass_on(Buffer& buffer, const Sink& sink);

// One span, as a line of a dump says it.
struct SpanLine {
  std::uint32_t pid = 0;
  std::optional<std::uint32_t> tid;     // none: a named track
  std::uint64_t id = 0;                 // counts through the run, trace after trace
  std::optional<std::uint64_t> parent;  // an id
  SpanKind kind = SpanKind::none;
  std::int64_t begin_ns = 0;  // since the run's begin
  std::int64_t duration_ns = 0;
  std::optional<std::int64_t> device_ns;
  std::uint8_t flags = 0;  // SpanFlag
  std::string_view args;   // a JSON object, "{}" if none
};

// "failed|detached", empty without flags.
std::string flag_words(std::uint8_t flags);

// How a format writes.
class SpanWriter {
 public:
  virtual ~SpanWriter() = default;
  // A name or track as this format wants it; asked once for each of a trace.
  virtual std::string ready(std::string_view text) const = 0;
  virtual void head(Buffer& out) const = 0;
  virtual void line(Buffer& out, const SpanLine& span, std::string_view name,
                    std::string_view track) const = 0;
};

// Every span of the run through `writer` into `sink`, in pieces of some 64 KiB.
void dump_spans(const Run& run, const Analysis& analysis, const SpanWriter& writer,
                const Sink& sink);

}  // namespace genscope::report
