// Only what is open is kept: a stack for each lane, detached spans by id, and for each open stage
// the number of its steps and the last few durations. So memory does not grow with the run, and a
// poll costs the words that are new.
//
// Words of one lane come in order, lanes in any: an end or an argument may speak of a span whose
// begin is yet to be read. yet_to_come() tells that from the numbers alone (ids ascend within a
// lane), and what was said is kept until the begin is seen. All such tables are bounded; beyond the
// bound the older half is forgotten, because to show a stage too few is better than to show one for
// ever.
//
// After a hole the stack is the one that the chunk's frame tells; detached spans that began before
// it may have ended in it and are forgotten, but for sessions.
#include "store/activity.h"

#include <algorithm>
#include <bit>

#include "genscope/internal/word.h"

namespace genscope::store {

using internal::field_of;
using internal::lane_of;
using internal::low_of;
using internal::make_id;
using internal::Op;
using internal::op_of;
using internal::tag_of;

namespace {

// Beyond it the older half is forgotten: begins without an end must not accumulate.
constexpr std::size_t kMaxOpen = 1 << 16;
// How far a step looks for its stages.
constexpr std::size_t kMaxAround = 256;
constexpr std::size_t kMaxCounters = 4096;

bool is_stage(SpanKind kind) {
  return kind == SpanKind::stage || kind == SpanKind::load || kind == SpanKind::request ||
         kind == SpanKind::batch || kind == SpanKind::epoch;
}

std::size_t place_of(const std::vector<trace::OpenSpan>& stack, std::uint64_t id) {
  std::size_t i = stack.size();
  while (i > 0 && stack[i - 1].id != id) --i;
  return i - 1;  // wraps to npos if it is not there
}
constexpr std::size_t kNowhere = ~std::size_t{0};

std::int64_t median(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return values[(n - 1) / 2] + (values[n / 2] - values[(n - 1) / 2]) / 2;
}

}  // namespace

std::uint32_t Activity::known_words(std::uint32_t lane, std::uint32_t seq) const {
  const auto it = lanes_.find(lane);
  if (it == lanes_.end() || seq > it->second.seq) return 0;
  return seq == it->second.seq && !it->second.complete ? it->second.words : kNotWanted;
}

bool Activity::follows(const Chunk& chunk) const {
  const auto it = lanes_.find(chunk.lane);
  if (it == lanes_.end()) return chunk.seq == 0;
  const Lane& lane = it->second;
  return chunk.seq == lane.seq ? !lane.complete : lane.complete && chunk.seq == lane.seq + 1;
}

void Activity::take(const Chunk& chunk, std::span<const std::uint64_t> content,
                    std::span<const trace::OpenSpan> open) {
  const bool fresh = !lanes_.contains(chunk.lane);
  if (fresh && lanes_.size() >= prune_at_) prune();
  const bool whole = follows(chunk);
  Lane& lane = lanes_[chunk.lane];
  if (!fresh && (chunk.seq < lane.seq || (chunk.seq == lane.seq && lane.complete))) return;
  if (fresh || chunk.seq != lane.seq) {
    if (!whole) {
      if (!fresh) forget_detached_before(chunk.base_tick);
      resume(lane, chunk, open);
    }
    lane.seq = chunk.seq;
    lane.words = 0;
    lane.base = chunk.base_tick;
    lane.owner = 0;
    lane.tells = SiteInfo::Tells::nothing;
  }
  if (chunk.first_word > lane.words) return;  // not what known_words() said
  words(lane, chunk, content);
  lane.complete = !chunk.still_open;
  lane.from_file = !chunk.from_live;
}

// Words before this chunk are missing: what is open now is what its frame says. What we know of
// those spans stays.
void Activity::resume(Lane& lane, const Chunk& chunk, std::span<const trace::OpenSpan> open) {
  std::vector<trace::OpenSpan> before = std::move(lane.stack);
  lane.stack.clear();
  if (chunk.from_live) open = {};
  if (open.size() > trace::OpenSpans::kMaxDepth) {
    open = open.last(trace::OpenSpans::kMaxDepth);
  }
  std::uint64_t last = 0;
  for (const trace::OpenSpan& span : open) {
    const bool ours = lane_of(span.id) == chunk.lane && span.id > last &&
                      span.id < make_id(chunk.lane, chunk.seq, 0) &&
                      span.site <= internal::kFieldMask;
    if (!ours) continue;
    last = span.id;
    lane.stack.push_back(span);
    if (place_of(before, span.id) == kNowhere) begin(span.id, span.begin_tick, span.site);
  }
  for (const trace::OpenSpan& span : before) {
    if (place_of(lane.stack, span.id) == kNowhere) forget(span.id);
  }
}

void Activity::words(Lane& lane, const Chunk& chunk, std::span<const std::uint64_t> content) {
  for (std::size_t i = lane.words - chunk.first_word; i < content.size();) {
    const std::uint64_t word = content[i];
    std::uint64_t n = internal::payload_words(word);
    if (n > content.size() - i - 1) {
      if (chunk.still_open) return;  // the rest of the record is yet to come
      n = 0;
    } else {
      record(lane, make_id(chunk.lane, chunk.seq, lane.words), word, content.subspan(i + 1, n));
    }
    i += 1 + n;
    lane.words = static_cast<std::uint32_t>(chunk.first_word + i);
  }
}

void Activity::record(Lane& lane, std::uint64_t id, std::uint64_t word,
                      std::span<const std::uint64_t> payload) {
  const std::uint64_t tick = lane.base + low_of(word);
  switch (op_of(word)) {
    case Op::begin:
      lane.owner = id;
      push(lane, {id, tick, field_of(word), 0});
      begin(id, tick, field_of(word));
      break;
    case Op::async_begin:
      lane.owner = id;
      if (detached_.size() >= kMaxOpen) forget_older_half();
      detached_[id] = {tick, payload[0], field_of(word)};
      begin(id, tick, field_of(word));
      break;
    case Op::end:
    case Op::end_failed:
      end(lane, field_of(word), tick);
      break;
    case Op::async_end:
      end_by_id(payload[0], tick);
      break;
    case Op::attach:
      lane.owner = payload[0];
      lane.tells = SiteInfo::Tells::nothing;
      break;
    case Op::event:
    case Op::event_on:
      lane.owner = 0;
      lane.tells = sites_[field_of(word)].tells;
      lane.subject.clear();
      break;
    case Op::arg:
    case Op::wide_arg:
      if (lane.owner != 0) {
        argument(lane.owner, word, payload);
      } else if (lane.tells != SiteInfo::Tells::nothing) {
        told(lane, word, payload);
      }
      break;
    case Op::counter:
      count(field_of(word), std::bit_cast<double>(payload[0]));
      break;
    case Op::rebase:
      lane.base = payload[0];
      break;
    case Op::lost:
      if (field_of(word) == 0) dropped_spans_ += low_of(word);
      break;
    default:
      break;
  }
}

void Activity::count(std::uint32_t site, double value) {
  const auto it = values_.find(site);
  if (it != values_.end()) {
    it->second = value;
  } else if (values_.size() < kMaxCounters) {
    values_.emplace(site, value);
    sites_[site];  // looks its name up now, while it can be found
  }
}

// The first argument names the subject, as the recorder writes them.
void Activity::told(Lane& lane, std::uint64_t word, std::span<const std::uint64_t> payload) {
  constexpr std::size_t kLongest = 512;
  const std::uint64_t size = low_of(word) & 0xFFFFFFFF;
  const bool is_text = op_of(word) == Op::wide_arg &&
                       static_cast<ArgType>(low_of(word) >> 32) == ArgType::text &&
                       size <= payload.size() * sizeof(std::uint64_t) && size <= kLongest;
  if (!is_text) return;
  const std::string text(reinterpret_cast<const char*>(payload.data()), size);
  const std::string& key = sites_[field_of(word)].name;
  if (lane.tells == SiteInfo::Tells::entity) {
    if (key == "id" && (entities_.size() < kMaxCounters || entities_.contains(text))) {
      lane.subject = text;
      entities_.try_emplace(text, EntityKind::other);
    } else if (key == "kind" && !lane.subject.empty()) {
      entities_[lane.subject] = trace::entity_kind(text);
    }
  } else if (key == "counter") {
    lane.subject = text;
  } else if (!lane.subject.empty() &&
             (own_metrics_.size() < kMaxCounters || own_metrics_.contains(lane.subject))) {
    if (key == "unit") own_metrics_[lane.subject].unit = text;
    if (key == "kind") own_metrics_[lane.subject].kind = text;
    if (key == "description") own_metrics_[lane.subject].description = text;
  }
}

Progress::Value Activity::value_of(const std::string& counter, double value) const {
  Progress::Value out{.counter = counter, .value = value};
  const trace::SampleName parts = trace::split_sample_name(counter);
  if (parts.metric.empty()) return out;
  const auto entity = entities_.find(std::string(parts.entity));
  const bool allocator = parts.entity.starts_with(trace::kAllocatorPrefix);
  if (entity == entities_.end() && !allocator) return out;
  const auto own = own_metrics_.find(counter);
  out.metric = trace::metric_of(parts.metric, own != own_metrics_.end() ? &own->second : nullptr);
  if (out.metric == nullptr) return out;
  out.entity = parts.entity;
  out.entity_kind = entity != entities_.end() ? entity->second : EntityKind::allocator;
  return out;
}

void Activity::push(Lane& lane, const trace::OpenSpan& span) {
  constexpr std::size_t kMaxDepth = trace::OpenSpans::kMaxDepth;
  if (lane.stack.size() >= kMaxDepth) {
    for (std::size_t i = 0; i < kMaxDepth / 2; ++i) forget(lane.stack[i].id);
    lane.stack.erase(lane.stack.begin(), lane.stack.begin() + kMaxDepth / 2);
  }
  lane.stack.push_back(span);
}

void Activity::begin(std::uint64_t id, std::uint64_t tick, std::uint32_t site) {
  if (is_stage(sites_[site].kind)) stages_[id] = {tick, site, 0, {}};
  if (ends_.empty()) return;
  const auto ended = ends_.find(id);
  if (ended == ends_.end()) return;
  const std::uint64_t end_tick = ended->second;
  ends_.erase(ended);
  end_by_id(id, end_tick);
}

void Activity::end(Lane& lane, std::uint32_t tag, std::uint64_t tick) {
  std::size_t i = lane.stack.size();
  while (i > 0 && tag_of(lane.stack[i - 1].id) != tag) --i;
  if (i > 0) end_at(lane.stack, i - 1, tick);
}

void Activity::end_at(std::vector<trace::OpenSpan>& stack, std::size_t place, std::uint64_t tick) {
  const trace::OpenSpan span = stack[place];
  stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(place));
  finish(span, place > 0 ? stack[place - 1].id : 0, tick);
}

void Activity::end_by_id(std::uint64_t id, std::uint64_t tick) {
  if (const auto it = detached_.find(id); it != detached_.end()) {
    const Detached span = it->second;
    detached_.erase(it);
    return finish({id, span.begin_tick, span.site, 0}, span.parent, tick);
  }
  if (const auto lane = lanes_.find(lane_of(id)); lane != lanes_.end()) {
    const std::size_t place = place_of(lane->second.stack, id);
    if (place != kNowhere) return end_at(lane->second.stack, place, tick);
  }
  if (!yet_to_come(id)) return;
  if (ends_.size() >= kMaxOpen) ends_.clear();
  ends_[id] = tick;
}

void Activity::finish(const trace::OpenSpan& span, std::uint64_t parent, std::uint64_t end_tick) {
  const SpanKind kind = sites_[span.site].kind;
  if (kind == SpanKind::step) {
    const std::int64_t ns = duration_ns(span.begin_tick, end_tick);
    step_ns_[steps_++ % step_ns_.size()] = ns;
    finish_step(parent, ns);
  }
  if (is_stage(kind) && (last_ns_ < 0 || end_tick >= last_end_tick_)) {
    last_site_ = span.site;
    last_end_tick_ = end_tick;
    last_ns_ = duration_ns(span.begin_tick, end_tick);
  }
  forget(span.id);
}

// Counts for every stage around it; but a step within a step is a part of that one.
void Activity::finish_step(std::uint64_t parent, std::int64_t ns) {
  around(parent, [&](std::uint64_t id, std::uint32_t site) {
    if (sites_[site].kind == SpanKind::step) return false;
    if (const auto it = stages_.find(id); it != stages_.end()) {
      Stage& stage = it->second;
      stage.last_ns[stage.steps++ % stage.last_ns.size()] = ns;
    }
    return true;
  });
}

// Calls visit(id, site) for the open span `id` and those around it, until it returns false.
template <class Visit>
void Activity::around(std::uint64_t id, Visit visit) const {
  std::size_t visited = 0;
  while (id != 0 && visited++ < kMaxAround) {
    if (const auto it = detached_.find(id); it != detached_.end()) {
      const std::uint64_t parent = it->second.parent;
      if (!visit(id, it->second.site)) return;
      id = parent;
      continue;
    }
    const auto lane = lanes_.find(lane_of(id));
    if (lane == lanes_.end()) return;
    const std::vector<trace::OpenSpan>& stack = lane->second.stack;
    for (std::size_t i = place_of(stack, id) + 1; i > 0 && visited++ < kMaxAround; --i) {
      if (!visit(stack[i - 1].id, stack[i - 1].site)) return;
    }
    return;
  }
}

void Activity::argument(std::uint64_t owner, std::uint64_t word,
                        std::span<const std::uint64_t> payload) {
  const int rank = sites_[field_of(word)].total_rank;
  if (rank == 0) return;
  std::uint64_t value = low_of(word);
  if (op_of(word) == Op::wide_arg) {
    const auto type = static_cast<ArgType>(low_of(word) >> 32);
    if (payload.size() != 1 || (type != ArgType::int64 && type != ArgType::uint64)) return;
    value = payload[0];
    if (type == ArgType::int64 && static_cast<std::int64_t>(value) < 0) return;
  }
  if (value == 0 || !(is_open(owner) || yet_to_come(owner))) return;
  if (totals_.size() >= kMaxOpen) totals_.clear();
  Total& total = totals_[owner];
  if (total.rank == 0 || rank <= total.rank) total = {rank, value};
}

bool Activity::is_open(std::uint64_t id) const {
  if (detached_.contains(id)) return true;
  const auto lane = lanes_.find(lane_of(id));
  return lane != lanes_.end() && place_of(lane->second.stack, id) != kNowhere;
}

// Another lane may speak of a span before we have read its begin.
bool Activity::yet_to_come(std::uint64_t id) const {
  const auto it = lanes_.find(lane_of(id));
  return it == lanes_.end() || id >= make_id(lane_of(id), it->second.seq, 0) + it->second.words;
}

void Activity::forget(std::uint64_t id) {
  stages_.erase(id);
  if (!totals_.empty()) totals_.erase(id);
}

// After a hole: their ends may have been in it. Better not shown than shown for ever.
void Activity::forget_detached_before(std::uint64_t tick) {
  for (auto it = detached_.begin(); it != detached_.end();) {
    const bool session = sites_.known(it->second.site).kind == SpanKind::session;
    if (session || it->second.begin_tick >= tick) {
      ++it;
      continue;
    }
    forget(it->first);
    it = detached_.erase(it);
  }
}

void Activity::forget_older_half() {
  std::vector<std::uint64_t> ids;
  ids.reserve(detached_.size());
  for (const auto& [id, span] : detached_) ids.push_back(id);
  const auto older = [&](std::uint64_t a, std::uint64_t b) {
    return detached_[a].begin_tick < detached_[b].begin_tick;
  };
  const auto middle = ids.begin() + static_cast<std::ptrdiff_t>(ids.size() / 2);
  std::nth_element(ids.begin(), middle, ids.end(), older);
  for (auto it = ids.begin(); it != middle; ++it) {
    forget(*it);
    detached_.erase(*it);
  }
}

// Lanes of threads that have ended, as far as one can tell: if one goes on, it is new.
void Activity::prune() {
  std::erase_if(lanes_, [](const auto& item) {
    return item.second.complete && item.second.from_file && item.second.stack.empty();
  });
  prune_at_ = std::max(prune_at_, lanes_.size() * 2);
}

std::int64_t Activity::duration_ns(std::uint64_t from_tick, std::uint64_t to_tick) const {
  return std::max<std::int64_t>(0, clock_.to_ns(to_tick) - clock_.to_ns(from_tick));
}

// The nearest one counts; a session may be open on another thread than its stages.
std::optional<std::uint64_t> Activity::total_for(std::uint64_t stage) const {
  if (totals_.empty()) return std::nullopt;
  std::optional<std::uint64_t> found;
  around(stage, [&](std::uint64_t id, std::uint32_t) {
    if (const auto it = totals_.find(id); it != totals_.end()) found = it->second.steps;
    return !found;
  });
  if (found) return found;
  std::uint64_t latest = 0;
  for (const auto& [id, total] : totals_) {
    const auto it = detached_.find(id);
    if (it == detached_.end() || it->second.begin_tick < latest) continue;
    if (sites_.known(it->second.site).kind != SpanKind::session) continue;
    latest = it->second.begin_tick;
    found = total.steps;
  }
  return found;
}

void Activity::describe_open(Progress::Process& out) const {
  const Stage* stage = nullptr;
  std::uint64_t stage_id = 0;
  for (const auto& [id, s] : stages_) {
    const bool later = stage == nullptr || s.begin_tick > stage->begin_tick ||
                       (s.begin_tick == stage->begin_tick && id > stage_id);
    if (!later) continue;
    stage = &s;
    stage_id = id;
  }
  if (stage == nullptr) return;
  const SiteInfo& site = sites_.known(stage->site);
  out.stage = site.name;
  out.stage_kind = site.kind;
  out.stage_begin_ns = clock_.to_ns(stage->begin_tick);
  out.steps_done = stage->steps;
  out.steps_total = total_for(stage_id);
  if (stage->steps == 0) return;
  const auto kept =
      static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(stage->steps, stage->last_ns.size()));
  const auto ring = stage->last_ns.begin();
  out.step_seconds = static_cast<double>(median({ring, ring + kept})) * 1e-9;
  // More steps than announced: the announcement meant something else.
  if (out.steps_total && *out.steps_total >= stage->steps) {
    out.eta_seconds = static_cast<double>(*out.steps_total - stage->steps) * *out.step_seconds;
  }
}

void Activity::describe_last(Progress::Process& out) const {
  if (last_ns_ < 0) return;
  out.last_stage = sites_.known(last_site_).name;
  out.last_stage_seconds = static_cast<double>(last_ns_) * 1e-9;
}

void Activity::describe_values(Progress::Process& out) const {
  const std::uint64_t kept = std::min<std::uint64_t>(steps_, step_ns_.size());
  out.steps_ended = steps_;
  for (std::uint64_t i = steps_ - kept; i < steps_; ++i) {
    out.last_steps.push_back(static_cast<double>(step_ns_[i % step_ns_.size()]) * 1e-9);
  }
  for (const auto& [site, value] : values_) {
    if (const std::string& name = sites_.known(site).name; !name.empty()) {
      out.values.push_back(value_of(name, value));
    }
  }
  std::sort(out.values.begin(), out.values.end(),
            [](const auto& a, const auto& b) { return a.counter < b.counter; });
}

}  // namespace genscope::store
