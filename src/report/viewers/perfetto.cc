// Perfetto's own format: a protobuf `Trace` of packets (protos/perfetto/trace in its repository).
//
// Exact to the nanosecond, a fraction of the size of JSON, and ui.perfetto.dev and its
// trace_processor (SQL) open files of any size. A protobuf message is a row of fields, each a
// number and a value; the few that are needed are written by hand, so no library is.
//
//   packet 1   track_descriptor: a process, a thread, a further row, a counter; each has a uuid
//   packet 2   timestamp, track_event: slice begins | slice ends | instant | counter's value
//
// Packets may come in any order of time; the reader sorts them and keeps the order of equal times.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include <genscope/report.h>

#include "base/text.h"
#include "report/span_dump.h"
#include "report/thin.h"
#include "report/viewers/sheets.h"

namespace genscope {
namespace {

// The fields of a message, one after another.
class Message {
 public:
  Message& number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
    return *this;
  }
  Message& text(std::uint32_t field, std::string_view bytes) {
    varint(std::uint64_t{field} << 3 | 2);
    varint(bytes.size());
    bytes_ += bytes;
    return *this;
  }
  Message& message(std::uint32_t field, const Message& inner) { return text(field, inner.bytes_); }
  Message& fixed64(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3 | 1);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift & 0xFF);
    return *this;
  }
  Message& real(std::uint32_t field, double value) {
    return fixed64(field, std::bit_cast<std::uint64_t>(value));
  }
  const std::string& bytes() const noexcept { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

enum class EventType : std::uint8_t { slice_begin = 1, slice_end = 2, instant = 3, counter = 4 };

// Numbers of fields, by message.
namespace field {
constexpr std::uint32_t kTracePacket = 1;
constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12,
                        kSequenceFlags = 13, kTrackDescriptor = 60;
constexpr std::uint32_t kUuid = 1, kTrackName = 2, kProcess = 3, kThread = 4, kParentUuid = 5,
                        kCounter = 8;
constexpr std::uint32_t kPid = 1, kTid = 2, kThreadName = 5, kProcessName = 6;
constexpr std::uint32_t kUnit = 3, kUnitName = 6;
constexpr std::uint32_t kCategory = 22, kAnnotation = 4, kType = 9, kNameIid = 10, kTrackUuid = 11,
                        kDoubleValue = 44, kFlow = 47;
constexpr std::uint32_t kAnnotationName = 10, kBool = 2, kUint = 3, kInt = 4, kDouble = 5,
                        kString = 6;
constexpr std::uint32_t kEventNames = 2, kIid = 1, kInternedName = 2;
}  // namespace field

class PerfettoWriter {
 public:
  PerfettoWriter(const Run& run, const Analysis& analysis, const Sink& sink)
      : run_(run), analysis_(analysis), sink_(sink) {}

  void write() {
    std::uint64_t first_flow = 1;
    for (std::size_t t = 0; t < run_.traces.size(); ++t) {
      trace(t, first_flow);
      first_flow += run_.traces[t].spans.size();
    }
    sink_({buffer_.data(), buffer_.size()});
  }

 private:
  void packet(const Message& packet) {
    report::append(buffer_, Message().message(field::kTracePacket, packet).bytes());
    report::pass_on(buffer_, sink_);
  }
  // A packet of the trace at hand, whose names are numbers.
  Message event_packet(std::int64_t at_ns, const Message& event) const {
    constexpr std::uint64_t kNeedsInterned = 2;
    return Message()
        .number(field::kTimestamp, static_cast<std::uint64_t>(std::max<std::int64_t>(at_ns, 0)))
        .number(field::kSequence, sequence_)
        .number(field::kSequenceFlags, kNeedsInterned)
        .message(field::kTrackEvent, event);
  }
  static Message event(EventType type, std::uint64_t track) {
    return Message()
        .number(field::kType, static_cast<std::uint64_t>(type))
        .number(field::kTrackUuid, track);
  }
  void describe(const Message& descriptor) {
    packet(
        Message().number(field::kSequence, sequence_).message(field::kTrackDescriptor, descriptor));
  }

  void trace(std::size_t index, std::uint64_t first_flow) {
    const Trace& trace = run_.traces[index];
    const std::int64_t shift = report::shift_to_begin(analysis_, index);
    sequence_ = static_cast<std::uint32_t>(index + 1);
    names(trace);
    const std::uint32_t pid = pids_.of(trace);
    const std::uint64_t process = next_uuid_++;
    describe(Message()
                 .number(field::kUuid, process)
                 .message(field::kProcess,
                          Message()
                              .number(field::kPid, pid)
                              .text(field::kProcessName,
                                    base::to_utf8(report::viewer_process_name(trace)))));
    const std::vector<report::Sheets> tracks = report::sheets_of(trace);
    const std::vector<bool> starts = report::starters(trace);
    std::vector<std::uint64_t> rows;  // of each track: the uuid of its first row
    for (std::size_t k = 0; k < tracks.size(); ++k) {
      rows.push_back(first_row(trace.tracks[k], process, pid));
      for (std::size_t s = 0; s < tracks[k].size(); ++s) {
        const std::uint64_t row =
            s == 0 ? rows.back() : further_row(trace.tracks[k], s, rows.back());
        slices(trace, tracks[k][s], starts, row, shift, first_flow);
      }
    }
    events(trace, rows, shift);
    counters(trace, process, shift);
  }

  // The names of a trace as numbers, one more than their places.
  void names(const Trace& trace) {
    constexpr std::uint64_t kCleared = 1;
    Message interned;
    for (std::size_t i = 0; i < trace.names.size(); ++i) {
      interned.message(field::kEventNames,
                       Message()
                           .number(field::kIid, i + 1)
                           .text(field::kInternedName, base::to_utf8(trace.names[i].text)));
    }
    packet(Message()
               .number(field::kSequence, sequence_)
               .number(field::kSequenceFlags, kCleared)
               .message(field::kInterned, interned));
  }

  std::uint64_t first_row(const TrackInfo& track, std::uint64_t process, std::uint32_t pid) {
    const std::uint64_t uuid = next_uuid_++;
    const std::string name = base::to_utf8(report::viewer_row_name(track, 0));
    Message descriptor;
    descriptor.number(field::kUuid, uuid).number(field::kParentUuid, process);
    if (track.tid != 0) {
      descriptor.message(field::kThread, Message()
                                             .number(field::kPid, pid)
                                             .number(field::kTid, track.tid)
                                             .text(field::kThreadName, name));
    } else {
      descriptor.text(field::kTrackName, name);
    }
    describe(descriptor);
    return uuid;
  }

  std::uint64_t further_row(const TrackInfo& track, std::size_t sheet, std::uint64_t thread) {
    const std::uint64_t uuid = next_uuid_++;
    describe(Message()
                 .number(field::kUuid, uuid)
                 .number(field::kParentUuid, thread)
                 .text(field::kTrackName, base::to_utf8(report::viewer_row_name(track, sheet))));
    return uuid;
  }

  // Begins and ends in the order in which they nest.
  void slices(const Trace& trace, const report::Sheet& sheet, const std::vector<bool>& starts,
              std::uint64_t row, std::int64_t shift, std::uint64_t first_flow) {
    const SpanColumns& spans = trace.spans;
    std::vector<std::int64_t> open;  // ends
    const auto end_until = [&](std::int64_t at) {
      for (; !open.empty() && open.back() <= at; open.pop_back()) {
        packet(event_packet(report::wrapping_add(open.back(), shift),
                            event(EventType::slice_end, row)));
      }
    };
    for (const std::uint32_t span : sheet) {
      end_until(spans.begin_ns[span]);
      Message begin = event(EventType::slice_begin, row);
      begin.number(field::kNameIid, spans.name[span] + 1)
          .text(field::kCategory, name(trace.kind(span)));
      annotate(trace, trace.span_args, span, begin);
      if (spans.flags[span] != 0) {
        begin.message(field::kAnnotation,
                      Message()
                          .text(field::kAnnotationName, "genscope")
                          .text(field::kString, report::flag_words(spans.flags[span])));
      }
      if (starts[span]) begin.fixed64(field::kFlow, first_flow + span);
      if (report::started_elsewhere(trace, span)) {
        begin.fixed64(field::kFlow, first_flow + spans.parent[span]);
      }
      packet(event_packet(report::wrapping_add(spans.begin_ns[span], shift), begin));
      open.push_back(report::end_of(spans, span));
    }
    end_until(std::numeric_limits<std::int64_t>::max());
  }

  static void annotate(const Trace& trace, const ArgColumns& args, std::size_t owner,
                       Message& event) {
    const auto [first, last] = std::equal_range(args.owner.begin(), args.owner.end(), owner);
    for (auto it = first; it != last; ++it) {
      const auto i = static_cast<std::size_t>(it - args.owner.begin());
      const std::uint64_t bits = args.bits[i];
      Message one;
      one.text(field::kAnnotationName, base::to_utf8(trace.names[args.key[i]].text));
      switch (args.type[i]) {
        case ArgType::int64:
          one.number(field::kInt, bits);
          break;
        case ArgType::uint64:
          one.number(field::kUint, bits);
          break;
        case ArgType::float64:
          one.real(field::kDouble, std::bit_cast<double>(bits));
          break;
        case ArgType::boolean:
          one.number(field::kBool, bits != 0 ? 1 : 0);
          break;
        case ArgType::text:
          one.text(field::kString,
                   bits < trace.texts.size() ? base::to_utf8(trace.texts[bits]) : std::string());
          break;
      }
      event.message(field::kAnnotation, one);
    }
  }

  void events(const Trace& trace, const std::vector<std::uint64_t>& rows, std::int64_t shift) {
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      if (is_sampler_event(trace, i)) continue;
      Message one = event(EventType::instant, rows[trace.events.track[i]]);
      one.number(field::kNameIid, trace.events.name[i] + 1);
      annotate(trace, trace.event_args, i, one);
      packet(event_packet(report::wrapping_add(trace.events.at_ns[i], shift), one));
    }
  }

  void counters(const Trace& trace, std::uint64_t process, std::int64_t shift) {
    const auto places = report::readings_by_name(trace);
    for (std::uint32_t n = 0; n < places.size(); ++n) {
      if (places[n].empty()) continue;
      const std::uint64_t row = counter_row(trace, n, process);
      for (const std::uint32_t i : places[n]) {
        const double value = trace.counters.value[i];
        if (!std::isfinite(value)) continue;
        packet(event_packet(report::wrapping_add(trace.counters.at_ns[i], shift),
                            event(EventType::counter, row).real(field::kDoubleValue, value)));
      }
    }
  }

  std::uint64_t counter_row(const Trace& trace, std::uint32_t name, std::uint64_t process) {
    constexpr std::uint64_t kTimeNs = 1, kBytes = 3;
    const SampleSeries* const series = trace.samples.of_name(name);
    const std::string unit = series != nullptr ? std::string(series->metric->unit) : "";
    Message counter;
    if (unit == "B" || unit == "ns") {
      counter.number(field::kUnit, unit == "ns" ? kTimeNs : kBytes);
    } else if (!unit.empty()) {
      counter.text(field::kUnitName, base::to_utf8(unit));
    }
    const std::uint64_t uuid = next_uuid_++;
    describe(Message()
                 .number(field::kUuid, uuid)
                 .number(field::kParentUuid, process)
                 .text(field::kTrackName, base::to_utf8(report::viewer_counter_name(trace, name)))
                 .message(field::kCounter, counter));
    return uuid;
  }

  const Run& run_;
  const Analysis& analysis_;
  const Sink& sink_;
  report::Buffer buffer_;
  report::ViewerPids pids_;
  std::uint64_t next_uuid_ = 1;
  std::uint32_t sequence_ = 1;  // names are numbered anew in each
};

}  // namespace

void report_perfetto(const Run& run, const Analysis& analysis, const Sink& sink) {
  PerfettoWriter(run, analysis, sink).write();
}

}  // namespace genscope
