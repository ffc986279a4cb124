#include "report/span_dump.h"

#include <fmt/compile.h>

#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/text.h"

namespace genscope::report {
namespace {

// The arguments of the spans of one trace, asked for in ascending order of span.
class ArgReader {
 public:
  explicit ArgReader(const Trace& trace) : trace_(trace), keys_(trace.names.size()) {}

  std::string_view object(std::size_t span) {
    const ArgColumns& args = trace_.span_args;
    while (at_ < args.size() && args.owner[at_] < span) ++at_;
    if (at_ == args.size() || args.owner[at_] != span) return "{}";
    text_.clear();
    text_.push_back('{');
    for (; at_ < args.size() && args.owner[at_] == span; ++at_) {
      if (text_.size() > 1) text_.push_back(',');
      append(text_, key(args.key[at_]));
      text_.push_back(':');
      value(args.type[at_], args.bits[at_]);
    }
    text_.push_back('}');
    return {text_.data(), text_.size()};
  }

 private:
  const std::string& key(std::uint32_t name) {
    if (keys_[name].empty()) keys_[name] = base::json_quote(trace_.names[name].text);
    return keys_[name];
  }

  void value(ArgType type, std::uint64_t bits) {
    const auto out = fmt::appender(text_);
    switch (type) {
      case ArgType::int64:
        fmt::format_to(out, FMT_COMPILE("{}"), static_cast<std::int64_t>(bits));
        return;
      case ArgType::uint64:
        fmt::format_to(out, FMT_COMPILE("{}"), bits);
        return;
      case ArgType::float64: {
        const auto number = std::bit_cast<double>(bits);
        std::isfinite(number) ? void(fmt::format_to(out, FMT_COMPILE("{}"), number))
                              : append(text_, "null");
        return;
      }
      case ArgType::text:
        append(text_, bits < trace_.texts.size() ? base::json_quote(trace_.texts[bits]) : "null");
        return;
      case ArgType::boolean:
        append(text_, bits != 0 ? "true" : "false");
        return;
    }
    append(text_, "null");
  }

  const Trace& trace_;
  std::size_t at_ = 0;
  std::vector<std::string> keys_;  // quoted when first needed
  Buffer text_;
};

void dump_trace(const Trace& trace, std::int64_t shift_ns, std::uint64_t first_id,
                const SpanWriter& writer, Buffer& buffer, const Sink& sink) {
  std::vector<std::string> names;
  for (const Name& name : trace.names) names.push_back(writer.ready(name.text));
  std::vector<std::string> tracks;
  for (const TrackInfo& track : trace.tracks) tracks.push_back(writer.ready(track.name));

  const SpanColumns& spans = trace.spans;
  ArgReader args(trace);
  std::size_t device = 0;
  SpanLine line;
  line.pid = trace.process.pid;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const std::uint32_t tid = trace.tracks[spans.track[i]].tid;
    line.tid = tid != 0 ? std::optional(tid) : std::nullopt;
    line.id = first_id + i;
    line.parent.reset();
    if (spans.parent[i] != kNone) line.parent = first_id + spans.parent[i];
    line.kind = trace.kind(i);
    line.begin_ns = wrapping_add(spans.begin_ns[i], shift_ns);
    line.duration_ns = spans.duration_ns[i];
    line.flags = spans.flags[i];
    while (device < trace.device.size() && trace.device.span[device] < i) ++device;
    line.device_ns.reset();
    if (device < trace.device.size() && trace.device.span[device] == i) {
      line.device_ns = trace.device.duration_ns[device];
    }
    line.args = args.object(i);
    writer.line(buffer, line, names[spans.name[i]], tracks[spans.track[i]]);
    pass_on(buffer, sink);
  }
}

}  // namespace

std::int64_t wrapping_add(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::int64_t shift_to_begin(const Analysis& analysis, std::size_t trace) noexcept {
  const std::int64_t offset =
      trace < analysis.clock_offset_ns.size() ? analysis.clock_offset_ns[trace] : 0;
  return wrapping_add(offset, wrapping_add(~analysis.begin_ns, 1));
}

bool started_elsewhere(const Trace& trace, std::uint32_t span) noexcept {
  const std::uint32_t parent = trace.spans.parent[span];
  return parent != kNone && trace.spans.track[parent] != trace.spans.track[span];
}

std::vector<bool> starters(const Trace& trace) {
  std::vector<bool> all(trace.spans.size());
  for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
    if (started_elsewhere(trace, i)) all[trace.spans.parent[i]] = true;
  }
  return all;
}

void pass_on(Buffer& buffer, const Sink& sink) {
  constexpr std::size_t kPiece = 64 * 1024;
  if (buffer.size() < kPiece) return;
  sink({buffer.data(), buffer.size()});
  buffer.clear();
}

std::string flag_words(std::uint8_t flags) {
  constexpr std::array<std::pair<SpanFlag, std::string_view>, 4> kWords = {
      {{kSpanFailed, "failed"},
       {kSpanUnfinished, "unfinished"},
       {kSpanDetached, "detached"},
       {kSpanClipped, "clipped"}}};
  std::string words;
  for (const auto& [flag, word] : kWords) {
    if ((flags & flag) == 0) continue;
    if (!words.empty()) words += '|';
    words += word;
  }
  return words;
}

void dump_spans(const Run& run, const Analysis& analysis, const SpanWriter& writer,
                const Sink& sink) {
  Buffer buffer;
  writer.head(buffer);
  std::uint64_t first_id = 0;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    dump_trace(run.traces[t], shift_to_begin(analysis, t), first_id, writer, buffer, sink);
    first_id += run.traces[t].spans.size();
  }
  sink({buffer.data(), buffer.size()});
}

}  // namespace genscope::report
