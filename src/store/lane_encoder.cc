// Begins, events and counters of a lane are merged by time; ends wait in a heap until the next of
// these is later. Of ends at one time those of later begins come first, as on a stack, and a span
// that begins at that time is asked who its parent is: everything above that parent ends before.
//
// A scoped span can be written as one only if its parent is on top of the stack by then. If it is
// not (an import that overlaps, columns made by hand), it becomes a detached span with an explicit
// parent: nothing is lost but the word "scoped". O(n log d) for d spans open at once.
//
// Run with `out` null it deals out the ids alone, which a second round then can refer to.
#include "store/lane_encoder.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "genscope/internal/word.h"

namespace genscope::store {

using internal::make_word;
using internal::Op;

namespace {

constexpr std::int64_t kNobody = -1;  // an `above` that every span is after

std::uint64_t tick_of(std::int64_t ns) { return static_cast<std::uint64_t>(ns); }

bool is_small(ArgType type, std::uint64_t bits) {
  return type == ArgType::int64 && bits <= internal::kLowMask;
}

}  // namespace

std::pair<std::size_t, std::size_t> OwnerCursor::rows_of(std::uint32_t owner) {
  const bool here =
      (at_ == owners_.size() || owners_[at_] >= owner) && (at_ == 0 || owners_[at_ - 1] < owner);
  if (!here) {
    const auto found = std::lower_bound(owners_.begin(), owners_.end(), owner);
    at_ = static_cast<std::size_t>(found - owners_.begin());
  }
  const std::size_t first = at_;
  while (at_ < owners_.size() && owners_[at_] == owner) ++at_;
  return {first, at_};
}

std::uint32_t site_of(std::uint32_t name) {
  return name < internal::kMaxUserSite ? name + 1 : internal::kSiteOther;
}

std::size_t argument_words(const Trace& trace, ArgType type, std::uint64_t bits) {
  if (is_small(type, bits)) return 1;
  if (type != ArgType::text) return 2;
  return 1 + (base::cut_utf8(trace.texts[bits], kMaxTextBytes).size() + 7) / 8;
}

void LaneEncoder::number(std::uint32_t site, ArgType type, std::uint64_t bits) {
  if (is_small(type, bits)) return words_.put(make_word(Op::arg, site, bits));
  words_.put(
      make_word(Op::wide_arg, site, std::uint64_t{static_cast<std::uint8_t>(type)} << 32 | 8));
  words_.put(bits);
}

void LaneEncoder::arguments(const ArgColumns& args, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    const std::uint32_t site = site_of(args.key[i]);
    if (args.type[i] != ArgType::text) {
      number(site, args.type[i], args.bits[i]);
      continue;
    }
    const std::string_view text = base::cut_utf8(trace_.texts[args.bits[i]], kMaxTextBytes);
    const auto type = std::uint64_t{static_cast<std::uint8_t>(ArgType::text)};
    words_.put(make_word(Op::wide_arg, site, type << 32 | text.size()));
    for (std::size_t at = 0; at < text.size(); at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + at, std::min<std::size_t>(8, text.size() - at));
      words_.put(word);
    }
  }
}

void LaneEncoder::end(const End& end) {
  const std::uint64_t tick = tick_of(end.at_ns);
  const bool failed = (trace_.spans.flags[end.span] & kSpanFailed) != 0;
  words_.room(2, tick);
  if (made_detached_[end.span] || (trace_.spans.flags[end.span] & kSpanDetached) != 0) {
    words_.put(make_word(Op::async_end, failed ? 1 : 0, words_.low(tick)));
    words_.put(ids_[end.span]);
  } else {
    words_.put(make_word(failed ? Op::end_failed : Op::end, internal::tag_of(ids_[end.span]),
                         words_.low(tick)));
    const auto at = std::find_if(stack_.rbegin(), stack_.rend(),
                                 [&](const Open& open) { return open.span == end.span; });
    stack_.erase(std::next(at).base());
  }
  last_ns_ = end.at_ns;
}

void LaneEncoder::ends_until(std::int64_t at_ns, std::int64_t above) {
  while (!ends_.empty()) {
    const End next = ends_.top();
    const bool due = next.at_ns < at_ns || (next.at_ns == at_ns && next.place > above);
    if (!due) return;
    ends_.pop();
    end(next);
  }
}

void LaneEncoder::span(std::uint32_t span, std::uint32_t place) {
  const SpanColumns& s = trace_.spans;
  const std::int64_t at_ns = s.begin_ns[span];
  const std::uint32_t parent = s.parent[span];
  ends_until(at_ns, std::numeric_limits<std::int64_t>::max());
  bool detached = (s.flags[span] & kSpanDetached) != 0;
  if (!detached) {
    if (parent == kNone) {
      ends_until(at_ns, kNobody);
    } else {
      const auto above = std::find_if(stack_.rbegin(), stack_.rend(),
                                      [&](const Open& open) { return open.span == parent; });
      if (above != stack_.rend()) ends_until(at_ns, above->place);
    }
    const std::uint32_t top = stack_.empty() ? kNone : stack_.back().span;
    detached = top != parent;
    made_detached_[span] = detached;
  }
  const auto [first, last] = span_args_.rows_of(span);
  const auto [device, device_end] = device_.rows_of(span);
  constexpr std::size_t kMost = 2 + 2 + 2 + 1;  // head, device time and begin, track
  std::size_t words = kMost;
  for (std::size_t i = first; i < last; ++i) {
    words += argument_words(trace_, trace_.span_args.type[i], trace_.span_args.bits[i]);
  }
  words_.room(words, tick_of(at_ns));
  ids_[span] = words_.next_id();
  const std::uint32_t site = site_of(s.name[span]);
  words_.put(make_word(detached ? Op::async_begin : Op::begin, site, words_.low(tick_of(at_ns))));
  if (detached) words_.put(parent == kNone ? 0 : ids_[parent]);
  if (plan_.is_guest(s.track[span])) {
    words_.put(make_word(Op::arg, internal::kKeyTrack, guest_sites_.at(s.track[span])));
  }
  arguments(trace_.span_args, first, last);
  if (device < device_end) {
    const auto bits = [](std::int64_t ns) { return static_cast<std::uint64_t>(ns); };
    number(internal::kKeyDeviceNs, ArgType::int64, bits(trace_.device.duration_ns[device]));
    if (trace_.device.begin_ns[device] >= 0) {
      number(internal::kKeyDeviceBegin, ArgType::int64, bits(trace_.device.begin_ns[device]));
    }
  }
  last_ns_ = at_ns;
  if (!detached) stack_.push_back({span, place});
  if ((s.flags[span] & kSpanUnfinished) == 0) {
    ends_.push({at_ns + s.duration_ns[span], place, span});
  } else if (!detached) {
    has_unfinished_ = true;
    unfinished_ns_ = std::max(unfinished_ns_, at_ns + s.duration_ns[span]);
  }
}

void LaneEncoder::event(std::uint32_t event) {
  const EventColumns& e = trace_.events;
  const std::int64_t at_ns = e.at_ns[event];
  ends_until(at_ns, std::numeric_limits<std::int64_t>::max());
  const auto [first, last] = event_args_.rows_of(event);
  std::size_t words = 2;
  for (std::size_t i = first; i < last; ++i) {
    words += argument_words(trace_, trace_.event_args.type[i], trace_.event_args.bits[i]);
  }
  words_.room(words, tick_of(at_ns));
  const std::uint32_t top = stack_.empty() ? kNone : stack_.back().span;
  const bool on_top = top == e.span[event];
  words_.put(make_word(on_top ? Op::event : Op::event_on, site_of(e.name[event]),
                       words_.low(tick_of(at_ns))));
  if (!on_top) words_.put(e.span[event] == kNone ? 0 : ids_[e.span[event]]);
  arguments(trace_.event_args, first, last);
  last_ns_ = at_ns;
}

void LaneEncoder::counter(std::uint32_t counter) {
  const CounterColumns& c = trace_.counters;
  ends_until(c.at_ns[counter], std::numeric_limits<std::int64_t>::max());
  const std::uint64_t tick = tick_of(c.at_ns[counter]);
  words_.room(2, tick);
  words_.put(make_word(Op::counter, site_of(c.name[counter]), words_.low(tick)));
  words_.put(__builtin_bit_cast(std::uint64_t, c.value[counter]));
  last_ns_ = c.at_ns[counter];
}

// Before anything that has a time: these words have none.
void LaneEncoder::losses(std::uint32_t track) {
  const auto put = [&](std::uint32_t what, std::uint64_t count, std::int64_t from,
                       std::int64_t to) {
    for (; count > 0; count -= std::min(count, internal::kLowMask)) {
      words_.room(3, tick_of(trace_.begin_ns));
      words_.put(make_word(Op::lost, what, std::min(count, internal::kLowMask)));
      words_.put(tick_of(from));
      words_.put(tick_of(to));
    }
  };
  const TrackInfo& info = trace_.tracks[track];
  std::uint64_t told = 0;
  for (const Gap& gap : trace_.gaps) {
    if (info.dropped_spans == 0) break;
    if (gap.track != track) continue;
    put(0, gap.lost, gap.begin_ns, gap.end_ns);
    told += gap.lost;
  }
  if (info.dropped_spans > told)
    put(0, info.dropped_spans - told, trace_.begin_ns, trace_.begin_ns);
  put(1, info.dropped_records, trace_.begin_ns, trace_.begin_ns);
}

void LaneEncoder::lane(std::uint32_t lane, TraceOutput* out) {
  words_.start(lane + 1, out);
  stack_.clear();
  unfinished_ns_ = 0;
  has_unfinished_ = false;
  last_ns_ = trace_.begin_ns;
  losses(plan_.track_of_lane[lane]);
  const auto spans = plan_.spans.of(lane);
  const auto events = plan_.events.of(lane);
  const auto counters = plan_.counters.of(lane);
  std::size_t s = 0, e = 0, c = 0;
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  while (s < spans.size() || e < events.size() || c < counters.size()) {
    const std::int64_t span_ns = s < spans.size() ? trace_.spans.begin_ns[spans[s]] : kNever;
    const std::int64_t event_ns = e < events.size() ? trace_.events.at_ns[events[e]] : kNever;
    const std::int64_t count_ns = c < counters.size() ? trace_.counters.at_ns[counters[c]] : kNever;
    if (s < spans.size() && span_ns <= event_ns && span_ns <= count_ns) {
      span(spans[s], static_cast<std::uint32_t>(s));
      s++;
    } else if (e < events.size() && event_ns <= count_ns) {
      event(events[e++]);
    } else {
      counter(counters[c++]);
    }
  }
  ends_until(kNever, kNobody);
  // Open spans reach to the last record of their lane, and the trace to the last of all: an attach
  // to nothing is a record that says no more than its time.
  std::int64_t reach_ns = std::max(unfinished_ns_, last_ns_);
  if (!has_unfinished_ && !end_is_kept_) reach_ns = std::max(reach_ns, trace_.end_ns);
  if (reach_ns > last_ns_) {
    words_.room(2, tick_of(reach_ns));
    words_.put(make_word(Op::attach, 0, words_.low(tick_of(reach_ns))));
    words_.put(0);
  }
  end_is_kept_ |= reach_ns >= trace_.end_ns;
  words_.finish();
}

void LaneEncoder::encode(TraceOutput* out) {
  made_detached_.assign(trace_.spans.size(), false);
  end_is_kept_ = false;
  for (std::uint32_t i = 0; i < plan_.track_of_lane.size(); ++i) lane(i, out);
}

}  // namespace genscope::store
