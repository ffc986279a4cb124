// One pass for each column, since each check is of one column against a bound; only arguments need
// their owner beside them. A reader of a file needs none of it: it makes the columns itself.
#include "store/check_columns.h"

#include <algorithm>
#include <string>

#include "store/lane_encoder.h"

namespace genscope::store {
namespace {

constexpr std::int64_t kLongestNs = std::int64_t{1} << 58;  // as ClockMap

Error wrong(const std::string& what) {
  return {ErrorCode::invalid_argument, "this Trace cannot be written: " + what};
}

Error wrong_row(const char* column, std::size_t row, const char* what) {
  return wrong(std::string(column) + "[" + std::to_string(row) + "] " + what);
}

// Of one column: the first row that `bad` accuses, or none.
template <class Column, class Bad>
Status check(const Column& column, const char* name, const char* what, Bad bad) {
  const auto found = std::find_if(column.begin(), column.end(), bad);
  if (found == column.end()) return Done{};
  return wrong_row(name, static_cast<std::size_t>(found - column.begin()), what);
}

Status first_of(std::initializer_list<Status> all) {
  for (const Status& status : all) {
    if (!status.ok()) return status;
  }
  return Done{};
}

bool same_sizes(std::initializer_list<std::size_t> sizes) {
  return std::all_of(sizes.begin(), sizes.end(),
                     [&](std::size_t n) { return n == *sizes.begin(); });
}

Status check_args(const ArgColumns& a, std::size_t owners, const Trace& t, const char* name) {
  if (!same_sizes({a.owner.size(), a.key.size(), a.type.size(), a.bits.size()})) {
    return wrong(std::string(name) + " has columns of different length");
  }
  std::size_t words = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a.owner[i] >= owners) return wrong_row(name, i, "belongs to nothing");
    if (a.key[i] >= t.names.size()) return wrong_row(name, i, "has a key that is no name");
    if (a.type[i] > ArgType::boolean) return wrong_row(name, i, "has no known type");
    if (a.type[i] == ArgType::text && a.bits[i] >= t.texts.size()) {
      return wrong_row(name, i, "has a text that is none");
    }
    const bool same = i > 0 && a.owner[i] == a.owner[i - 1];
    if (i > 0 && a.owner[i] < a.owner[i - 1]) return wrong_row(name, i, "is out of order");
    words = (same ? words : 0) + argument_words(t, a.type[i], a.bits[i]);
    constexpr std::size_t kHead = 16;
    if (words + kHead > LaneWords::kMaxWords) {
      return wrong_row(name, i, "is one of more arguments than a chunk holds (64 KiB); drop some");
    }
  }
  return Done{};
}

}  // namespace

Status check_columns(const Trace& t) {
  const SpanColumns& s = t.spans;
  const EventColumns& e = t.events;
  const CounterColumns& c = t.counters;
  const DeviceColumns& d = t.device;
  const std::size_t spans = s.size(), names = t.names.size(), tracks = t.tracks.size();
  if (!same_sizes({spans, s.duration_ns.size(), s.name.size(), s.track.size(), s.parent.size(),
                   s.flags.size()}) ||
      !same_sizes({e.size(), e.name.size(), e.track.size(), e.span.size()}) ||
      !same_sizes({c.size(), c.name.size(), c.track.size(), c.value.size()}) ||
      !same_sizes({d.size(), d.duration_ns.size(), d.begin_ns.size()})) {
    return wrong("columns of one table have different lengths");
  }
  if (spans >= kNone) return wrong("it has more spans than an index can count");
  const auto bad_name = [&](std::uint32_t n) { return n >= names; };
  const auto bad_track = [&](std::uint32_t n) { return n >= tracks; };
  const auto bad_span = [&](std::uint32_t n) { return n != kNone && n >= spans; };
  const std::int64_t start = t.process.started_ns;
  const auto bad_time = [&](std::int64_t ns) {
    return ns < 0 || ns >= kLongestNs * 8 || ns - start >= kLongestNs || start - ns >= kLongestNs;
  };
  const auto negative = [](std::int64_t ns) { return ns < 0 || ns >= kLongestNs; };
  if (start < 0 || start >= kLongestNs * 8 || start + t.process.unix_offset_ns < 0) {
    return wrong("process.started_ns or its Unix time lies before 0 or after the year 2040");
  }
  for (std::size_t i = 1; i < d.size(); ++i) {
    if (d.span[i] <= d.span[i - 1]) return wrong_row("device.span", i, "is out of order");
  }
  for (const Gap& gap : t.gaps) {
    if (bad_track(gap.track)) return wrong("a gap is on no track");
  }
  return first_of(
      {check(s.name, "spans.name", "is no name", bad_name),
       check(s.track, "spans.track", "is no track", bad_track),
       check(s.parent, "spans.parent", "is no span", bad_span),
       check(s.begin_ns, "spans.begin_ns", "is out of range", bad_time),
       check(s.duration_ns, "spans.duration_ns", "is out of range", negative),
       check(e.name, "events.name", "is no name", bad_name),
       check(e.track, "events.track", "is no track", bad_track),
       check(e.span, "events.span", "is no span", bad_span),
       check(e.at_ns, "events.at_ns", "is out of range", bad_time),
       check(c.name, "counters.name", "is no name", bad_name),
       check(c.track, "counters.track", "is no track", bad_track),
       check(c.at_ns, "counters.at_ns", "is out of range", bad_time),
       check(d.span, "device.span", "is no span", [&](std::uint32_t n) { return n >= spans; }),
       check(d.duration_ns, "device.duration_ns", "is out of range", negative),
       check_args(t.span_args, spans, t, "span_args"),
       check_args(t.event_args, e.size(), t, "event_args")});
}

}  // namespace genscope::store
