// A lane is a stack machine: begin pushes, end pops the span with its tag, everything else belongs
// to the top or names a span by its id. One pass, linear in the words, appends to the columns.
//
// Ends look for their tag from the top down, because a program may end spans out of order; nearly
// always it is the top. Times of one lane never go back: a clock that steps back is clamped and
// counted, so that durations stay above 0 and parents around their children.
//
// After a hole in the numbers of chunks the stack is not what we have but what the chunk's frame
// says was open (resume): spans that we know keep their place, those that began in the hole are
// added with the begin that the frame has, flagged as clipped, and what is in neither was ended in
// the hole. A chunk that cannot be read is such a hole.
#include "store/lane_decoder.h"

#include <algorithm>
#include <limits>

#include "genscope/internal/word.h"

namespace genscope::store {

using internal::field_of;
using internal::low_of;
using internal::make_id;
using internal::Op;
using internal::op_of;
using internal::payload_words;
using internal::tag_of;

std::int64_t LaneDecoder::time(std::uint64_t tick) noexcept {
  const std::int64_t ns = clock_.to_ns(tick);
  if (ns < last_ns_) [[unlikely]] {
    trace_.integrity.clamped_ticks++;
    return last_ns_;
  }
  last_ns_ = ns;
  return ns;
}

std::uint32_t LaneDecoder::add_span(std::uint64_t id, std::int64_t at_ns, std::uint32_t site,
                                    std::uint32_t parent, std::uint8_t flags) {
  SpanColumns& s = trace_.spans;
  const auto index = static_cast<std::uint32_t>(s.size());
  s.begin_ns.push_back(at_ns);
  s.duration_ns.push_back(-1);
  s.name.push_back(names_.of(site));
  s.track.push_back(track_);
  s.parent.push_back(parent);
  s.flags.push_back(flags);
  constexpr std::uint64_t kWordMask = (std::uint64_t{1} << internal::kIdChunkShift) - 1;
  if (refs_.chunks.empty() || refs_.chunks.back().id != (id & ~kWordMask)) [[unlikely]] {
    refs_.chunks.push_back({id & ~kWordMask, index, (flags & kSpanClipped) == 0});
  }
  refs_.span_words.push_back(static_cast<std::uint16_t>(id & kWordMask));
  last_id_ = id;
  return index;
}

void LaneDecoder::end(std::uint32_t tag, std::int64_t at_ns, bool failed) {
  std::size_t i = stack_.size();
  while (i > 0 && stack_[i - 1].tag != tag) --i;
  if (i == 0) {
    trace_.integrity.bad_words++;  // its begin was in a part that is missing
    return;
  }
  const std::uint32_t span = stack_[i - 1].span;
  stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(i - 1));
  trace_.spans.duration_ns[span] = at_ns - trace_.spans.begin_ns[span];
  if (failed) trace_.spans.flags[span] |= kSpanFailed;
}

std::uint32_t LaneDecoder::named_track(std::uint32_t site) {
  const auto [it, fresh] =
      track_of_site_.try_emplace(site, static_cast<std::uint32_t>(trace_.tracks.size()));
  if (fresh) trace_.tracks.push_back({trace_.names[names_.of(site)].text, 0, 0, 0});
  return it->second;
}

std::uint32_t LaneDecoder::text(std::string_view text) {
  std::uint32_t& place = recent_texts_[std::hash<std::string_view>{}(text) % recent_texts_.size()];
  if (place == kNone || trace_.texts[place] != text) {
    place = static_cast<std::uint32_t>(trace_.texts.size());
    trace_.texts.emplace_back(text);
  }
  return place;
}

void LaneDecoder::argument(std::uint64_t word, std::span<const std::uint64_t> payload) {
  PendingArg arg;
  arg.owner = owner_id_;
  const std::uint32_t site = field_of(word);
  if (op_of(word) == Op::arg) {
    arg.bits = low_of(word);
    arg.type = ArgType::int64;
  } else {
    arg.type = static_cast<ArgType>(low_of(word) >> 32);
    const std::uint64_t bytes = word & 0xFFFFFFFF;
    if (arg.type == ArgType::text) {
      arg.bits = text({reinterpret_cast<const char*>(payload.data()), bytes});
    } else if (bytes == 8 && arg.type <= ArgType::boolean) {
      arg.bits = payload[0];
    } else {
      trace_.integrity.bad_words++;
      return;
    }
  }
  if (owner_ == Owner::none) {
    trace_.integrity.bad_words++;
  } else if (owner_ == Owner::event) {
    arg.key = names_.of(site);
    refs_.event_args.push_back(arg);
  } else if (site == internal::kKeyDeviceNs || site == internal::kKeyDeviceBegin) {
    refs_.device.push_back(
        {owner_id_, static_cast<std::int64_t>(arg.bits), site == internal::kKeyDeviceBegin});
  } else if (site == internal::kKeyTrack && last_id_ == owner_id_ &&
             arg.bits <= internal::kFieldMask) {
    trace_.spans.track.back() = named_track(static_cast<std::uint32_t>(arg.bits));
  } else {
    arg.key = names_.of(site);
    const bool last = last_id_ == owner_id_;
    if (last) arg.owner = trace_.spans.size() - 1;
    (last ? refs_.span_args : refs_.args).push_back(arg);
  }
}

void LaneDecoder::lost(std::uint64_t word, std::span<const std::uint64_t> payload) {
  TrackInfo& track = trace_.tracks[track_];
  const std::uint64_t n = low_of(word);
  (field_of(word) == 0 ? track.dropped_spans : track.dropped_records) += n;
  if (field_of(word) != 0) return;
  trace_.gaps.push_back({track_, clock_.to_ns(payload[0]), clock_.to_ns(payload[1]), n});
}

void LaneDecoder::words(std::span<const std::uint64_t> words, const Chunk& chunk) {
  const std::uint64_t first_id = make_id(chunk.lane, chunk.seq, 0);
  std::uint64_t base = chunk.base_tick;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t word = words[i];
    const std::uint64_t n = payload_words(word);
    if (n > words.size() - i - 1) {
      trace_.integrity.bad_words++;
      continue;
    }
    const std::span<const std::uint64_t> payload = words.subspan(i + 1, n);
    const std::uint64_t id = first_id + i;
    switch (op_of(word)) {
      case Op::begin: {
        const std::uint32_t parent = stack_.empty() ? kNone : stack_.back().span;
        const std::uint32_t span =
            add_span(id, time(base + low_of(word)), field_of(word), parent, 0);
        stack_.push_back({span, tag_of(id), id});
        owner_ = Owner::span;
        owner_id_ = id;
        break;
      }
      case Op::end:
      case Op::end_failed:
        end(field_of(word), time(base + low_of(word)), op_of(word) == Op::end_failed);
        break;
      case Op::arg:
      case Op::wide_arg:
        argument(word, payload);
        break;
      case Op::async_begin: {
        const std::uint32_t span =
            add_span(id, time(base + low_of(word)), field_of(word), kNone, kSpanDetached);
        if (payload[0] != 0) refs_.parents.push_back({span, payload[0]});
        owner_ = Owner::span;
        owner_id_ = id;
        break;
      }
      case Op::async_end:
        refs_.ends.push_back({payload[0], time(base + low_of(word)), field_of(word) != 0});
        break;
      case Op::attach:
        time(base + low_of(word));
        owner_ = payload[0] != 0 ? Owner::span : Owner::none;
        owner_id_ = payload[0];
        break;
      case Op::event:
      case Op::event_on: {
        EventColumns& e = trace_.events;
        owner_ = Owner::event;
        owner_id_ = e.size();
        e.at_ns.push_back(time(base + low_of(word)));
        e.name.push_back(names_.of(field_of(word)));
        e.track.push_back(track_);
        e.span.push_back(stack_.empty() ? kNone : stack_.back().span);
        if (op_of(word) == Op::event_on) {
          refs_.events_on.push_back({static_cast<std::uint32_t>(owner_id_), payload[0]});
        }
        break;
      }
      case Op::counter:
        trace_.counters.at_ns.push_back(time(base + low_of(word)));
        trace_.counters.name.push_back(names_.of(field_of(word)));
        trace_.counters.track.push_back(track_);
        trace_.counters.value.push_back(__builtin_bit_cast(double, payload[0]));
        break;
      case Op::rebase:
        base = payload[0];
        break;
      case Op::lost:
        lost(word, payload);
        break;
      default:
        trace_.integrity.bad_words++;
        break;
    }
    i += n;
  }
}

// Chunks before this one are missing: what is open now is what its frame says. A span that we
// know keeps its place; one that began in the missing part is known by its begin alone.
void LaneDecoder::resume(const Chunk& chunk, const std::vector<trace::OpenSpan>& open) {
  std::vector<Open> now;
  if (!chunk.from_live) {
    for (const trace::OpenSpan& o : open) {
      const auto known =
          std::find_if(stack_.begin(), stack_.end(), [&](const Open& x) { return x.id == o.id; });
      if (known != stack_.end()) {
        now.push_back(*known);
        continue;
      }
      const bool ours = o.id < make_id(chunk.lane, chunk.seq, 0) &&
                        o.id >= make_id(chunk.lane, 0, 0) && o.id > last_id_;
      if (!ours || o.site > internal::kFieldMask) {
        trace_.integrity.bad_words++;
        continue;
      }
      const std::uint32_t parent = now.empty() ? kNone : now.back().span;
      now.push_back(
          {add_span(o.id, time(o.begin_tick), o.site, parent, kSpanClipped), tag_of(o.id), o.id});
    }
  }
  stack_ = std::move(now);
}

void LaneDecoder::chunk(const Chunk& chunk) {
  const auto content = words_of(chunk, unpacker_, open_list_);
  if (!content.ok()) {
    trace_.integrity.bad_frames++;
    trace_.integrity.bad_bytes += chunk.payload.size();
    return;  // the next chunk finds a hole in the numbers
  }
  if (chunk.seq != next_seq_) {
    trace_.integrity.missing_chunks += chunk.seq - next_seq_;
    resume(chunk, open_list_);
  }
  next_seq_ = chunk.seq + 1;
  owner_ = Owner::none;
  words(*content, chunk);
}

void LaneDecoder::decode(std::span<const Chunk> chunks, std::uint32_t track) {
  const auto first = static_cast<std::uint32_t>(trace_.spans.size());
  track_ = track;
  next_seq_ = 0;
  last_id_ = 0;
  last_ns_ = std::numeric_limits<std::int64_t>::min();
  stack_.clear();
  for (const Chunk& c : chunks) chunk(c);
  refs_.lanes.push_back(
      {chunks.front().lane, first, static_cast<std::uint32_t>(trace_.spans.size()), last_ns_});
}

}  // namespace genscope::store
