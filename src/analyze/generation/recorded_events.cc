// One pass over the events. A name's role is looked up once per name of a trace, so events of no
// role cost one load. Each subject adds up as it goes and says nothing if it had no event: absent
// is not zero.
//
// Rates are over the time between the first and the last event, so what the first one carries,
// which was made before it, is left out.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "analyze/generation/ends.h"
#include "analyze/generation/generation.h"
#include "analyze/generation/keys.h"
#include "analyze/generation/roles.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

constexpr double kSmallBytes = 1024.0 * 1024.0;  // Inferix counts smaller ones apart

class Mean {
 public:
  void add(std::optional<double> value) {
    if (!value) return;
    count_ += 1;
    mean_ += *value / count_ - mean_ / count_;  // a difference of the two may not be finite
    max_ = std::max(max_.value_or(*value), *value);
  }
  std::optional<double> mean() const { return count_ > 0 ? std::optional(mean_) : std::nullopt; }
  std::optional<double> max() const { return max_; }

 private:
  double count_ = 0, mean_ = 0;
  std::optional<double> max_;
};

// How many things an event stands for: one, if it does not say.
std::uint64_t how_many(std::optional<double> given) {
  return given ? static_cast<std::uint64_t>(*given) : 1;
}

class Streaming {
 public:
  void sent(std::int64_t at_ns, const ArgCursor& args) {
    const std::uint64_t frames = how_many(args.amount(Key::batch_size));
    ++out_.events;
    out_.frames_sent += frames;
    frames_at_.add(at_ns, static_cast<double>(frames));
    first_ns_ = std::min(first_ns_, at_ns);
    last_ns_ = std::max(last_ns_, at_ns);
    encode_.add(args.amount(Key::encoding_time_ms));
    latency_.add(args.amount(Key::network_latency_ms));
    buffer_.add(args.number(Key::buffer_occupancy));
  }
  void dropped(const ArgCursor& args) {
    any_drop_ = true;
    out_.frames_dropped += how_many(args.amount(Key::count));
  }

  std::optional<StreamingSummary> finish() {
    if (out_.events == 0 && !any_drop_) return std::nullopt;
    const auto all = static_cast<double>(out_.frames_sent + out_.frames_dropped);
    if (all > 0) out_.drop_ratio = static_cast<double>(out_.frames_dropped) / all;
    // The first event's frames were made before it: they are in no interval.
    if (out_.events > 1 && last_ns_ > first_ns_) {
      const double frames = static_cast<double>(out_.frames_sent) - frames_at_.first().value_or(0);
      out_.frames_per_second = frames / (static_cast<double>(subtract(last_ns_, first_ns_)) * 1e-9);
    }
    out_.encode_ms_mean = encode_.mean();
    out_.encode_ms_max = encode_.max();
    out_.latency_ms_mean = latency_.mean();
    out_.latency_ms_max = latency_.max();
    out_.buffer_mean = buffer_.mean();
    out_.buffer_max = buffer_.max();
    return out_;
  }

 private:
  StreamingSummary out_;
  Ends frames_at_;
  std::int64_t first_ns_ = kLatest, last_ns_ = kEarliest;
  Mean encode_, latency_, buffer_;
  bool any_drop_ = false;
};

template <std::size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Cache {
 public:
  void add(std::int64_t at_ns, const ArgCursor& args) {
    static constexpr auto kHit = std::to_array<std::string_view>({"hit", "hits"});
    static constexpr auto kMiss = std::to_array<std::string_view>({"miss", "misses"});
    static constexpr auto kEviction =
        std::to_array<std::string_view>({"eviction", "evictions", "evict"});
    const std::string_view type = args.text(Key::type);
    std::uint64_t* const count = is_one_of(type, kHit)        ? &out_.hits
                                 : is_one_of(type, kMiss)     ? &out_.misses
                                 : is_one_of(type, kEviction) ? &out_.evictions
                                                              : nullptr;
    if (count == nullptr) return;
    any_ = true;
    *count += how_many(args.amount(Key::count));
    if (const auto size = args.amount(Key::size)) size_.add(at_ns, *size);
    if (const auto evicted = args.amount(Key::evicted)) {
      out_.evicted_bytes = out_.evicted_bytes.value_or(0) + *evicted;
    }
  }
  std::optional<CacheSummary> finish() {
    if (!any_) return std::nullopt;
    const auto requests = static_cast<double>(out_.hits + out_.misses);
    if (requests > 0) out_.hit_ratio = static_cast<double>(out_.hits) / requests;
    out_.size_last_bytes = size_.last();
    return out_;
  }

 private:
  CacheSummary out_;
  Ends size_;
  bool any_ = false;
};

class Memory {
 public:
  void add(const ArgCursor& args) {
    static constexpr auto kAlloc =
        std::to_array<std::string_view>({"alloc", "allocate", "allocation"});
    static constexpr auto kFree =
        std::to_array<std::string_view>({"free", "dealloc", "deallocate", "deallocation"});
    const std::string_view type = args.text(Key::type);
    const std::optional<double> bytes = args.amount(Key::bytes);
    if (is_one_of(type, kAlloc)) {
      ++out_.allocations;
      out_.allocated_bytes += bytes.value_or(0);
      sized_ += bytes ? 1 : 0;
      small_ += bytes && *bytes < kSmallBytes ? 1 : 0;
    } else if (is_one_of(type, kFree)) {
      ++out_.frees;
      out_.freed_bytes += bytes.value_or(0);
    }
  }
  std::optional<MemoryEvents> finish() {
    if (out_.allocations + out_.frees == 0) return std::nullopt;
    if (sized_ > 0) out_.small_share = small_ / sized_;
    return out_;
  }

 private:
  MemoryEvents out_;
  double sized_ = 0, small_ = 0;
};

void add_model(const ArgCursor& args, std::vector<ModelRow>& models) {
  const std::string_view name = args.text(Key::name);
  const std::optional<double> parameters = args.amount(Key::parameters);
  if (name.empty() || !parameters) return;
  const auto known = std::find_if(models.begin(), models.end(),
                                  [&](const ModelRow& model) { return model.name == name; });
  ModelRow& row = known != models.end() ? *known : models.emplace_back();
  row = {std::string(name), std::string(args.text(Key::type)), *parameters};
}

}  // namespace

RecordedEvents read_recorded_events(const Run& run, const Clocks& clocks) {
  constexpr std::size_t kMostModels = 1000;  // each is compared with those before it
  Streaming streaming;
  Cache cache;
  Memory memory;
  RecordedEvents out;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    const std::vector<EventRole> roles = event_roles(trace);
    ArgCursor args(trace, trace.event_args);
    for (std::size_t e = 0; e < trace.events.size(); ++e) {
      const EventRole role = roles[trace.events.name[e]];
      if (role == EventRole::none) continue;
      args.seek(e);
      const std::int64_t at = add(trace.events.at_ns[e], clocks.offset_ns[t]);
      if (role == EventRole::streaming) streaming.sent(at, args);
      if (role == EventRole::dropped_frames) streaming.dropped(args);
      if (role == EventRole::cache) cache.add(at, args);
      if (role == EventRole::memory) memory.add(args);
      if (role == EventRole::model_parameters && out.models.size() < kMostModels) {
        add_model(args, out.models);
      }
    }
  }
  out.streaming = streaming.finish();
  out.cache = cache.finish();
  out.memory = memory.finish();
  return out;
}

}  // namespace genscope::analysis
